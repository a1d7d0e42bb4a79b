"""`stridescope accesses`: predict or observe the cost of each memory access on a GPU."""

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
from compiler.command_line.status import OK, WRONG_PROGRAM
from compiler.driver import explanations
from compiler.explain.accesses import told as told_accesses
from compiler.protocol import (
    accesses,
)


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    options.add_common(to)
    options.add_switches_to_help(to)
    options.add_maybe_inputs(to)
    to.add_argument(
        "--predict", action="store_true", help="run nothing: sizes may be as large as on a GPU"
    )
    to.add_argument(
        "--deadline", type=float, default=60.0, metavar="SECONDS", help="of the run; default: 60"
    )


def run(args: argparse.Namespace) -> int:
    """Print the accesses, the most wasteful first; return 1 if the program fails or faults."""
    program = program_of(args)
    of = on_inputs(program, args, input_bytes(args.input) if args.input else None)
    answer = (
        explanations.accesses(accesses.AccessesRequest(*program, **of))
        if args.predict
        else explanations.observe(accesses.ObserveRequest(*program, **of, seconds=args.deadline))
    )
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
    else:
        for line in told_accesses(answer):
            print(line)
    return WRONG_PROGRAM if answer["faults"] or (answer["observed"] and answer["because"]) else OK
