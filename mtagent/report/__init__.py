"""A run on one page: its numbers as figures, tables and plots, and as Markdown, CSV and JSON."""

from __future__ import annotations
