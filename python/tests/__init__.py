"""Tests of the package. Run `python -m pytest python/tests`; tests of missing frameworks are skipped."""
