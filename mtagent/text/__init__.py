"""What is true of texts, whatever is done with them. Knows no model, no file and no setting."""
