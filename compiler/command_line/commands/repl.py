"""`stridescope repl`: evaluate expressions, one line after the other."""

from __future__ import annotations

import argparse

from compiler.command_line import options, repl
from compiler.command_line.late import LateParser
from compiler.command_line.status import OK


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    to.add_argument("file", nargs="?", default="", help="a program, whose definitions they use")
    to.add_late_choice("--backend", options.RUNNERS, default="ref")
    to.set_defaults(json=False)


def run(args: argparse.Namespace) -> int:
    """Run it and return the exit status. Raises `CompileError`."""
    with repl.Session(args.backend) as session:
        if args.file:
            session.load(args.file)
        repl.serve(session)
    return OK
