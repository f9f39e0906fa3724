#!/bin/sh
# Make the virtual environment $2 with the Python $1, and install mtagent with COMET into it: about a minute, 1.4 GB
# where the package index has torch without CUDA. TORCH_INDEX may name one (https://download.pytorch.org/whl/cpu).
set -eu
"$(dirname "$0")/setup.sh" "$1" "$2" .
"$2/bin/python" -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec("comet"))' ||
    "$2/bin/python" -m pip install --quiet --disable-pip-version-check \
        ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} 'torch==2.13.0' --editable '.[comet]'
