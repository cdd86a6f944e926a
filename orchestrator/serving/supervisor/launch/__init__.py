"""The start and the end of Triton's process."""
