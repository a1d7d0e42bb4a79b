"""`stridescope worker`: answer JSON requests on standard input, line by line."""

from __future__ import annotations

import argparse
import sys

from compiler.command_line.late import LateParser
from compiler.command_line.status import OK
from compiler.driver import worker


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    to.add_argument(
        "--with-parent",
        action="store_true",
        help="be killed when the thread that started this process ends (on Linux)",
    )


def run(args: argparse.Namespace) -> int:
    """Answer requests until the input ends."""
    if args.with_parent:
        worker.end_with_parent()
    worker.serve(sys.stdin.buffer, sys.stdout.buffer)
    return OK
