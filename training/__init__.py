"""Makes the weights: trains detector and reader, calibrates, quantises."""
