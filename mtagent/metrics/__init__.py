"""Metrics: one file per kind, all behind :class:`mtagent.metrics.protocol.Metric`."""

from __future__ import annotations
