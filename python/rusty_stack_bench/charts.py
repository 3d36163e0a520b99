"""Charts in characters, drawn by the code that draws the program's."""
from __future__ import annotations

from collections.abc import Mapping, Sequence


class ASCIIChartGenerator:
    """Charts that are never wider or taller than this. With `ascii` alone characters that every terminal has."""

    def __init__(self, width: int = 60, height: int = 20, ascii: bool = True) -> None:
        self.width, self.height, self.ascii = width, height, ascii

    def _draw(
        self,
        kind: str,
        title: str,
        unit: str,
        labels: Sequence[str],
        figures: Sequence[Sequence[float]],
        names: Sequence[str] = (),
    ) -> str:
        from . import _native

        rows = [[float(value) for value in row] for row in figures]
        texts = [str(label) for label in labels]
        return _native.draw(kind, title, unit, texts, list(names), rows, (self.width, self.height), self.ascii)

    def generate_bar_chart(self, data: Mapping[str, float], title: str = "", unit: str = "") -> str:
        """A bar for each entry."""
        return self._draw("bar", title, unit, list(data), [list(data.values())])

    def generate_line_chart(
        self, series: Mapping[str, Sequence[float]], labels: Sequence[str] | None = None, title: str = "", unit: str = ""
    ) -> str:
        """A line for each entry; `labels` are below, from left to right."""
        longest = max((len(values) for values in series.values()), default=0)
        return self._draw("line", title, unit, labels or [str(at) for at in range(longest)], list(series.values()), list(series))

    def generate_sparkline(self, values: Sequence[float]) -> str:
        """One line of blocks."""
        from . import _native

        return _native.sparkline([float(value) for value in values], self.width)

    def generate_gauge(self, label: str, percent: float, title: str = "") -> str:
        """How much of 100 % it is."""
        return self._draw("gauge", title, "%", [label], [[percent]])

    def generate_heatmap(
        self, rows: Sequence[str], columns: Sequence[str], figures: Sequence[Sequence[float]], title: str = ""
    ) -> str:
        """A list of figures for each row."""
        return self._draw("heatmap", title, "", rows, figures, columns)

    def generate_speedup_chart(
        self, labels: Sequence[str], before: Sequence[float], after: Sequence[float], title: str = "speed-up"
    ) -> str:
        """How many times faster each is, from the times before and after; a line stands at 1."""
        return self._draw("speedup", title, "", labels, [before, after])

    def generate_memory_timeline(
        self, used_mb: Sequence[float], labels: Sequence[str] | None = None, title: str = "memory"
    ) -> str:
        """Memory over time."""
        return self.generate_line_chart({"": used_mb}, labels, title, "MB")
