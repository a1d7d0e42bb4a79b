"""`stridescope prove`: decide whether two LMADs share a cell."""

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
from compiler.driver import explanations, three_ways
from compiler.protocol import (
    proofs,
)
from compiler.protocol.kinds import Json
from compiler.protocol.polynomials import procedure_lines, shown_sentence, step_lines
from compiler.protocol.reading import checked, read_json


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    options.add_certificate(to)
    to.add_argument("file", help="a problem as JSON, or - for standard input")
    to.add_argument(
        "--no-overlap",
        action="store_true",
        help="the steps of the thesis' procedure, beside this prover and Z3",
    )
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
    if args.no_overlap:
        return _three_ways(given, as_json=args.json)
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


def _three_ways(given: Json, *, as_json: bool) -> int:
    """Print the verdicts of the thesis' procedure, of this prover and of Z3."""
    asked = checked(proofs.NO_OVERLAP, given, own=True)
    answer = three_ways.three_ways(proofs.NoOverlapRequest(**asked))
    if as_json:
        print(json.dumps(answer, ensure_ascii=False))
        return OK
    thesis, ours, z3 = answer["thesis"], answer["ours"], answer["z3"]
    verdict_of = "disjoint" if thesis["disjoint"] else "unknown"
    rows = (
        ("NOOVERLAP", verdict_of, shown_sentence(thesis["because"]), thesis["ms"]),
        ("Stridescope", ours["verdict"], ours["because"], ours["ms"]),
        ("Z3", z3["verdict"], z3["because"], z3["ms"]),
    )
    for name, said, because, ms in rows:
        print(f"{name:12} {said:9} {ms:9.2f} ms  {because}".rstrip())
    for line in procedure_lines(thesis["steps"]):
        print(line)
    return OK
