"""Tests of the package: `python -m pytest python/tests`. Those of a framework are skipped without it."""
