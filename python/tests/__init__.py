"""Tests of the workloads that need no framework: `python3 -m unittest discover --start-directory python`."""
