"""`stridescope show`: print stages of the pipeline."""

from __future__ import annotations

import argparse
import json
from typing import get_args

from compiler.command_line import options
from compiler.command_line.certificates import certify
from compiler.command_line.given import (
    Program,
    program_of,
)
from compiler.command_line.late import LateParser
from compiler.command_line.printing import places_text
from compiler.command_line.status import OK
from compiler.driver import api, explanations
from compiler.driver.targets import LISTINGS
from compiler.protocol import (
    listings,
    programs,
    storage,
)
from compiler.protocol.storage import Generation


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    options.add_common(to)
    options.add_certificate(to)
    options.add_switches_to_help(to)
    to.add_argument("--stage", action="append", metavar="ID", help="may be given several times")
    to.add_argument("--entry", default="", help="compile only this entry point")
    to.add_argument("--remarks", action="store_true", help="print what the compiler decided")
    to.add_argument(
        "--index-functions",
        action="append",
        choices=get_args(Generation),
        help="instead of stages: the changes of layout, with index functions as this generation "
        "writes them, and which of them are copies; may be given several times",
    )


def run(args: argparse.Namespace) -> int:
    """Run it and return the exit status. Raises `CompileError`."""
    program = program_of(args)
    if args.index_functions:
        return _index_functions(program, args)
    asked = args.stage or []
    stages = [name for name in asked if name not in LISTINGS]
    answer = api.show(programs.ShowRequest(*program, stages=stages if asked else None))
    for name in asked:
        if name in LISTINGS:
            made = explanations.listing(listings.ListingRequest(*program, listing=name))
            answer["stages"][name] = made["stage"]
    certify(program, args)
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
        return OK
    single = len(answer["stages"]) == 1
    for name, stage in answer["stages"].items():
        if not single:
            print(f"-- {name} ({stage['ms']:.1f} ms)")
        print(stage["text"], end="" if single else "\n")
    if args.remarks:
        for remark in answer["remarks"]:
            place = places_text(remark["src"])
            hint = f" {remark['hint']}" if remark["hint"] else ""
            print(f"{place}: {remark['kind']} {remark['rule']}: {remark['because']}{hint}")
    return OK


def _index_functions(program: Program, args: argparse.Namespace) -> int:
    """Print the changes of layout as the chosen generations of index functions express them."""
    answer = explanations.index_functions(storage.IndexFunctionsRequest(*program))
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
        return OK
    for function in answer["functions"]:
        copies = (f"{function['copies'][way]} ({way})" for way in args.index_functions)
        print(f"{function['name']}: copies {', '.join(copies)}")
        for change in function["changes"]:
            fused = "" if change["in_memory"] else ", fused away"
            print(f"  {places_text(change['src'])}: {change['array']}, {change['does']}{fused}")
            for form in change["forms"]:
                if form["generation"] in args.index_functions:
                    copy = "copy, " if form["copies"] else ""
                    because = f"  -- {form['because']}" if form["because"] else ""
                    cell = f"; [{change['index']}] at {form['cell']}" if form["cell"] else ""
                    text = f"{copy}{form['text'] or 'none'}{cell}"
                    print(f"    {form['generation']}: {text}{because}")
    return OK
