
def store(results: str, results_dir: str, suite: str, save_samples: bool = True) -> str:
    """Stores `results`, a JSON list of records, as a run, and returns the path of its file."""

def gate(
    baseline: list[str], current: list[str], threshold_percent: float | None = None, policy: str | None = None
) -> str:
    """Compares the runs in the files of `current` with those of `baseline`; returns JSON."""

def compare(
    baseline: list[str],
    current: list[str],
    threshold_percent: float | None = None,
    policy: str | None = None,
    results_dir: str | None = None,
) -> str:
    """Does the same as `gate`, and adds textbook statistics and every metric.

    Stores the comparison if `results_dir` is given.
    """

def against_saved(run: str, results_dir: str, full: bool = False) -> str:
    """Compares the run in a file with the saved baseline of its machine and suite.

    Returns:
        The comparison as text, or why there is none.
    """

def statistics(values: list[float], confidence: float) -> str:
    """Returns statistics of a list of numbers, as JSON."""

def difference(before: list[float], after: list[float], confidence: float) -> str:
    """Tests whether two lists of numbers differ, and returns JSON."""

def outliers(values: list[float], method: str, threshold: float) -> list[bool]:
    """Returns for each number whether it is an outlier, by the rule iqr or mad."""

def percentile(values: list[float], percent: float) -> float:
    """Returns a percentile of a list of numbers."""

def rolling(values: list[float], window: int) -> str:
    """Returns the mean and the median of each number and those before it in a window, as JSON."""

def trend(series: str, settings: str | None = None, format: str = "json") -> str:
    """Returns the trends of series as json, text, markdown or csv.

    `series` is a JSON list of objects with id, metric, unit, better and points (time, value);
    `settings` is a JSON object.
    """

def stored_trends(
    results_dir: str, metric: str, case: str | None = None, settings: str | None = None, format: str = "json"
) -> str:
    """Returns the trends of stored series, as `trend` does."""

def stored_series(results_dir: str, metric: str | None = None, case: str | None = None) -> str:
    """Returns stored series as JSON, in the form that `trend` reads."""

def health(results_dir: str, format: str = "json") -> str:
    """Returns the health of the stored runs as json, text or markdown."""

def components() -> list[str]:
    """Returns the names of all components."""

def component_records(run: str, results_dir: str, policy: str | None = None) -> str:
    """Returns the record of each component in the run in a file, and its comparison with the saved baseline, as JSON."""

def fields() -> str:
    """Returns every field of a result as JSON: name, unit, better and about."""

def parse_toml(text: str) -> str:
    """Parses TOML and returns it as JSON."""

def stored_run(results_dir: str, id: str) -> str:
    """Returns the stored run with this id, or whose id begins with it, as JSON."""

def stored_runs(results_dir: str) -> str:
    """Returns every stored run, newest first, as JSON."""

def save_run(run: str, results_dir: str) -> str:
    """Stores a run in JSON and returns the path of its file."""

def save_comparison(comparison: str, results_dir: str) -> str:
    """Stores a comparison in JSON and returns the path of its file."""

def stored_comparisons(results_dir: str) -> str:
    """Returns every stored comparison, newest first, as JSON."""

def export(results_dir: str, format: str, run_ids: list[str] | None = None) -> str:
    """Returns the results of some stored runs, or of all, as csv or json."""

def prune(results_dir: str, baselines_dir: str, days: int, keep: int) -> list[str]:
    """Deletes old runs and returns their ids."""

def report(
    current: str,
    format: str,
    baseline: str | None = None,
    *,
    comparison: str | None = None,
    title: str | None = None,
    parts: list[str] | None = None,
    theme: str | None = None,
    chart_width: int | None = None,
) -> str:
    """Returns a report on a run, as markdown, html, text, csv or json.

    It is compared with the run in the file `baseline`, or has the comparison in JSON.
    """

def environment_report(environment: str) -> str:
    """Formats an environment in JSON as Markdown."""

def format_comparison(comparison: str, format: str) -> str:
    """Formats a comparison in JSON as text, json, markdown, junit, sarif or github."""

def comparison_svg(comparison: str) -> str | None:
    """Draws the changes of a comparison in JSON as SVG. Returns None if no value can be compared."""

def write_file(path: str, text: str) -> None:
    """Writes a text file, whole or not at all."""

def draw(
    kind: str,
    title: str,
    unit: str,
    labels: list[str],
    names: list[str],
    figures: list[list[float]],
    size: tuple[int, int],
    ascii: bool,
    color: bool = False,
) -> str:
    """Draws a text chart.

    Kinds: bar, stacked-bar, line, scatter, gauge, heat-map, speedup, scaling, roofline,
    timeline or delta.
    """

def draw_svg(
    kind: str, title: str, unit: str, labels: list[str], names: list[str], figures: list[list[float]]
) -> str:
    """Draws the chart of `draw` as SVG."""

def sparkline(values: list[float], width: int) -> str:
    """Draws numbers as one line of block characters."""

def architecture(gpu: str | None = None, target: str | None = None) -> str:
    """Returns the capabilities of an architecture, or of that of a product, as JSON."""

def occupancy(target: str, registers: int, shared_bytes: int, warps: int) -> float | None:
    """Returns the occupancy of a kernel in percent, from the compiler's output. Returns None if the target is unknown."""

class GpuWatch:
    """The sensors of a GPU, read in the background."""

    def stop(self) -> str:
        """Stops reading and returns fields of a result since the start, as JSON."""

def watch(pci_address: str) -> GpuWatch | None:
    """Starts to read the sensors of the GPU at this PCI address. Returns None if it has none."""
