"""Experiment drivers, run from a checkout: ``python -m wmt.NAME``. What they share is in :mod:`wmt.lib`."""
