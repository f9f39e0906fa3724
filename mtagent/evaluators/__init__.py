"""Evaluators: one file each, all behind :class:`mtagent.protocols.Evaluator`."""
