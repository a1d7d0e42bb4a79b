"""The autotuner beside a search that knows no trees, as tables 7.1 and 7.2 of the thesis have it.

    python -m bench.tuners [FOLDER] [NAME ..] [--trees N]

Of random trees, with data sets in which amounts do and do not vary: runs of the autotuner, runs of
the search (`testing/search.py`) until its thresholds are as fast within one percent, and how many
times slower they are after as many runs as the autotuner's; medians and the worst of five searches
each. FOLDER is a clone of https://github.com/diku-dk/futhark-benchmarks: its programs of table 7.1
are tuned by times that are predicted for an H200 (`compiler/testing/gpu_predictions.py`), so that
nothing is run; each on the data of its tests, or on arrays of the sizes in table 7.1. With `--trees
0` the figures of trees stay, and with NAMEs those of other programs.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.machine import RESULTS, save
from compiler.base.errors import CompileError
from compiler.base.stack import with_deep_stack
from compiler.driver.disk import read_program
from compiler.explain.device_sheets import BY_ID
from compiler.protocol.kinds import OfProgram
from compiler.testing.autotune import measuring, tuning_inputs
from compiler.testing.gpu_predictions import PredictedProgram
from compiler.testing.tune import Outcome, Run, ThresholdPlace, TuningInput, branches, tune
from testing.search import Search
from testing.tuning_trees import random_tree

SEEDS = range(5)
MOST = 2_000
"""Runs of one search."""
CLOSE = 1.01
PROGRAMS = {
    "Heston": ("misc/heston/heston32.fut", 9, "22.59"),
    "BFAST": ("misc/bfast/bfast.fut", 16, "5.47"),
    "LocVolCalib": ("finpar/LocVolCalib.fut", 2, "4.83"),
    "OptionPricing": ("finpar/OptionPricing.fut", 1, "5.40"),
    "LUD": ("rodinia/lud/lud.fut", 9, "1.42"),
    "Backprop": ("rodinia/backprop/backprop.fut", 1, "3.65"),
    "LavaMD": ("rodinia/lavaMD/lavaMD.fut", 4, "3.67"),
    "NW": ("rodinia/nw/nw.fut", 6, "7.62"),
    "NN": ("rodinia/nn/nn.fut", 3, "3.48"),
    "SRAD": ("rodinia/srad/srad.fut", 4, "5.31"),
    "Pathfinder": ("rodinia/pathfinder/pathfinder.fut", 1, "6.81"),
}
"""By their names in table 7.1: the file, and what is printed: thresholds, and how many times faster
the autotuner is."""


def beside(run: Run, order: Sequence[ThresholdPlace], data_sets: int) -> dict[str, Any]:
    """Both on one program."""
    names = [one.name for one in order]
    found = tune(run, order, [str(number) for number in range(data_sets)])
    runs = sum(found.runs)
    usual = dict.fromkeys(names, 0)
    time = math.fsum(run(k, {**usual, **found.values}).time for k in range(data_sets))
    until, ratios = list[int | None](), list[float]()
    for seed in SEEDS:
        search = Search(run, names, data_sets, seed)
        ratios.append(search.go_on(runs).time / time)
        search.go_on(MOST, time * CLOSE)
        until.append(search.found.until(time * CLOSE))
    reached = [count for count in until if count is not None]
    return {
        "thresholds": len(names),
        "data sets": data_sets,
        "runs": runs,
        "search": statistics.median(reached) if reached else None,
        "never": len(until) - len(reached),
        "slower": [round(statistics.median(ratios), 3), round(max(ratios), 3)],
    }


def of_trees(many: int, *, varies: bool) -> dict[str, Any]:
    """Both on random trees: medians over the trees."""
    rows = []
    for seed in range(many):
        made = random_tree(seed, varies)
        rows.append(beside(made.run, branches(made.forest()), len(made.data_sets)))
    counts = [row["search"] / row["runs"] for row in rows if row["search"] is not None]
    return {
        "trees": many,
        "runs": statistics.median(row["runs"] for row in rows),
        "search, times as many": round(statistics.median(counts), 2),
        "most": round(max(counts), 2),
        "searches that never come as far": sum(row["never"] for row in rows),
        "slower": [
            round(statistics.median(row["slower"][0] for row in rows), 3),
            round(max(row["slower"][1] for row in rows), 3),
        ],
    }


SIZES: dict[str, list[list[Any]]] = {
    "NW": [[np.int32(10), *[np.zeros((side, side), np.int32)] * 2] for side in (2049, 1025)],
    "LUD": [[np.zeros((side, side), np.float32)] for side in (256, 2048)],
}
"""Inputs of the sizes in table 7.1, where tests need data that has to be fetched."""


def of_program(name: str, path: Path) -> dict[str, Any]:
    """Both on a program."""
    program = read_program(path)
    asked = OfProgram(program.source, {}, program.files, program.main)
    one = PredictedProgram(asked, BY_ID["h200"])
    sets = [TuningInput(str(k), "main", args) for k, args in enumerate(SIZES.get(name, []))]
    sets = sets or tuning_inputs(asked, path, measuring("", 1.0, None, 60.0))
    failed = {data.name: one.outcome(data, {}).failure for data in sets}
    sets = [data for data in sets if not failed[data.name]]
    if not sets or not one.order:
        return {"thresholds": len(one.order), "failed": "; ".join(filter(None, failed.values()))}

    def run(number: int, values: Mapping[str, int]) -> Outcome:
        return one.outcome(sets[number], values)

    return beside(run, one.order, len(sets))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", metavar="FOLDER", nargs="?", type=Path)
    parser.add_argument("names", metavar="NAME", nargs="*", help=", ".join(PROGRAMS))
    parser.add_argument("--trees", metavar="N", type=int, default=200, help="0: none")
    given = parser.parse_args()
    if unknown := set(given.names) - PROGRAMS.keys():
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    with_deep_stack(lambda: _all(given))


def _all(given: argparse.Namespace) -> None:
    path = RESULTS / "tuners.json"
    figures: dict[str, Any] = json.loads(path.read_text())["figures"] if path.exists() else {}
    for name, varies in (("amounts that do not vary", False), ("amounts that vary", True)):
        if given.trees:
            figures[name] = of_trees(given.trees, varies=varies)
            print(name, figures[name], flush=True)
    for name in (given.names or PROGRAMS) if given.folder else ():
        file, thresholds, times = PROGRAMS[name]
        try:
            found = of_program(name, given.folder / file)
        except (CompileError, OSError) as error:
            found = {"failed": str(error)}
        figures[name] = {**found, "printed": {"thresholds": thresholds, "times faster": times}}
        print(name, figures[name], flush=True)
        save("tuners", "python -m bench.tuners FOLDER", figures)
    save("tuners", "python -m bench.tuners FOLDER", figures)


if __name__ == "__main__":
    main()
