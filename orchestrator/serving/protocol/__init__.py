"""KServe v2: inference requests and responses, and their codecs for HTTP and gRPC."""
