"""`stridescope doc`: make pages of HTML from a library's comments."""

from __future__ import annotations

import argparse

from compiler.command_line.documentation import write_pages
from compiler.command_line.late import LateParser
from compiler.command_line.status import OK


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    to.add_argument("folder", metavar="FOLDER", help="with the programs of the library")
    to.add_argument("--to", required=True, metavar="FOLDER", help="where the pages are put")
    to.set_defaults(file="", json=False)


def run(args: argparse.Namespace) -> int:
    """Run it and return the exit status. Raises `CompileError`."""
    for path in write_pages(args.folder, args.to):
        print(path)
    return OK
