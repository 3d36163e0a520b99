"""Measures the prediction error of `recommend`: the numbers of docs/recommendation.md.

    python3 python/checks/recommendation/study.py fit DIR          # fits the constants to the models marked as fitted
    python3 python/checks/recommendation/study.py report MACHINE   # the error on the models marked as reported
    python3 python/checks/recommendation/study.py across FROM TO   # the error on TO, predicted from times on FROM and peaks of TO
    python3 python/checks/recommendation/study.py roof FROM TO     # the likelihood of several values of the constant `roof`
    python3 python/checks/recommendation/study.py published DIR    # the error on published times

The prediction is that of crates/rsb-insight/src/model_results/predict.rs: the logarithm of a time
over its roofline time is a Gaussian process over places, runtimes, families and sizes. A place is a
machine with a runtime and a number of threads. A machine is a directory next to this file, with
times.csv and, if peaks were measured, peaks.csv. To leave out a model, its block is removed from
the covariance.
"""
from __future__ import annotations

import csv
import itertools
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy
import tomllib

HERE = Path(__file__).resolve().parent
CATALOGUE = HERE.parents[2] / "crates/rsb-catalog/src/models/catalogue.toml"
PLAN = tomllib.loads((HERE / "models.toml").read_text(encoding="utf-8"))
ROWS = {row["name"]: row for row in tomllib.loads(CATALOGUE.read_text(encoding="utf-8"))["model"] + PLAN["model"]}
# Activation elements read or written per position and per element of a layer's width.
PASSES = 16
# Constants of predict.rs: microseconds per kernel call, and standard deviations of the logarithm.
CONSTANTS = {
    "call_us": 3.26, "any": 0.0307, "runtime": 0.179, "place": 0.0638, "family": 0.165, "family_runtime": 0.236, "size": 0.0357,
    "size_runtime": 0.0297, "size_place": 0.151, "model": 0.0242, "model_runtime": 0.164, "noise": 0.0901, "length": 3.86,
    "roof": 0.85,
}
# Steps of the search for the constants.
STEPS = 400
# Quantile of the normal distribution for an 80 % interval.
EIGHT_IN_TEN = 1.2816


NO_ROOF = (1.0, 1.0)


@dataclass
class Cell:
    """A measured time, and the quantities from which it is predicted."""

    model: str
    family: str
    shape: str
    runtime: str
    place: tuple
    flops: float
    bytes: float
    calls: float
    seconds: float
    # Peak rates of the place, in operations and bytes per second.
    peak: float = 1.0
    bandwidth: float = 1.0
    # Whether the peaks were measured; otherwise they are the highest rates of any pass.
    measured: bool = False

    @classmethod
    def of(cls, row: dict, machine: str, roof: tuple):
        """Creates a cell from a row of a machine's times.csv."""
        known = ROWS[row["model"]]
        batch, length, shape, work = int(row["batch"]), int(row["length"]), known["shape"], known["work"]
        (a, c, d), (p, q) = work["flops"], work["operations"]
        weights = known.get("active_parameters", known["parameters"])
        moved = PASSES * shape["layers"] * shape["hidden"] + shape.get("vocabulary", 0)
        return cls(
            model=row["model"], family=known["family"], shape=f"{batch}x{length}", runtime=row["runtime"],
            place=(machine, row["runtime"], row["threads"]), flops=batch * (a + c * length + d * length**2), calls=p + q * length,
            bytes=4.0 * (weights + batch * length * moved), seconds=float(row["ms"]) / 1e3,
            peak=roof[0], bandwidth=roof[1], measured=roof != NO_ROOF,
        )

    def roofline(self) -> float:
        """Returns the roofline time: the longer of arithmetic and memory traffic at peak rates, in seconds."""
        return max(self.flops / self.peak, self.bytes / self.bandwidth)

    def expected(self, constants: dict) -> float:
        """Returns the expected time: the sum of arithmetic, memory traffic and kernel calls, in seconds."""
        return self.flops / self.peak + self.bytes / self.bandwidth + self.calls * constants["call_us"] * 1e-6


def cells(machine: str) -> list[Cell]:
    """Returns all measurements of `machine`, with its measured peak rates if it has a peaks.csv."""
    peaks: dict = {}
    if (HERE / machine / "peaks.csv").exists():
        with (HERE / machine / "peaks.csv").open(encoding="utf-8") as file:
            peaks = {row["threads"]: (float(row["gflops"]) * 1e9, float(row["bandwidth_gb_s"]) * 1e9) for row in csv.DictReader(file)}
    with (HERE / machine / "times.csv").open(encoding="utf-8") as file:
        found = [Cell.of(row, machine, peaks.get(row["threads"], NO_ROOF)) for row in csv.DictReader(file)]
    if not peaks:
        roof_of_passes(found, PLAN["reported"])
    return found


