"""Evaluators: one file each, all behind :class:`mtagent.evaluators.protocol.Evaluator`."""

from __future__ import annotations
