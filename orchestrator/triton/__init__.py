"""The code that runs inside a Triton worker."""
