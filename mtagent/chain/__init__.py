"""Translate → Postedit → Proofread for one segment. Start with :mod:`mtagent.chain.chain`."""
