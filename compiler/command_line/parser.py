"""Build the argument parser, for all commands or for the one that is called."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from compiler.command_line.late import LateParser
from compiler.command_line.serving import serve
from compiler.command_line.table import COMMANDS


class _Version(argparse.Action):
    """Prints the version; the server, which records it in links, knows it."""

    def __call__(self, *_: object) -> NoReturn:
        serve(["--version"])


def parser(given: Sequence[str] | None = None) -> LateParser:
    """Build a parser with the options of the command in `given`, or of all commands."""
    made = LateParser(
        prog="stridescope", description="A compiler explorer for data-parallel functional arrays."
    )
    made.add_argument("--version", action=_Version, nargs=0, help="print the exact version")
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for one in COMMANDS:
        to = commands.add_parser(one.name, help=one.help, add_help=not one.by_server)
        if not one.by_server and (given is None or one.name in given):
            one.module.add_options(to)
    return made