def roof_of_passes(some: list[Cell], reported: list[str]):
    """Sets the peaks of each place to the highest rates of fitted models, as predict.rs does."""
    for place in {one.place for one in some}:
        here = [one for one in some if one.place == place]
        own = [one for one in here if one.model not in reported]
        peak, bandwidth = (max(getattr(one, name) / one.seconds for one in own) for name in ("flops", "bytes"))
        for one in here:
            one.peak, one.bandwidth, one.measured = peak, bandwidth, False


# Times published by timm (github.com/huggingface/pytorch-image-models, results/): two CPUs in f32
# at batch 1, four GPUs in 16 bits.
PUBLISHED = {
    "i9-10940X": "benchmark-infer-fp32-nchw-pt240-cpu-i9_10940x-dynamo.csv",
    "i7-12700H": "benchmark-infer-fp32-nchw-pt240-cpu-i7_12700h-dynamo.csv",
    "RTX 3090": "benchmark-infer-amp-nchw-pt240-cu124-rtx3090.csv",
    "RTX 4090": "benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv",
    "RTX 5090": "benchmark-infer-amp-nchw-pt291-cu130-5090.csv",
    "RTX PRO 6000": "benchmark-infer-amp-nchw-pt291-cu130-pro6000maxq.csv",
}
# Every 7th model (by name) that is in all files is used. Of every four of these models, three are
# fitted and one is reported.
EVERY, REPORTED = 7, 4


def published(directory: Path) -> tuple[list[Cell], list[str]]:
    """Returns the measurements in timm's files, and the names of the models to report."""
    found: list[Cell] = []
    for place, name in PUBLISHED.items():
        with (directory / name).open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if not (row["infer_macts"] and row["infer_gmacs"]):
                    continue  # The file has no operation counts.
                batch, size = int(row["infer_batch_size"]), 4.0 if "fp32" in name else 2.0
                moved = float(row["param_count"]) + 2.0 * batch * float(row["infer_macts"])
                found.append(Cell(
                    model=f"{row['model']} {row['infer_img_size']}", family=row["model"].split("_")[0].rstrip("0123456789"),
                    shape="", runtime="f32" if size == 4.0 else "16 bits", place=(place,),
                    flops=2e9 * batch * float(row["infer_gmacs"]), bytes=size * 1e6 * moved, calls=0.0,
                    seconds=float(row["infer_step_time"]) / 1e3,
                ))
    count = {name: sum(one.model == name for one in found) for name in {one.model for one in found}}
    chosen = sorted(name for name, places in count.items() if places == len(PUBLISHED))[::EVERY]
    reported = chosen[REPORTED - 1 :: REPORTED]
    found = [one for one in found if one.model in set(chosen)]
    roof_of_passes(found, reported)
    return found, reported


def covariance(left: list[Cell], right: list[Cell], s: dict) -> numpy.ndarray:
    """Returns the covariance matrix between two lists of cells, without noise."""

    def same(name):
        numbers: dict = {}
        a, b = ([numbers.setdefault(getattr(one, name), len(numbers)) for one in side] for side in (left, right))
        return numpy.equal.outer(a, b).astype(float)

    size = numpy.subtract.outer(*([math.log(one.expected(s) * one.peak) for one in side] for side in (left, right)))
    near = numpy.exp(-0.5 * (size / s["length"]) ** 2)
    family, runtime, place, model = (same(name) for name in ("family", "runtime", "place", "model"))
    measured = numpy.logical_and.outer(*([one.measured for one in side] for side in (left, right)))
    return (
        s["any"] ** 2 + s["roof"] ** 2 * measured + s["runtime"] ** 2 * runtime + s["place"] ** 2 * place
        + near * (s["size"] ** 2 + s["size_runtime"] ** 2 * runtime + s["size_place"] ** 2 * place + family * (s["family"] ** 2 + s["family_runtime"] ** 2 * runtime))
        + model * (s["model"] ** 2 + s["model_runtime"] ** 2 * runtime)
    )


def residuals(some: list[Cell], s: dict) -> numpy.ndarray:
    """Returns the logarithm of measured over expected time for each cell."""
    return numpy.array([math.log(one.seconds / one.expected(s)) for one in some])


