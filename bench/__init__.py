"""Benchmarks: each is a module to run from the checkout, ``python -m bench.client``."""
