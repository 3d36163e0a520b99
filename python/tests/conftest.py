"""Processes that a test starts find the package as the test does, whatever the current directory is."""

import os
from pathlib import Path

SOURCES = str(Path(__file__).parents[1])

os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [SOURCES, os.environ.get("PYTHONPATH")]))