def predicted(known: list[Cell], wanted: list[Cell], s: dict):
    """Predicts the times of the cells `wanted` from the measured cells `known`.

    Returns:
        The predicted seconds, and the standard deviations of their logarithms.
    """
    if not known:
        raise ValueError("no known cells to predict from")
    own = covariance(known, known, s) + s["noise"] ** 2 * numpy.eye(len(known))
    cross = covariance(wanted, known, s)
    solved = numpy.linalg.solve(own, cross.T)
    mean = solved.T @ residuals(known, s)
    variance = numpy.diag(covariance(wanted, wanted, s)) + s["noise"] ** 2 - numpy.einsum("ij,ji->i", cross, solved)
    seconds = numpy.array([one.expected(s) for one in wanted]) * numpy.exp(mean)
    return seconds, numpy.sqrt(numpy.maximum(variance, 1e-9))


def nearest(known: list[Cell], wanted: list[Cell]) -> numpy.ndarray:
    """Predicts each time from the utilization of the model closest in size, of the same family at the same place."""
    found = []
    for one in wanted:
        same = [k for k in known if k.family == one.family and k.place == one.place]
        best = min(same, key=lambda k: abs(math.log(k.flops / one.flops)), default=None)
        found.append(one.roofline() * (best.seconds / best.roofline() if best else 1.0))
    return numpy.array(found)


def errors(seconds, wanted: list[Cell]) -> numpy.ndarray:
    """Returns the relative errors of the predicted `seconds`."""
    true = numpy.array([one.seconds for one in wanted])
    return numpy.abs(seconds - true) / true


# Ways to form the blocks that are left out: a model everywhere, a model at one place,
# or a whole place.
BLOCKS = (lambda one: one.model, lambda one: (one.model, one.place), lambda one: one.place)


def left_out(some: list[Cell], s: dict, block_of) -> tuple[float, numpy.ndarray]:
    """Predicts each block from all others; returns the total negative log density and the relative errors."""
    inverse = numpy.linalg.inv(covariance(some, some, s) + s["noise"] ** 2 * numpy.eye(len(some)))
    y = residuals(some, s)
    weighed, total, off = inverse @ y, 0.0, numpy.zeros(len(some))
    blocks: dict = {}
    for index, one in enumerate(some):
        blocks.setdefault(block_of(one), []).append(index)
    for at in map(numpy.array, blocks.values()):
        block = numpy.linalg.inv(inverse[numpy.ix_(at, at)])
        off[at] = block @ weighed[at]
        variance = numpy.diag(block)
        total += 0.5 * float(numpy.sum(off[at] ** 2 / variance + numpy.log(variance)))
    return total, numpy.abs(numpy.exp(-off) - 1.0)


def score(some: list[Cell], s: dict) -> float:
    """Returns the total negative log density over the three ways to form blocks."""
    return sum(left_out(some, s, block_of)[0] for block_of in BLOCKS)


def fit(sets: list[list[Cell]]) -> dict:
    """Finds the constants that maximize the likelihood of left-out blocks, by a seeded random search."""
    generator, best = numpy.random.default_rng(20_231), dict(CONSTANTS)
    least, step = sum(score(some, best) for some in sets), 0.5
    for _ in range(STEPS):
        step = max(0.05, step * 0.993)
        tried = {name: value * math.exp(step * generator.normal()) if generator.random() < 0.3 else value for name, value in best.items()}
        tried["roof"] = best["roof"]  # These sets have no measured peaks; the subcommand `roof` evaluates it.
        tried["noise"] = max(tried["noise"], 0.02)
        tried = {name: value if name in ("call_us", "length") else min(value, 3.0) for name, value in tried.items()}
        found = sum(score(some, tried) for some in sets)
        if found < least:
            best, least = tried, found
    return best


def figures(name: str, off: numpy.ndarray, covered: float | None = None):
    """Prints a row of a table of docs/recommendation.md."""
    said = "" if covered is None else f"{100 * covered:.0f} %"
    print(f"| {name} | {len(off)} | {100 * numpy.median(off):.0f} % | {100 * numpy.quantile(off, 0.9):.0f} % | {said} |")


def covered(seconds, deviation, wanted: list[Cell]) -> float:
    """Returns the share of cells whose measured time is within the 80 % interval of its prediction."""
    away = numpy.abs(numpy.log(numpy.array([one.seconds for one in wanted]) / seconds))
    return float(numpy.mean(away <= EIGHT_IN_TEN * deviation))


