"""`stridescope export`: print the inequalities of a certificate for another prover."""

from __future__ import annotations

import argparse
import sys

from compiler.algebra import checker
from compiler.algebra.export import FORMATS, exported
from compiler.base.errors import InputError
from compiler.command_line.certificates import MOST_BYTES
from compiler.command_line.given import (
    input_bytes,
)
from compiler.command_line.late import LateParser
from compiler.command_line.status import OK


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    to.add_argument("file", help="a certificate, or - for standard input")
    to.add_argument("--to", required=True, choices=FORMATS)
    to.set_defaults(json=False)


def run(args: argparse.Namespace) -> int:
    """Run it and return the exit status. Raises `CompileError`."""
    data = (
        sys.stdin.buffer.read(MOST_BYTES)
        if args.file == "-"
        else input_bytes(args.file, MOST_BYTES)
    )
    try:
        print(exported(checker.read(data), args.to))
    except checker.Refused as why:
        raise InputError(str(why)) from None
    return OK
