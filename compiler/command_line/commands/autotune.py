"""`stridescope autotune`: find the thresholds with which the tests of a program run fastest."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from compiler.command_line.given import at_least
from compiler.command_line.late import LateChoices, LateParser
from compiler.command_line.status import OK
from compiler.driver.targets import is_gpu
from compiler.explain.device_sheets import BY_ID
from compiler.explain.predicted_times import how_far
from compiler.testing import autotune


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    to.add_argument("file", help="a Futhark program, whose tests give the inputs")
    to.add_argument("--entry", default="", metavar="NAME", help="only on tests of this one")
    to.add_argument(
        "--output", default="", metavar="FILE", help="where to write; default: FILE.tuning"
    )
    to.add_argument(
        "--runs", type=int, metavar="N", help="so many of each; default: until that tells enough"
    )
    to.add_argument(
        "--seconds",
        type=float,
        default=5.0,
        help="for each choice of thresholds, at most; default: 5",
    )
    to.add_argument(
        "--backend",
        choices=("c", "cuda"),
        default="c",
        help="`c` is measured; for `cuda` times are foretold, and nothing runs; default: c",
    )
    to.add_late_choice(
        "--device",
        LateChoices("compiler.explain.device_sheets", "BY_ID"),
        default="h200",
        help="the GPU that times are foretold for; default: h200",
    )
    to.add_argument("--deadline", type=float, default=60.0, metavar="SECONDS", help="of a run")
    to.add_argument("--unsafe", action="store_true", help="honour #[unsafe] and #[scratch]")
    to.set_defaults(json=False)


def run(args: argparse.Namespace) -> int:
    """Run it and return the exit status. Raises `CompileError`."""
    at_least(args.runs, "--runs", 1)
    at_least(args.seconds, "--seconds", 0)
    how = autotune.measuring(args.entry, args.seconds, args.runs, args.deadline)
    path = Path(args.file)
    sheet = BY_ID[args.device] if is_gpu(args.backend) else None
    report = autotune.autotune(path, {"unsafe": args.unsafe}, how, _progress, sheet)
    if report is None:
        print(f"{path}: the program has no thresholds: there is nothing to tune.")
        return OK
    print("\n".join(autotune.told(report)))
    if sheet is not None:
        print(f"Times are foretold for {sheet.name}: {how_far(sheet)}.")
    autotune.write(Path(args.output) if args.output else autotune.tuning_of(path), report.found)
    return OK


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
