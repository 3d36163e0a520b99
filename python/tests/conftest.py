"""Adds the package to the search path of child processes of tests, independent of the current directory."""

import os
from pathlib import Path

SOURCES = str(Path(__file__).parents[1])

os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [SOURCES, os.environ.get("PYTHONPATH")]))
