"""Experiment drivers, run from a checkout: ``python wmt/NAME.py``."""