def triples(seconds, deviation, wanted: list[Cell]):
    """Returns how often the fastest of three places is predicted correctly.

    Returns:
        The number of triples, and four shares: the predicted place is the fastest; it is at most 5 %
        slower than the fastest; its interval is below those of the other two places; and, of these,
        it is the fastest.
    """
    by_case: dict = {}
    for one, time, spread in zip(wanted, seconds, deviation):
        by_case.setdefault((one.model, one.shape), []).append((one, time, spread))
    right = near = clear = clear_right = count = 0
    for places in by_case.values():
        for three in itertools.combinations(places, 3):
            first, *others = sorted(three, key=lambda one: one[1])
            fastest = min(three, key=lambda one: one[0].seconds)
            is_right, count = first is fastest, count + 1
            right += is_right
            # Times within 5 % of the fastest count as equally fast.
            near += first[0].seconds <= 1.05 * fastest[0].seconds
            high = first[1] * math.exp(EIGHT_IN_TEN * first[2])
            if all(time * math.exp(-EIGHT_IN_TEN * spread) > high for _, time, spread in others):
                clear, clear_right = clear + 1, clear_right + is_right
    return count, right / count, near / count, clear / count, clear_right / max(clear, 1)


def report(all_cells: list[Cell], reported: list[str], s: dict):
    """Prints the tables of docs/recommendation.md."""
    wanted = [one for one in all_cells if one.model in reported]
    known = [one for one in all_cells if one.model not in reported]
    places = sorted({one.place for one in all_cells})
    print("| reported models | cells | median | 90 % | in the interval |\n|---|--:|--:|--:|--:|")
    figures("plain roofline", errors(numpy.array([one.roofline() for one in wanted]), wanted))
    figures("nearest size of the family at the place", errors(nearest(known, wanted), wanted))

    def each(name, of_place):
        """Predicts the reported models at each place from the cells that `of_place` returns for it."""
        found = [(ask, *predicted(of_place(place), ask, s)) for place in places for ask in [[o for o in wanted if o.place == place]]]
        asked = [one for ask, _, _ in found for one in ask]
        seconds, deviation = (numpy.concatenate([part[at] for part in found]) for at in (1, 2))
        figures(name, errors(seconds, asked), covered(seconds, deviation, asked))
        return seconds, deviation, asked

    cheapest = {p: sorted((o for o in known if o.place == p), key=lambda o: o.seconds)[:3] for p in places}
    seen = [
        ("model unmeasured", each("model unmeasured; fitted models at the place", lambda _: known)),
        ("model measured elsewhere", each("model measured elsewhere; fitted models at the place", lambda p: known + [o for o in wanted if o.place != p])),
        ("three passes", each("model measured elsewhere; only the three shortest passes at the place", lambda p: cheapest[p] + [o for o in all_cells if o.place != p])),
        ("only peaks", each("model measured elsewhere; only peaks of the place", lambda p: [o for o in all_cells if o.place != p])),
        ("only peaks, model unmeasured", each("model unmeasured; only peaks of the place", lambda p: [o for o in known if o.place != p])),
    ]
    named(seen)
    return seen[0][1]


def named(seen: list):
    """Prints how often the fastest of three places is predicted."""
    print("\n| fastest of three places | triples | predicted | predicted within 5 % of it | clear winner predicted | of these correct |\n|---|--:|--:|--:|--:|--:|")
    for name, (seconds, deviation, asked) in seen:
        count, *shares = triples(seconds, deviation, asked)
        print(f"| {name} | {count} | " + " | ".join(f"{100 * share:.0f} %" for share in shares) + " |")


def spread(machine: str):
    """Prints how much the samples of a pass vary: the longest over the shortest."""
    with (HERE / machine / "times.csv").open(encoding="utf-8") as file:
        found = [(row["threads"], float(row["high_ms"]) / float(row["low_ms"]) - 1.0) for row in csv.DictReader(file)]
    half = {name: numpy.median([one for threads, one in found if name in ("all", threads)]) for name in ("all", "1", "2")}
    print(f"\nhalf of {len(found)} passes spread by more than " + ", ".join(f"{100 * one:.0f} % ({name})" for name, one in half.items()))


