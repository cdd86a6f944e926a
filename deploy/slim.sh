#!/bin/sh
# Takes out of an environment what only development and other devices need: a fifth of it (docs/docker.md).
#
# usage: slim.sh VENV
set -eu

"$1/bin/python" -m pip uninstall --quiet --yes uv poetry-core pip
cd "$1"/lib/python3.*/site-packages
# PyTorch's headers and the programs of its own tests; `import torch` asks for one of those.
rm -rf torch/include torch/test
find torch/bin -type f ! -name torch_shm_manager -delete
# OpenVINO's headers, and its plugins for Intel's graphics and neural processors.
rm -rf openvino/include openvino/libs/libopenvino_intel_[gn]pu_plugin.so openvino/libs/cache.json
# Tests of the libraries, pandas' above all.
find . -type d -name tests -prune -exec rm -rf {} +
