"""`stridescope bounds`: list bounds checks as proved, hoisted, or made each time."""

from __future__ import annotations

import argparse
import json

from compiler.command_line import options
from compiler.command_line.given import (
    program_of,
)
from compiler.command_line.late import LateParser
from compiler.command_line.printing import place_text
from compiler.command_line.status import OK
from compiler.driver import explanations
from compiler.protocol import (
    proofs,
)


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    options.add_common(to)
    options.add_switches_to_help(to)
    to.add_argument("--entry", default="", help="compile only this entry point")


def run(args: argparse.Namespace) -> int:
    """Run it and return the exit status. Raises `CompileError`."""
    answer = explanations.bounds(proofs.BoundsRequest(*program_of(args)))
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
        return OK
    if not answer["accesses"]:
        print("The program has no index, slice or update, so that nothing is checked.")
    for access in answer["accesses"]:
        place = place_text(access["src"])
        print(f"{place}: {access['kind']} {access['state']}: {access['because']}")
        for claim in access["claims"]:
            print(f"  {claim['says']}" + (", since" if claim["facts"] else ""))
            for fact in claim["facts"]:
                print(f"    {fact}")
        for part in access["missing"]:
            print(f"  {part} is not proved")
    return OK
