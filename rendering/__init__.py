"""Number plates, cars and streets drawn by ourselves: for training, tests and benchmarks."""
