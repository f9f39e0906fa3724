"""A run on one page: its numbers as figures, tables and plots, and as Markdown, CSV and JSON."""
