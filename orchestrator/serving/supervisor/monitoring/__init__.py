"""The health of a running Triton and of its workers."""
