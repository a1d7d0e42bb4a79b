"""`stridescope test`: run the tests of programs."""

from __future__ import annotations

import argparse

from compiler.command_line import options
from compiler.command_line.given import (
    at_least,
    tuning_of,
)
from compiler.command_line.late import LateParser
from compiler.command_line.status import OK, WRONG_PROGRAM
from compiler.testing import suite


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    options.add_testing(to)
    to.add_late_choice("--backend", options.RUNNERS, default="c")
    to.add_argument("--jobs", type=int, default=0, metavar="N", help="programs at a time")
    to.add_argument(
        "--limit",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="of a test, compiling included; default: any",
    )
    to.add_argument("--structure", action="store_true", help="only tests of structure")
    to.add_argument(
        "--any-error", action="store_true", help="where an error is expected, take any message"
    )
    to.add_argument("--verify", action="store_true", help="check the program after every pass")
    to.add_argument("--json", action="store_true", help="outcomes as JSON")


def run(args: argparse.Namespace) -> int:
    """Run it and return the exit status. Raises `CompileError`."""
    at_least(args.jobs, "--jobs", 0)
    at_least(args.limit, "--limit", 0)
    wanted = suite.Wanted(
        args.backend,
        seconds=args.deadline,
        entry=args.entry,
        exclude=frozenset(args.exclude),
        structure=args.structure,
        any_words=args.any_error,
        unsafe=args.unsafe,
        enabled=tuple(args.enable),
        disabled=tuple(args.disable),
        verify=args.verify,
        tuning=tuning_of(args),
        limit=args.limit,
    )
    return OK if suite.main(args.paths, wanted, args.jobs, args.json) else WRONG_PROGRAM
