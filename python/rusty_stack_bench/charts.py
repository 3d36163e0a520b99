"""Text charts, drawn by the program's own code. Notebooks show each as a picture."""
from __future__ import annotations

import enum
import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, overload

from .arguments import choice, count, named_arguments, number, numbers_of
from .tables import is_lower_better

# Characters of a sparkline, from low to high.
BLOCKS = "▁▂▃▄▅▆▇█"
# Values of a line by its name: heights at equal intervals, or points (x, y).
Series = Mapping[str, Sequence[Any]]


class ChartType(str, enum.Enum):
    """Kinds of charts that `ASCIIChartGenerator.generate_chart` draws."""

    BAR = "bar"
    LINE = "line"
    SPARKLINE = "sparkline"
    GAUGE = "gauge"
    HEATMAP = "heatmap"
    STACKED_BAR = "stacked_bar"
    MEMORY_TIMELINE = "memory_timeline"


class _Content(NamedTuple):
    """Content of a chart, in the form that the native code expects."""

    kind: str
    title: str
    unit: str
    labels: list[str]
    names: list[str]
    figures: list[list[float]]


class Chart(str):
    """A chart as text of limited size; `svg` is the same chart as a picture."""

    _content: _Content

    @property
    def svg(self) -> str:
        """The chart as SVG."""
        from . import _native

        return _native.draw_svg(*self._content)

    def _repr_svg_(self) -> str:
        """Returns the picture, for notebooks."""
        return self.svg

    @classmethod
    def drawn(cls, text: str, content: _Content) -> Chart:
        """Returns a chart with its text and content."""
        made = cls(text)
        made._content = content
        return made


@named_arguments
class _Drawer:
    """Draws charts of limited size.

    Args:
        width: largest width in columns.
        height: largest height in lines.
        ascii: whether charts contain only ASCII characters. Sparklines always use block characters.

    Raises:
        TypeError: if a size is not an integer.
        ValueError: if a size is smaller than 1.
    """

    def __init__(self, width: int = 60, height: int = 20, ascii: bool = True) -> None:
        self.width, self.height, self.ascii = count("width", width), count("height", height), ascii

    def _draw(
        self,
        kind: str,
        title: str,
        unit: str,
        labels: Sequence[object],
        figures: Sequence[Sequence[object]],
        names: Sequence[str] = (),
        colorize: bool = False,
        width: int | None = None,
    ) -> Chart:
        from . import _native

        rows = [numbers_of("a value", row) for row in figures]
        content = _Content(kind, title, unit, [str(label) for label in labels], list(names), rows)
        size = (width or self.width, self.height)
        return Chart.drawn(_native.draw(*content, size, self.ascii, colorize), content)


