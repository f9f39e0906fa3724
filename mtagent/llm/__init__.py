"""Everything that reaches a model: the client, the call cache, fakes and recorded replies."""

from __future__ import annotations
