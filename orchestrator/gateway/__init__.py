"""What others reach: KServe v2 and REST in front of a Triton that listens to this machine alone."""
