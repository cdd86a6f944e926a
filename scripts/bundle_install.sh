#!/bin/sh
# Installs the service into .venv of this folder, from the wheels beside this file, without a network.
#
# usage: install.sh
#
# PLATES_PYTHON names a Python @PYTHON@ if `python@PYTHON@` does not.
set -eu
cd "$(dirname "$0")"
if [ "$(uname -m)" != @MACHINE@ ]; then
    echo "install: wanted a machine of the architecture @MACHINE@, got $(uname -m); make bundle has the option --machine" >&2
    exit 1
fi
python=${PLATES_PYTHON:-python@PYTHON@}
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || version=none
if [ "$version" != @PYTHON@ ]; then
    echo "install: wanted Python @PYTHON@, got $version from $python; PLATES_PYTHON=/path/to/python@PYTHON@ names one" >&2
    exit 1
fi
# Settings of pip are not read: they may name places that cannot be reached. A relative path may have no spaces.
export PIP_CONFIG_FILE=/dev/null PIP_NO_INDEX=1 PIP_FIND_LINKS=wheels PLATES_PYTHON="$python"
"$python" scripts/install.py --torch cpu @OPTIONS@
# `make serve` and `make demo` install nothing more.
touch .venv/.serve
echo "next: .venv/bin/plates serve, and .venv/bin/plates recognize tests/data/street.jpg"
