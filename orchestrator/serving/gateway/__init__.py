"""The gateway: KServe v2 and REST in front of a Triton that only this machine can reach."""
