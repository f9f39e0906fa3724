"""Plays the hub's client for ``mtagent/metrics/comet_worker.py``."""
