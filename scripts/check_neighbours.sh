#!/bin/sh
# Resolve mtagent with its light extras beside packages that its users have, for each Python and system, and install
# nothing. Of wheels alone: nobody should need a compiler. The Python $1 gets uv, which resolves.
set -eu
"$1" -m pip install --quiet --disable-pip-version-check 'uv>=0.5'
for version in 3.11 3.12 3.13; do
    for platform in linux macos windows; do
        printf '%s\n' instructor litellm llama-index-llms-openai transformers pandas |
            "$1" -m uv pip compile --quiet --python-version "$version" --python-platform "$platform" \
                --only-binary :all: --extra serve --extra report --extra figures --extra languages --extra tokens \
                pyproject.toml - >/dev/null
        echo "Python $version on $platform: resolved"
    done
done