@named_arguments
class ASCIIChartGenerator(_Drawer):
    """Text charts of limited size.

    Args:
        width: largest width in columns.
        height: largest height in lines.
        ascii: whether charts contain only ASCII characters. Sparklines always use block characters.

    Raises:
        TypeError: if a size is not an integer.
        ValueError: if a size is smaller than 1.
    """

    def generate_bar_chart(
        self, data: Mapping[str, float] | Sequence[float], title: str = "", unit: str = "", colorize: bool = False
    ) -> Chart:
        """Returns a chart with one bar per entry.

        Args:
            data: values by label, at least 0; or a list, whose labels are its indices.
            title: the title.
            unit: the unit of the values.
            colorize: whether the text contains escape sequences for colors.

        Raises:
            TypeError: if a value is not a number.
            ValueError: if there is no value, or one is negative or not finite.
        """
        bars = _named(data)
        return self._draw("bar", title, unit, list(bars), [list(bars.values())], colorize=colorize)

    def generate_stacked_bar_chart(
        self, data: Mapping[str, Mapping[str, float]], title: str = "", unit: str = "", colorize: bool = False
    ) -> Chart:
        """Returns a chart with one bar per entry, made of its parts.

        Args:
            data: for each label, the size of each part by its name; a missing part is 0.
            title: the title.
            unit: the unit of the sizes.
            colorize: whether the text contains escape sequences for colors.

        Raises:
            TypeError: if a size is not a number, or `data` is not a dictionary of dictionaries.
            ValueError: if there is no part, or a size is negative or not finite.
        """
        if not _is_mapping(data) or not all(_is_mapping(parts) for parts in data.values()):
            raise TypeError("a stacked bar needs its parts by name; pass a dictionary such as {'a': {'part': 1}}")
        names = list(dict.fromkeys(name for parts in data.values() for name in parts))
        figures = [[parts.get(name, 0.0) for parts in data.values()] for name in names]
        return self._draw("stacked-bar", title, unit, list(data), figures, names, colorize)

    def generate_line_chart(
        self,
        series: Series | Sequence[Any],
        title: Any = "",
        x_label: str = "",
        y_label: str = "",
        colorize: bool = False,
        *,
        labels: Sequence[str] | None = None,
        unit: str = "",
    ) -> Chart:
        """Returns a chart with one line per entry, or with marks if the entries are points.

        Args:
            series: values of each line by its name, or of one line; or points (x, y), which are drawn as
                marks.
            title: the title. A list passed here is taken as `labels`, with title and unit as the next arguments.
            x_label: title of the horizontal axis, for points.
            y_label: title of the vertical axis; for lines, their unit.
            colorize: whether the text contains escape sequences for colors.
            labels: labels of the values, from left to right; by default their indices.
            unit: the unit of the values, if there is no `y_label`.

        Raises:
            TypeError: if a value is not a number.
            ValueError: if there is no value, one is not finite, or lines differ in length.
        """
        if not isinstance(title, str):
            labels, title, unit, x_label, y_label = title, x_label, y_label or unit, "", ""
        if not isinstance(series, Mapping):
            series = {"": series}
        if any(_is_pair(one) for values in series.values() for one in values):
            figures = [[point[axis] for point in values] for values in series.values() for axis in (0, 1)]
            return self._draw("scatter", title, unit, [x_label, y_label or unit], figures, list(series), colorize)
        longest = max((len(values) for values in series.values()), default=0)
        marks = labels or [str(at) for at in range(longest)]
        return self._draw("line", title, y_label or unit, marks, list(series.values()), list(series), colorize)

    def generate_scatter_chart(
        self, series: Series, title: str = "", x_label: str = "", y_label: str = "", colorize: bool = False
    ) -> Chart:
        """Returns a chart with a mark at each point.

        Args:
            series: points (x, y) of each kind of mark by its name.
            title: the title.
            x_label: title of the horizontal axis.
            y_label: title of the vertical axis.
            colorize: whether the text contains escape sequences for colors.

        Raises:
            TypeError: if a coordinate is not a number.
            ValueError: if there is no point, or one is not finite.
        """
        return self.generate_line_chart(series, title, x_label, y_label, colorize)

    def generate_sparkline(self, data: Sequence[float], width: int = 40, character: str = BLOCKS) -> str:
        """Returns the values as one line of characters.

        Args:
            data: the values; neighbors are averaged if there are more than `width`.
            width: largest number of characters.
            character: characters for the levels, from low to high.

        Raises:
            TypeError: if a value is not a number.
            ValueError: if a value is not finite, `width` is smaller than 1 or `character` is empty.
        """
        from . import _native

        if not character:
            raise ValueError("character is empty; pass the characters of the levels, from low to high")
        line = _native.sparkline(numbers_of("a value", data), count("width", width))
        last = len(BLOCKS) - 1
        levels = [round(at * (len(character) - 1) / last) for at in range(len(BLOCKS))]
        return line.translate({ord(block): character[level] for block, level in zip(BLOCKS, levels)})

    @overload
    def generate_gauge(
        self, value: float, min_val: float = 0.0, max_val: float = 100.0, label: str = "", segments: int = 10
    ) -> Chart: ...
    @overload
    def generate_gauge(self, value: str, min_val: float, max_val: str = "") -> Chart: ...
    def generate_gauge(
        self, value: Any, min_val: float = 0.0, max_val: Any = 100.0, label: str = "", segments: int = 10
    ) -> Chart:
        """Returns a gauge: a bar filled in proportion to a value within its range.

        The form `generate_gauge(label, percent, title)` fills the bar to `percent`, without steps.

        Args:
            value: the value.
            min_val: the value of an empty bar.
            max_val: the value of a full bar.
            label: the label.
            segments: number of steps in which the bar is filled.

        Raises:
            TypeError: if a value is not a number.
            ValueError: if the range is empty, `value` is outside, or `segments` is smaller than 1.
        """
        if isinstance(value, str):
            title = max_val if isinstance(max_val, str) else ""
            return self._draw("gauge", title, "%", [value], [[min_val]])
        at, low, high = number("value", value), number("min_val", min_val), number("max_val", max_val)
        if not low <= at <= high or low == high:
            raise ValueError(f"value {at:g} is not in the range from {low:g} to {high:g}; pass min_val and max_val around it")
        steps = count("segments", segments)
        filled = 100.0 * round((at - low) / (high - low) * steps) / steps
        text = f"{at:g} %" if (low, high) == (0.0, 100.0) else f"{at:g} of {high:g}"
        return self._draw("gauge", "", "%", [label], [[filled]], [text])

    @overload
    def generate_heatmap(
        self,
        data: Sequence[Sequence[float]],
        row_labels: Sequence[str] | None = None,
        col_labels: Sequence[str] | None = None,
        title: str = "",
    ) -> Chart: ...
    @overload
    def generate_heatmap(
        self, data: Sequence[str], row_labels: Sequence[str], col_labels: Sequence[Sequence[float]], title: str = ""
    ) -> Chart: ...
    def generate_heatmap(
        self,
        data: Sequence[Any],
        row_labels: Sequence[str] | None = None,
        col_labels: Sequence[Any] | None = None,
        title: str = "",
    ) -> Chart:
        """Returns a heat map.

        The form `generate_heatmap(rows, columns, values, title)` takes the labels first.

        Args:
            data: one list of values per row.
            row_labels: labels of the rows; by default their indices.
            col_labels: labels of the columns; by default their indices.
            title: the title.

        Raises:
            TypeError: if a value is not a number.
            ValueError: if the number of labels differs, or a value is not finite.
        """
        values: Sequence[Sequence[Any]] = data
        rows: Sequence[object] | None = row_labels
        columns: Sequence[object] | None = col_labels
        if data and all(isinstance(row, str) for row in data):
            rows, columns, values = data, row_labels, col_labels or ()
        width = max((len(row) for row in values), default=0)
        shown = range(width) if columns is None else columns
        names = [str(label) for label in shown]
        return self._draw("heat-map", title, "", range(len(values)) if rows is None else rows, values, names)

    @overload
    def generate_speedup_chart(
        self,
        baseline_data: Mapping[str, float] | Sequence[float],
        comparison_data: Mapping[str, float] | Sequence[float],
        title: str = "",
    ) -> Chart: ...
    @overload
    def generate_speedup_chart(
        self, baseline_data: Sequence[str], comparison_data: Sequence[float], title: Sequence[float], /
    ) -> Chart: ...
    def generate_speedup_chart(self, baseline_data: Any, comparison_data: Any, title: Any = "") -> Chart:
        """Returns a chart of speedups, with a mark at 1.

        The form `generate_speedup_chart(labels, before, after)` takes the labels first.

        Args:
            baseline_data: times before the change by label, or a list.
            comparison_data: times after the change, in the same unit and form.
            title: the title.

        Raises:
            TypeError: if a time is not a number.
            ValueError: if a label is only on one side, the lists differ in length, or a time is not above 0.
        """
        if isinstance(title, str):
            before, after = _named(baseline_data), _named(comparison_data)
            one_sided = sorted(before.keys() ^ after.keys())
            if one_sided:
                raise ValueError(f"{', '.join(one_sided)} is only on one side; pass the same number of both")
            times = [list(before.values()), [after[label] for label in before]]
            return self._draw("speedup", title, "", list(before), times)
        return self._draw("speedup", "speedup", "", list(baseline_data), [list(comparison_data), list(title)])

    def generate_memory_timeline(
        self,
        timestamps: Sequence[float],
        memory_usage: Sequence[float] | None = None,
        peak_value: float | None = None,
        *,
        labels: Sequence[str] | None = None,
        title: str = "memory",
    ) -> Chart:
        """Returns a chart of memory over time, in MB.

        Args:
            timestamps: times in seconds, ascending. Without `memory_usage`, this is the memory in MB at equal
                intervals.
            memory_usage: memory in use at each time, in MB.
            peak_value: a limit to mark, in MB.
            labels: labels of the values without times; by default their indices.
            title: the title.

        Raises:
            TypeError: if a value is not a number.
            ValueError: if both lists differ in length, the times do not ascend, or a value is not finite.
        """
        if memory_usage is None:
            return self.generate_line_chart({"": timestamps}, title, labels=labels, unit="MB")
        limit = [] if peak_value is None else [[peak_value]]
        return self._draw("timeline", title, "MB", ["seconds"], [timestamps, memory_usage, *limit])

    def generate_delta_chart(
        self,
        changes: Mapping[str, float],
        lower_is_better: Collection[str] | None = None,
        threshold_percent: float = 5.0,
        title: str = "change",
        colorize: bool = False,
    ) -> Chart:
        """Returns a signed bar per metric, marked as better, worse or even.

        Args:
            changes: changes in percent by metric.
            lower_is_better: metrics whose lower values are better; by default as docs/glossary.md defines.
            threshold_percent: changes up to this many percent count as even.
            title: the title.
            colorize: whether the text contains escape sequences for colors.

        Raises:
            TypeError: if a change is not a number.
            ValueError: if there is no change, or one is not finite.
        """
        limit = number("threshold_percent", threshold_percent)
        words: list[str] = []
        for metric, change in changes.items():
            is_lower = bool(is_lower_better(metric)) if lower_is_better is None else metric in lower_is_better
            gain = -number(metric, change) if is_lower else number(metric, change)
            words.append("even" if abs(gain) <= limit else "better" if gain > 0 else "worse")
        return self._draw("delta", title, "%", list(changes), [list(changes.values())], words, colorize)

    def generate_chart(self, chart_type: ChartType | str, data: Any, title: str = "") -> str:
        """Returns a chart of a kind chosen by name.

        Args:
            chart_type: the kind, or its name.
            data: for `bar` values by label, for `line` lists by name, for `sparkline` a list, for `gauge` a
                percentage, for `heatmap` a list per row, for `stacked_bar` parts by label, for `memory_timeline`
                memory in MB at equal intervals.
            title: the title; sparklines and gauges have none.

        Raises:
            TypeError: if a value is not a number.
            ValueError: if the kind is unknown, or `data` does not fit it.
        """
        kind = choice(ChartType, chart_type, "chart type")
        if kind is ChartType.SPARKLINE:
            return self.generate_sparkline(data)
        if kind is ChartType.GAUGE:
            return self.generate_gauge(number("value", data))
        if kind is ChartType.HEATMAP:
            return self.generate_heatmap(data, title=title)
        if kind is ChartType.LINE:
            return self.generate_line_chart(data, title)
        if kind is ChartType.MEMORY_TIMELINE:
            return self.generate_memory_timeline(data, title=title or "memory")
        if kind is ChartType.STACKED_BAR:
            return self.generate_stacked_bar_chart(data, title)
        return self.generate_bar_chart(data, title)