def roof_likelihood(there: list[Cell], here: list[Cell], reported: list[str]):
    """Prints the negative log density of the times on machine `here`, predicted by models fitted on machine `there`.

    Peaks are measured on `there`, and derived from passes on `here`.
    """
    known, wanted = ([one for one in some if one.model not in reported] for some in (there, here))
    print("| roof | negative log density |\n|---|--:|")
    for roof in (0.0, 0.3, 0.5, 0.7, 0.85, 1.0, 1.2):
        s = CONSTANTS | {"roof": roof}
        own = covariance(known, known, s) + s["noise"] ** 2 * numpy.eye(len(known))
        cross = covariance(wanted, known, s)
        solved = numpy.linalg.solve(own, cross.T)
        off = residuals(wanted, s) - solved.T @ residuals(known, s)
        left = covariance(wanted, wanted, s) + s["noise"] ** 2 * numpy.eye(len(wanted)) - cross @ solved
        print(f"| {roof} | {0.5 * (off @ numpy.linalg.solve(left, off) + numpy.linalg.slogdet(left)[1]):.1f} |")


def across(there: list[Cell], here: list[Cell], reported: list[str], s: dict):
    """Prints the error on machine `here`, with known peaks but few or no times, predicted from machine `there`."""
    fitted, wanted = ([one for one in some if (one.model in reported) is is_wanted] for some, is_wanted in ((there, False), (here, True)))
    places = sorted({one.place for one in here})
    cheapest = [one for place in places for one in sorted((o for o in here if o.place == place and o.model not in reported), key=lambda o: o.seconds)[:3]]
    print("| reported models | cells | median | 90 % | in the interval |\n|---|--:|--:|--:|--:|")
    figures("plain roofline", errors(numpy.array([one.roofline() for one in wanted]), wanted))
    seen = []

    def each(name, known):
        seconds, deviation = predicted(known, wanted, s)
        figures(name, errors(seconds, wanted), covered(seconds, deviation, wanted))
        seen.append((name, (seconds, deviation, wanted)))

    ways = (("model unmeasured", fitted), ("model on the other machine", there))
    for name, known in ways:
        each(f"{name}, only peaks here", known)
    each("model on the other machine, three passes of other models here", there + cheapest)
    roof_of_passes(here, reported)
    for name, known in ways:
        each(f"{name}, peaks from fitted models on both", known)
    named(seen)


def by_family(seconds, asked: list[Cell]):
    """Prints the error by family."""
    print("\n| model unmeasured, by family | reported | median | worst |\n|---|---|--:|--:|")
    for family, model in zip(PLAN["families"], PLAN["reported"]):
        off = errors(seconds, asked)[[index for index, one in enumerate(asked) if one.family == family]]
        if not len(off):
            print(f"| {family} | {model} | not measured | |")
            continue
        print(f"| {family} | {model} | {100 * numpy.median(off):.0f} % | {100 * off.max():.0f} % |")


# Machine whose fitted models are used to fit the constants.
FITTED = "zen-3"
# Every 3rd of the published fitted models is used to fit the constants: the work grows with the
# cube of their number.
THINNED = 3


def fitted_sets(directory: Path) -> list[list[Cell]]:
    """Returns the sets of cells on which the constants are fitted."""
    found, reported = published(directory)
    names = sorted({one.model for one in found} - set(reported))[::THINNED]
    own = [one for one in cells(FITTED) if one.model not in PLAN["reported"]]
    return [own, [one for one in found if one.model in names]]


def main():
    """Runs the subcommand: `fit DIR`, `report MACHINE`, `across FROM TO`, `roof FROM TO` or `published DIR`."""
    verb, *given = sys.argv[1:] or [""]
    if verb == "fit" and given:
        sets = fitted_sets(Path(given[0]))
        chosen = fit(sets)
        for name, s in (("before", CONSTANTS), ("after", chosen)):
            for some in sets:
                off = left_out(some, s, BLOCKS[0])[1]
                nine = 100 * numpy.quantile(off, 0.9)
                print(f"# {name}: {len(off)} cells, error {100 * numpy.median(off):.1f} % median, {nine:.1f} % 90th percentile")
        print({key: float(f"{value:.3g}") for key, value in chosen.items()})
    elif verb == "published" and given:
        report(*published(Path(given[0])), CONSTANTS)
    elif verb == "report" and given:
        seconds, _, asked = report(cells(given[0]), PLAN["reported"], CONSTANTS)
        by_family(seconds, asked)
        spread(given[0])
    elif verb == "roof" and len(given) == 2:
        roof_likelihood(*map(cells, given), PLAN["reported"])
    elif verb == "across" and len(given) == 2:
        across(*map(cells, given), PLAN["reported"], CONSTANTS)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
