"""Renderer of number plates, cars and streets for training, tests and benchmarks."""
