
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
    """Does the same as `gate`, and adds textbook statistics, every metric and the overall speedup.

    Stores the comparison if `results_dir` is given.
    """

def comparison_report(
    baseline: list[str], current: list[str], format: str, threshold_percent: float | None = None, policy: str | None = None
) -> str:
    """Returns the comparison as text, json, markdown, junit, sarif or github."""

def against_saved(run: str, results_dir: str, full: bool = False) -> str:
    """Compares the run in a file with the saved baseline of its machine and suite.

    Returns:
        The comparison as text, or why there is none.
    """

def statistics(values: list[float], confidence: float) -> str:
    """Returns statistics of a list of numbers, as JSON."""

def difference(before: list[float], after: list[float], confidence: float) -> str:
    """Tests whether two lists of numbers differ, and returns JSON."""

def trend(name: str, points: list[tuple[str, float]], better: str | None = None) -> str:
    """Returns the trend of numbers over time, as JSON."""

def stored_trends(results_dir: str, metric: str, case: str | None = None) -> str:
    """Returns the trends of stored series, as JSON."""

def stored_run(results_dir: str, id: str) -> str:
    """Returns the stored run with this id, or whose id begins with it, as JSON."""

def stored_runs(results_dir: str) -> str:
    """Returns every stored run, newest first, as JSON."""

def export(results_dir: str, format: str) -> str:
    """Returns every stored result, as csv or json."""

def prune(results_dir: str, baselines_dir: str, days: int, keep: int) -> list[str]:
    """Deletes old runs and returns their ids."""

def report(current: str, format: str, baseline: str | None = None) -> str:
    """Returns a report on a run, as markdown, html, text, csv or json."""

def draw(
    kind: str,
    title: str,
    unit: str,
    labels: list[str],
    names: list[str],
    figures: list[list[float]],
    size: tuple[int, int],
    ascii: bool,
) -> str:
    """Draws a text chart: bar, line, gauge, heatmap or speedup."""

def sparkline(values: list[float], width: int) -> str:
    """Draws numbers as one line of block characters."""

class GpuWatch:
    """The sensors of a GPU, read in the background."""

    def stop(self) -> str:
        """Stops reading and returns fields of a result since the start, as JSON."""

def watch(pci_address: str) -> GpuWatch | None:
    """Starts to read the sensors of the GPU at this PCI address. Returns None if it has none."""
