"""`stridescope bench`: measure the tests of programs."""

from __future__ import annotations

import argparse
import sys

from compiler.command_line import benchmark, options
from compiler.command_line.given import (
    at_least,
    tuning_of,
)
from compiler.command_line.late import LateParser
from compiler.command_line.status import OK, WRONG_PROGRAM
from compiler.testing import measuring


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    options.add_testing(to)
    to.add_late_choice("--backend", options.TARGETS, default="c")
    to.add_argument(
        "--runs",
        type=int,
        metavar="N",
        help="so many of each test; default: at least 10, until the interval is narrow",
    )
    to.add_argument(
        "--seconds", type=float, default=60.0, help="for one test, at most; default: 60"
    )
    to.add_argument(
        "--no-convergence",
        action="store_true",
        help="without --runs: do not run until the interval is narrow",
    )
    to.add_argument(
        "--json", dest="results", default="", metavar="FILE", help="as futhark bench writes them"
    )
    to.add_argument("--compare", default="", metavar="FILE", help="such a file from before")
    to.add_late_choice("--against", options.TARGETS, default="", help="another back end")
    to.set_defaults(json=False)


def run(args: argparse.Namespace) -> int:
    """Run it and return the exit status. Raises `CompileError`."""
    at_least(args.runs, "--runs", 1)
    at_least(args.seconds, "--seconds", 0)
    how = measuring.Measuring(
        args.backend,
        args.against,
        runs=args.runs,
        seconds=args.seconds,
        deadline=args.deadline,
        converge=not args.no_convergence,
        entry=args.entry,
        exclude=frozenset(args.exclude),
        unsafe=args.unsafe,
        enabled=tuple(args.enable),
        disabled=tuple(args.disable),
        tuning=tuning_of(args),
    )
    well = benchmark.main(args.paths, how, sys.stdout, args.results, args.compare)
    return OK if well else WRONG_PROGRAM
