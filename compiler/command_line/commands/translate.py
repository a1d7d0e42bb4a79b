"""`stridescope translate`: print a FlatPack program in Futhark."""

from __future__ import annotations

import argparse
import json

from compiler.command_line import options
from compiler.command_line.given import (
    program_of,
)
from compiler.command_line.late import LateParser
from compiler.command_line.status import OK
from compiler.driver import api
from compiler.protocol import (
    programs,
)


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    options.add_common(to)


def run(args: argparse.Namespace) -> int:
    """Run it and return the exit status. Raises `CompileError`."""
    answer = api.translate(programs.TranslateRequest(*program_of(args)))
    print(json.dumps(answer, ensure_ascii=False) if args.json else answer["text"].rstrip("\n"))
    return OK
