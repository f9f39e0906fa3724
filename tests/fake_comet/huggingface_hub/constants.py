"""Where models are."""

import os

HF_HUB_CACHE = os.environ.get("FAKE_HUB", "/nowhere")
