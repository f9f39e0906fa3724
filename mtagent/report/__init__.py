"""The report of a run: one page to read, or Markdown, CSV and JSON."""

from __future__ import annotations
