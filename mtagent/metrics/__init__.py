"""Metrics: one file per kind, all behind :class:`mtagent.protocols.Metric`."""
