"""`stridescope verify`: check a certificate with the checker alone."""

from __future__ import annotations

import argparse
import json
import sys

from compiler.algebra import checker
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
    to.add_argument("--json", action="store_true", help="the claims as JSON")


def run(args: argparse.Namespace) -> int:
    """Check a certificate with the checker alone, and print its claims. Raises InputError."""
    data = (
        sys.stdin.buffer.read(MOST_BYTES)
        if args.file == "-"
        else input_bytes(args.file, MOST_BYTES)
    )
    claims: list[str] = []
    try:
        for claim in checker.verify(checker.read(data)):
            claims.append(claim)
            if not args.json:
                print(claim)
    except checker.Refused as why:
        raise InputError(str(why)) from None
    number = f"{len(claims)} claim{'s' * (len(claims) != 1)}"
    print(json.dumps({"ok": True, "claims": claims}) if args.json else f"{number} shown.")
    return OK
