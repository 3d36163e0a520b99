
def store(results: str, results_dir: str, suite: str, save_samples: bool = True) -> str:
    """Keeps results, which are a JSON list of records, as a run; the path of its file."""

def gate(
    baseline: list[str], current: list[str], threshold_percent: float | None = None, policy: str | None = None
) -> str:
    """Judges the runs in the files of `current` against those of `baseline`; the comparison as JSON."""

def compare(
    baseline: list[str],
    current: list[str],
    threshold_percent: float | None = None,
    policy: str | None = None,
    results_dir: str | None = None,
) -> str:
    """As `gate`, with textbook statistics, every metric of both sides and the overall speed-up; kept in `results_dir`."""

def comparison_report(
    baseline: list[str], current: list[str], format: str, threshold_percent: float | None = None, policy: str | None = None
) -> str:
    """The comparison as text, json, markdown, junit, sarif or github."""

def against_saved(run: str, results_dir: str, full: bool = False) -> str:
    """The run in a file beside the baseline that is saved for its machine and suite, as text, or why it is not compared."""

def statistics(values: list[float], confidence: float) -> str:
    """What there is to say of figures, as JSON."""

def difference(before: list[float], after: list[float], confidence: float) -> str:
    """Whether two lists of figures differ, as JSON."""

def trend(name: str, points: list[tuple[str, float]], better: str | None = None) -> str:
    """The trend of figures over time, as JSON."""

def stored_trends(results_dir: str, metric: str, case: str | None = None) -> str:
    """The trends of stored series, as JSON."""

def stored_run(results_dir: str, id: str) -> str:
    """The stored run that an id or the beginning of one names, as JSON."""

def stored_runs(results_dir: str) -> str:
    """Every stored run, the newest first, as JSON."""

def export(results_dir: str, format: str) -> str:
    """Every stored result, as csv or json."""

def prune(results_dir: str, baselines_dir: str, days: int, keep: int) -> list[str]:
    """Deletes old runs; their ids."""

def report(current: str, format: str, baseline: str | None = None) -> str:
    """A report on a run, as markdown, html, text, csv or json."""

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
    """A chart in characters: bar, line, gauge, heatmap or speedup."""

def sparkline(values: list[float], width: int) -> str:
    """Figures in one line of blocks."""

class GpuWatch:
    """A GPU being watched."""

    def stop(self) -> str:
        """How it was since then: fields of a result, as JSON."""

def watch(pci_address: str) -> GpuWatch | None:
    """Watches the GPU at this address on the bus; None where it has no sensors."""
