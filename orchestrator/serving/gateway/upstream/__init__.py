"""The connection to Triton: calls, retries, the throttle and health checks."""
