"""`stridescope prove`: whether two LMADs share a cell."""

from __future__ import annotations

import argparse
import json

from compiler.base.errors import UsageError
from compiler.command_line import options
from compiler.command_line.certificates import write_certificate
from compiler.command_line.given import (
    source_text,
)
from compiler.command_line.late import LateParser
from compiler.command_line.printing import verdict
from compiler.command_line.status import OK
from compiler.driver import explanations
from compiler.protocol import (
    proofs,
)
from compiler.protocol.polynomials import step_lines
from compiler.protocol.reading import checked, read_json


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    options.add_certificate(to)
    to.add_argument("file", help="a problem as JSON, or - for standard input")
    to.add_argument("--json", action="store_true", help="answer as the worker would")


def run(args: argparse.Namespace) -> int:
    """Run it and return the exit status. Raises `CompileError`."""
    text = source_text(args.file)
    try:
        problem = read_json(text)
    except UsageError as error:
        raise UsageError(f"The problem is not JSON: {error.message}") from None
    if not isinstance(problem, dict):
        raise UsageError('A problem is {"assumptions": .., "a": .., "b": ..}.')
    given = {name: problem.get(name) for name in ("assumptions", "a", "b")}
    asked = checked(proofs.PROVE, {**given, "certificate": bool(args.certificate)}, own=True)
    answer = explanations.prove(proofs.ProveRequest(**asked))
    if args.certificate:
        write_certificate(args.certificate, answer.pop("certificate"))
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
        return OK
    print(verdict(answer))
    for line in step_lines(answer["steps"]):
        print(line)
    return OK
