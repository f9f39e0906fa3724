"""Everything that reaches a model: the client, the call cache, fakes."""

from __future__ import annotations
