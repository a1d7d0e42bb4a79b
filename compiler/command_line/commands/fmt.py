"""`stridescope fmt`: format programs in their files."""

from __future__ import annotations

import argparse

from compiler.command_line.formatting import format_files
from compiler.command_line.late import LateParser
from compiler.command_line.status import OK, WRONG_PROGRAM


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    to.add_argument("files", nargs="+", metavar="FILE|FOLDER|-", help="programs; - is a filter")
    to.add_argument("--check", action="store_true", help="write nothing; fail if one would change")
    to.add_argument("--diff", action="store_true", help="write nothing; print what would change")
    to.add_argument(
        "--width", type=int, default=100, choices=(80, 100), help="of a line; default: 100"
    )


def run(args: argparse.Namespace) -> int:
    """Run it and return the exit status. Raises `CompileError`."""
    args.file, args.json = args.files[0], False  # for errors
    well = format_files(args.files, args.check, args.diff, args.width)
    return OK if well else WRONG_PROGRAM