@named_arguments
class SpeedupChartGenerator(_Drawer):
    """Charts of speedups, scaling and the roofline, with the same options as `ASCIIChartGenerator`."""

    def generate_speedup_bars(
        self,
        data: Mapping[str, float],
        baseline: float = 1.0,
        title: str = "Speedup vs Baseline",
        max_bars: int = 20,
    ) -> Chart:
        """Returns a bar with the speedup of each entry, with a mark at 1.

        Args:
            data: speeds, or rates, by label.
            baseline: the speed or rate of the baseline, in the same unit.
            title: the title.
            max_bars: largest number of bars; the first entries are drawn.

        Raises:
            TypeError: if a value is not a number.
            ValueError: if a value is not above 0, or `max_bars` is smaller than 1.
        """
        shown = dict(itertools.islice(data.items(), count("max_bars", max_bars)))
        # The native chart divides the first list by the second.
        figures = [list(shown.values()), [number("baseline", baseline)] * len(shown)]
        return self._draw("speedup", title, "", list(shown), figures)

    def generate_scaling_chart(
        self, gpu_counts: Sequence[int], times: Sequence[float], title: str = "Scaling Efficiency"
    ) -> Chart:
        """Returns the speed over the number of GPUs, next to ideal scaling.

        Args:
            gpu_counts: numbers of GPUs, ascending. The first is assumed to scale ideally.
            times: the time of the same work on each, in any unit.
            title: the title.

        Raises:
            TypeError: if a value is not a number.
            ValueError: if the lists differ in length, the numbers do not ascend, or a time is not above 0.
        """
        return self._draw("scaling", title, "", ["GPUs"], [gpu_counts, times])

    def generate_roofline_chart(
        self,
        arithmetic_intensities: Sequence[float],
        performances: Sequence[float],
        peak_performance: float,
        peak_bandwidth: float,
        memory_bound: bool | Sequence[bool] | None = None,
    ) -> Chart:
        """Returns rates over operations per byte, below the roofs of memory and computing.

        Args:
            arithmetic_intensities: operations per byte of each point.
            performances: the rate of each point, in GFLOP/s.
            peak_performance: highest rate of the device, in GFLOP/s.
            peak_bandwidth: highest bandwidth of its memory, in GB/s.
            memory_bound: whether the points, or each of them, are limited by memory; by default those left
                of the ridge.

        Raises:
            TypeError: if a value is not a number.
            ValueError: if the lists differ in length, or a value is not above 0.
        """
        figures: list[Sequence[object]] = [arithmetic_intensities, performances, [peak_performance, peak_bandwidth]]
        if memory_bound is not None:
            each = [memory_bound] * len(performances) if isinstance(memory_bound, bool) else memory_bound
            figures.append([1.0 if one else 0.0 for one in each])
        return self._draw("roofline", "Roofline", "GFLOP/s", ["operations per byte", "GFLOP/s"], figures)


