"""Training of the weights: trains detector and reader, calibrates and quantises them."""
