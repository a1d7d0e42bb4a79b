"""`stridescope check`: parse and type check a program."""

from __future__ import annotations

import argparse
import json
import sys

from compiler.command_line import options
from compiler.command_line.given import (
    program_of,
)
from compiler.command_line.late import LateParser
from compiler.command_line.status import OK
from compiler.driver import checking
from compiler.protocol import (
    programs,
)


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    options.add_common(to)


def run(args: argparse.Namespace) -> int:
    """Run it and return the exit status. Raises `CompileError`."""
    answer = checking.check(programs.CheckRequest(*program_of(args)))
    if args.json:
        print(json.dumps(answer))
        return OK
    for warning in answer["warnings"]:
        print(f"{args.file}:{warning['rendered']}", file=sys.stderr)
    for entry in answer["entries"]:
        params = " ".join(
            f"({n}: {t})" for n, t in zip(entry["names"], entry["params"], strict=True)
        )
        print(f"entry {entry['name']} {params} : {', '.join(entry['results'])}")
    return OK
