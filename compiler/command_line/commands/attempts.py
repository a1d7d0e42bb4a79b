"""`stridescope attempts`: list arrays that are built in place, and reasons for the others."""

from __future__ import annotations

import argparse
import json

from compiler.command_line import options
from compiler.command_line.certificates import certify
from compiler.command_line.given import (
    program_of,
)
from compiler.command_line.late import LateParser
from compiler.command_line.printing import places_text, verdict
from compiler.command_line.status import OK
from compiler.driver import api, explanations
from compiler.driver.helping_switches import helping
from compiler.protocol import (
    proofs,
)
from compiler.protocol.kinds import OfProgram
from compiler.protocol.polynomials import in_turn, shown_cells, step_lines


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    options.add_common(to)
    options.add_certificate(to)
    options.add_switches_to_help(to)
    to.add_argument("--entry", default="", help="compile only this entry point")
    to.add_argument("--proofs", action="store_true", help="print the proofs as well")
    to.add_argument(
        "--try-switches",
        action="store_true",
        help="compile again without each rule that was at work, and tell which was in the way",
    )


def run(args: argparse.Namespace) -> int:
    """Run it and return the exit status. Raises `CompileError`."""
    program = program_of(args)
    answer = explanations.attempts(proofs.AttemptsRequest(*program))
    certify(program, args)
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
        return OK
    if not answer["attempts"]:
        print("No array is made that is then copied to a place, so that nothing is attempted.")
    switches = helping(api.compilation(OfProgram(*program))) if args.try_switches else {}
    for attempt in answer["attempts"]:
        place = places_text(attempt["src"])
        outcome = "done" if attempt["done"] else f"fails at condition {attempt['condition']}"
        hint = f" {attempt['hint']}" if attempt["hint"] else ""
        print(f"{place}: {attempt['rule']} {outcome}: {attempt['because']}{hint}")
        if attempt["way_out"]:
            print(f"  {attempt['way_out']['says']} {attempt['way_out']['text'].strip()}")
        for rule in switches.get(attempt["number"], ()):
            print(f"  With `--disable {rule}` it is done.")
        for pair in attempt["obligations"]:
            spell = in_turn(attempt["names"])
            both = (shown_cells(pair[which], spell) for which in ("write", "use"))
            print(f"  {'  and  '.join(both)}")
            print(f"    {pair['why']}: {verdict(pair, spell)}")
            for line in step_lines(pair["steps"], spell) if args.proofs else ():
                print(f"      {line}")
    return OK
