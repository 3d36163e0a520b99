"""Memory of a training step by category, and reduction of its curve to fewer points."""

from rusty_stack_bench.workloads import training


def test_a_thinned_curve_keeps_both_ends_and_the_extremes():
    """The ends and extremes are kept for any number of events."""
    held = [float((7 * at) % 1000) for at in range(5000)]
    held[3210], held[1234] = 9999.0, -5.0
    kept = training.thinned(held, 256)
    assert len(kept) <= 256
    assert kept == sorted(set(kept))
    assert {0, 1234, 3210, 4999} <= set(kept)
    assert training.thinned([3.0, 1.0, 2.0], 256) == [0, 1, 2]


def test_parts_add_up_to_what_is_held():
    """Unnamed categories count as `other`."""
    places = {"PARAMETER": 1, "GRADIENT": 2, "OPTIMIZER_STATE": 3, "ACTIVATION": 4, "INPUT": 5}
    parts = training.by_part([0, 4_000_000, 4_000_000, 8_000_000, 1_000_000, 500_000], places)
    expected = {"model": 4.0, "gradients": 4.0, "optimizer": 8.0, "activations": 1.0, "other": 0.5}
    assert dict(zip(training.NAMES, parts)) == expected
