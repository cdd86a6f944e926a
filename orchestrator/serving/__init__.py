"""The service around the model: the gateway, and the supervisor of Triton."""
