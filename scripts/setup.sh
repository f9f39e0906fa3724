#!/bin/sh
# Make the virtual environment $2 with the Python $1 and install $3 (mtagent, with or without its test tools) into it.
# On a fresh Debian or Ubuntu python3-venv may be missing: it is installed if this runs as root, else asked for.
set -eu
python=$1
venv=$2
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "mtagent needs Python 3.11 or newer as $python; set another one with: make PYTHON=python3.12 ..." >&2
    exit 1
fi
if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null
    else
        echo "Python's venv module is missing: sudo apt-get install python3-venv" >&2
        exit 1
    fi
fi
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
echo "Installing mtagent into $venv ..." >&2
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$3"
