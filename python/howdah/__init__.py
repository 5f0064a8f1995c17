"""Carries data into PostgreSQL as fast as the server can take it, and proves that it arrived."""

from howdah._native import __version__

__all__ = ["__version__"]
