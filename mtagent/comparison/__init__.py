"""Whether a stage pays off: runs and other systems side by side, with scores, edits, outcomes and costs."""
