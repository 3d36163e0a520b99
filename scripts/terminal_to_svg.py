#!/usr/bin/env python3
"""Draws terminal output, including colors, as an SVG picture: text on standard input, SVG on standard output.

Needs the package rich: python3 -m pip install rich
"""

import io
import sys

from rich.console import Console
from rich.text import Text


def main() -> None:
    text = Text.from_ansi(sys.stdin.read().rstrip("\n"))
    width = max(line.cell_len for line in text.split("\n"))
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    console.print(text, soft_wrap=True)
    sys.stdout.write(console.export_svg(title="rusty-stack-bench"))


if __name__ == "__main__":
    main()
