"""`stridescope flow`: print the values of each statement of a stage in a run, step by step."""

from __future__ import annotations

import argparse
import json

from compiler.command_line import options
from compiler.command_line.given import (
    input_bytes,
    program_of,
)
from compiler.command_line.inputs import on_inputs
from compiler.command_line.late import LateParser
from compiler.command_line.status import OK
from compiler.driver import api
from compiler.driver.flows import flowing
from compiler.protocol import (
    flows,
    programs,
)


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    options.add_common(to)
    options.add_switches_to_help(to)
    to.add_argument("--stage", default="", help="one of the core language; default: soa")
    options.add_maybe_inputs(to)


def run(args: argparse.Namespace) -> int:
    """Print the steps, each with its statement's line in the text that `show --stage` prints."""
    program = program_of(args)
    of = on_inputs(program, args, input_bytes(args.input) if args.input else None)
    answer = flowing(flows.FlowRequest(*program, **of, stage=args.stage))
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
        return OK
    stage = args.stage or "soa"
    shown = api.show(programs.ShowRequest(*program, stages=[stage]))["stages"][stage]
    lines = {line["node"]: k for k, line in reversed([*enumerate(shown["lines"] or (), 1)])}
    for step in answer["steps"]:
        given = ", ".join(f"{one['name']} = {one['text']}" for one in step["values"])
        print(f"line {lines.get(step['node'], '-')}: {given or 'no value'}")
        held = [one for one in step["values"] if "block" in one]
        for one, cells in zip(held, step.get("cells", []), strict=True):
            print(f"  {answer['blocks'][one['block']]}: {' '.join(cells)}")
    nothing = "" if answer["steps"] else f"No statement of `{stage}` was run."
    for line in filter(None, (nothing, answer["note"])):
        print(line)
    return OK