@named_arguments
class MemoryPatternVisualizer(_Drawer):
    """Charts of memory, with the same options as `ASCIIChartGenerator`."""

    def generate_memory_timeline(
        self,
        timestamps: Sequence[float],
        allocations: Sequence[float],
        deallocations: Sequence[float] | None = None,
        width: int = 60,
    ) -> Chart:
        """Returns memory over time, in MB.

        Args:
            timestamps: times in seconds, ascending.
            allocations: memory in use at each time, in MB; with `deallocations`, memory allocated at that time.
            deallocations: memory freed at each time, in MB.
            width: largest width in columns.

        Raises:
            TypeError: if a value is not a number.
            ValueError: if the lists differ in length, or the times do not ascend.
        """
        held = numbers_of("an allocation", allocations)
        if deallocations is not None:
            freed = numbers_of("a deallocation", deallocations)
            if len(freed) != len(held):
                both = f"{len(held)} allocations but {len(freed)} deallocations"
                raise ValueError(f"there are {both}; pass the same number of both")
            held = list(itertools.accumulate(more - less for more, less in zip(held, freed)))
        figures = [timestamps, held]
        return self._draw("timeline", "Memory", "MB", ["seconds"], figures, width=count("width", width))

    def generate_memory_breakdown(self, breakdown: Mapping[str, Any], title: str = "Memory Breakdown") -> Chart:
        """Returns a bar made of the parts of the memory, in MB.

        Args:
            breakdown: size of each part by its name, in MB; or the parts of each of several bars by label.
            title: the title.

        Raises:
            TypeError: if a size is not a number.
            ValueError: if there is no part, or a size is negative or not finite.
        """
        is_nested = any(_is_mapping(part) for part in breakdown.values())
        bars: Mapping[str, Mapping[str, float]] = breakdown if is_nested else {"memory": breakdown}
        return ASCIIChartGenerator(self.width, self.height, self.ascii).generate_stacked_bar_chart(bars, title, "MB")

    def generate_memory_heatmap(
        self,
        time_points: Sequence[object],
        memory_types: Sequence[str],
        values: Sequence[Sequence[float]],
        title: str = "Memory Usage Over Time",
    ) -> Chart:
        """Returns memory by kind and time.

        Args:
            time_points: labels of the columns.
            memory_types: labels of the rows.
            values: for each kind, one value per time, in MB.
            title: the title.

        Raises:
            TypeError: if a value is not a number.
            ValueError: if the number of labels differs, or a value is not finite.
        """
        return self._draw("heat-map", title, "", memory_types, values, [str(time) for time in time_points])

    def generate_utilization_gauge(self, used: float, total: float, label: str = "Memory") -> Chart:
        """Returns a bar that is filled to the share of memory in use.

        Args:
            used: memory in use, in MB.
            total: all memory, in MB.
            label: the label.

        Raises:
            TypeError: if a value is not a number.
            ValueError: if `total` is not above 0, or `used` is negative or above it.
        """
        part, whole = number("used", used), number("total", total)
        if whole <= 0 or not 0 <= part <= whole:
            raise ValueError(f"{part:g} MB of {whole:g} MB is not a share; pass 0 <= used <= total and total above 0")
        percent = 100.0 * part / whole
        return self._draw("gauge", "", "%", [label], [[percent]], [f"{percent:.0f} % of {whole:g} MB"])


def _is_pair(value: object) -> bool:
    return isinstance(value, (tuple, list))


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _named(data: Any) -> dict[str, float]:
    """Returns the values by label; the labels of a list are its indices."""
    if _is_mapping(data):
        return {str(label): value for label, value in data.items()}
    return {str(at): value for at, value in enumerate(data)}
