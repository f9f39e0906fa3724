"""What runs and evaluators are worth: scores, comparisons, agreement with people."""
