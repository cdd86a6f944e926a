"""Training of the reader, STN and LPRNet."""
