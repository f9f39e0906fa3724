"""Measures runs and evaluators: scores, comparisons, agreement with people."""
