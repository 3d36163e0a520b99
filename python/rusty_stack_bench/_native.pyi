
def store(results: str, results_dir: str, suite: str) -> str:
    """Keeps results, which are a JSON list of records, as a run; the path of its file."""

def gate(
    baseline: list[str], current: list[str], threshold_percent: float | None = None, policy: str | None = None
) -> str:
    """Judges the runs in the files of `current` against those of `baseline`; the comparison as JSON."""
