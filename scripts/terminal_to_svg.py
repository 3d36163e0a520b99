#!/usr/bin/env python3
"""Draws terminal output, including colors, as an SVG picture: text on standard input, SVG on standard output."""

import html
import re
import sys
import unicodedata

ADVANCE, LINE, SIZE, MARGIN = 7.8, 17, 13, 16
INK, SHEET, FADED = "#c9d1d9", "#0d1117", "#8b949e"
ANSI = (
    "#484f58 #ff7b72 #3fb950 #d29922 #58a6ff #bc8cff #39c5cf #b1bac4 "
    "#6e7681 #ffa198 #56d364 #e3b341 #79c0ff #d2a8ff #56d4dd #f0f6fc"
).split()
FAMILY = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def indexed(number: int) -> str:
    """Returns one of the 256 colors of a terminal."""
    if number < 16:
        return ANSI[number]
    if number >= 232:
        level = 8 + 10 * (number - 232)
        return f"#{level:02x}{level:02x}{level:02x}"
    levels = [0, 95, 135, 175, 215, 255]
    number -= 16
    return "#" + "".join(f"{levels[part]:02x}" for part in (number // 36, number // 6 % 6, number % 6))


def apply(style: dict, codes: str) -> None:
    """Applies the codes of one escape sequence to `style`."""
    numbers = [int(code or 0) for code in re.split("[;:]", codes)]
    while numbers:
        code = numbers.pop(0)
        if code == 0:
            style.clear()
        elif code in (1, 2, 4, 7):
            style[{1: "bold", 2: "dim", 4: "line", 7: "reverse"}[code]] = True
        elif code in (22, 24, 27):
            for name in {22: ["bold", "dim"], 24: ["line"], 27: ["reverse"]}[code]:
                style.pop(name, None)
        elif code in (38, 48):
            side = "ink" if code == 38 else "ground"
            if numbers.pop(0) == 5:
                style[side] = indexed(numbers.pop(0))
            else:
                style[side] = "#" + "".join(f"{numbers.pop(0):02x}" for _ in range(3))
        elif code in (39, 49):
            style.pop("ink" if code == 39 else "ground", None)
        elif code % 10 < 8 and code // 10 in (3, 4, 9, 10):
            style["ground" if code // 10 in (4, 10) else "ink"] = ANSI[code % 10 + 8 * (code > 50)]


def cells(line: str, style: dict) -> list[tuple[str, dict]]:
    """Returns the characters of a line, one for each column, each with its style."""
    out = []
    for part in re.split("(\x1b\\[[0-9;:]*m)", line):
        if part.startswith("\x1b"):
            apply(style, part[2:-1])
            continue
        for char in re.sub("\x1b[^a-zA-Z]*[a-zA-Z]?", "", part):
            wide = unicodedata.east_asian_width(char) in "WF"
            out += [(char, dict(style))] + [("", dict(style))] * wide
    return out


def draw(text: str) -> str:
    """Returns the picture of `text`."""
    style: dict = {}
    lines = [cells(line, style) for line in text.rstrip("\n").split("\n")]
    wide = max(len(line) for line in lines) * ADVANCE + 2 * MARGIN
    high = len(lines) * LINE + 2 * MARGIN
    body = []
    for row, line in enumerate(lines):
        top, spans, start = MARGIN + row * LINE, [], 0
        while start < len(line):
            look, end = line[start][1], start
            while end < len(line) and line[end][1] == look:
                end += 1
            ink, ground = look.get("ink", FADED if look.get("dim") else INK), look.get("ground")
            if look.get("reverse"):
                ink, ground = ground or SHEET, ink
            left = MARGIN + start * ADVANCE
            if ground:
                size = f'width="{(end - start) * ADVANCE:.1f}" height="{LINE}"'
                body.append(f'<rect x="{left:.1f}" y="{top}" {size} fill="{ground}"/>')
            words = "".join(char for char, _ in line[start:end])
            extra = ' font-weight="bold"' * bool(look.get("bold"))
            extra += ' text-decoration="underline"' * bool(look.get("line"))
            # Words are placed one by one, so that a font of another width keeps the columns.
            for word in re.finditer(r"\S+( \S+)*", words):
                x = left + word.start() * ADVANCE
                # Characters of other fonts have other widths.
                places = [f"{x + at * ADVANCE:.1f}" for at in range(1 if word[0].isascii() else len(word[0]))]
                spans.append(f'<tspan x="{" ".join(places)}" fill="{ink}"{extra}>{html.escape(word[0])}</tspan>')
            start = end
        if spans:
            body.append(f'<text y="{top + 12.75}">{"".join(spans)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high}" width="{wide:.0f}" '
        f'height="{high}" font-family="{FAMILY}" font-size="{SIZE}" style="white-space: pre">\n'
        f'<rect width="100%" height="100%" rx="8" fill="{SHEET}"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


if __name__ == "__main__":
    sys.stdout.write(draw(sys.stdin.read()))
