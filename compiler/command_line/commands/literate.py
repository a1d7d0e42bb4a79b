"""`stridescope literate`: make a page of a program's text, code and results."""

from __future__ import annotations

import argparse

from compiler.command_line import options
from compiler.command_line.given import (
    options_of,
)
from compiler.command_line.late import LateParser
from compiler.command_line.status import OK, WRONG_PROGRAM
from compiler.notebooks import pages


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    options.add_common(to)
    to.add_argument("--to", default="", metavar="FILE", help="FILE.html, or .md")
    to.add_late_choice("--backend", options.RUNNERS, default="c")
    to.add_argument(
        "--deadline", type=float, default=60.0, metavar="SECONDS", help="of a call; default: 60"
    )


def run(args: argparse.Namespace) -> int:
    """Run it and return the exit status. Raises `CompileError`."""
    path, well = pages.write(args.file, args.to, options_of(args), args.backend, args.deadline)
    print(path)
    return OK if well else WRONG_PROGRAM
