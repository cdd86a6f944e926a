"""Benchmarks of the product: a server under load, compositions, several servers, a GPU.

An error of any part is a `PlateError`, which the commands show as one sentence.
"""

import os

# A benchmark starts servers while it calls others with gRPC, whose threads must not begin anew in a
# child before that becomes another program.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
