"""``mtagent review``: people decide on the edits of runs on a page in the browser."""
