#!/bin/sh
# Make the virtual environment $2 with the Python $1, and install mtagent with COMET into it: about a minute, 1.4 GB
# where the package index has torch without CUDA. TORCH_INDEX may name one (https://download.pytorch.org/whl/cpu).
set -eu
"$(dirname "$0")/setup.sh" "$1" "$2" .
export PIP_QUIET=1
[ -z "${TORCH_INDEX:-}" ] || export PIP_EXTRA_INDEX_URL="$TORCH_INDEX"
"$2/bin/mtagent" comet setup "$2"
