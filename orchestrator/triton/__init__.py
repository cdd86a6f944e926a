"""What runs inside a Triton worker."""
