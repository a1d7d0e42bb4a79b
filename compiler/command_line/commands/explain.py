"""`stridescope explain`: print the meaning of a code or a rule."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from compiler.base.errors import UsageError
from compiler.codes import CODES
from compiler.codes.document import explained
from compiler.command_line.late import LateParser
from compiler.command_line.status import OK
from compiler.driver import rulebook, switches
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.protocol import (
    programs,
)


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    named = "such as T001 or fuse/map-map; default: list all"
    to.add_argument("code", nargs="?", default="", help=named)
    to.add_argument("--json", action="store_true", help="as JSON: codes as a list of objects")
    to.set_defaults(file="")


def run(args: argparse.Namespace) -> int:
    """Print a code or a rule, or list all codes. Raises UsageError."""
    found = CODES.get(args.code.upper())
    if args.code and found is None:
        if args.code in switches.IDS:
            answer = rulebook.rule(programs.RuleRequest(args.code))
            print(json.dumps(answer, ensure_ascii=False) if args.json else rulebook.told(answer))
            return OK
        known = [*CODES, *switches.IDS]
        hint = did_you_mean(args.code, known) or "`stridescope explain` lists all."
        raise UsageError(f"There is no error, warning, pass or rule `{args.code}`.", hint=hint)
    if args.json:
        print(json.dumps([asdict(code) for code in (CODES.values() if not found else [found])]))
    elif found:
        print(explained(found))
    else:
        for code in CODES.values():
            print(f"{code.id}  {code.title}")
        print(*switches.IDS, sep="\n")
    return OK
