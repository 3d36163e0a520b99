"""Text charts, drawn by the program's own code."""
from __future__ import annotations

from collections.abc import Mapping, Sequence


class ASCIIChartGenerator:
    """Text charts of limited size.

    Args:
        width: largest width in columns.
        height: largest height in lines.
        ascii: whether charts contain only ASCII characters. Sparklines always use block characters.
    """

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
        """Returns a chart with one bar per entry."""
        return self._draw("bar", title, unit, list(data), [list(data.values())])

    def generate_line_chart(
        self, series: Mapping[str, Sequence[float]], labels: Sequence[str] | None = None, title: str = "", unit: str = ""
    ) -> str:
        """Returns a chart with one line per entry.

        Args:
            series: values of each line, by its name.
            labels: labels of the points, from left to right; by default their indices.
            title: the title.
            unit: the unit of the values.
        """
        longest = max((len(values) for values in series.values()), default=0)
        return self._draw("line", title, unit, labels or [str(at) for at in range(longest)], list(series.values()), list(series))

    def generate_sparkline(self, values: Sequence[float]) -> str:
        """Returns the values as one line of block characters."""
        from . import _native

        return _native.sparkline([float(value) for value in values], self.width)

    def generate_gauge(self, label: str, percent: float, title: str = "") -> str:
        """Returns a gauge that is filled to `percent` of 100 %."""
        return self._draw("gauge", title, "%", [label], [[percent]])

    def generate_heatmap(
        self, rows: Sequence[str], columns: Sequence[str], figures: Sequence[Sequence[float]], title: str = ""
    ) -> str:
        """Returns a heat map with one list of values per row."""
        return self._draw("heatmap", title, "", rows, figures, columns)

    def generate_speedup_chart(
        self, labels: Sequence[str], before: Sequence[float], after: Sequence[float], title: str = "speed-up"
    ) -> str:
        """Returns a chart of speedups, with a mark at 1.

        Args:
            labels: labels of the entries.
            before: times before the change.
            after: times after the change, in the same unit.
            title: the title.
        """
        return self._draw("speedup", title, "", labels, [before, after])

    def generate_memory_timeline(
        self, used_mb: Sequence[float], labels: Sequence[str] | None = None, title: str = "memory"
    ) -> str:
        """Returns a line chart of memory over time, in MB."""
        return self.generate_line_chart({"": used_mb}, labels, title, "MB")
