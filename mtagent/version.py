"""The version of this package: signatures, reports and ``mtagent --version`` carry it."""

__version__ = "0.1.0"
