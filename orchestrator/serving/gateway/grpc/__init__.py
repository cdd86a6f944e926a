"""gRPC: the methods of KServe v2."""
