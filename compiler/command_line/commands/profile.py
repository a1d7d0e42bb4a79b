"""`stridescope profile`: print the time or the memory traffic of a run by line and kernel."""

from __future__ import annotations

import argparse
import json

from compiler.codegen.c.program import TARGET as C
from compiler.command_line import options
from compiler.command_line.given import (
    program_of,
)
from compiler.command_line.inputs import given_inputs, inputs_of, on_inputs
from compiler.command_line.late import LateParser
from compiler.command_line.status import OK, WRONG_PROGRAM
from compiler.driver import profile
from compiler.protocol import (
    profiles,
)
from compiler.protocol.kinds import OfProgram


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    options.add_common(to)
    options.add_inputs(to)
    to.add_late_choice(
        "--backend",
        options.TARGETS,
        default="c",
        help="of cuda what kernels fetch is counted in a run on the processor, not timed",
    )


def run(args: argparse.Namespace) -> int:
    """Print a profile; return 1 for a CUDA program that faults or gives no result."""
    program = program_of(args)
    if args.backend == C.id:
        asked = OfProgram(*program)
        found = profile.measured(asked, args.entry, inputs_of(args, asked), args.deadline)
    else:
        of = on_inputs(program, args, None if args.generate else given_inputs(args))
        request = profiles.ProfileRequest(
            *program, **of, backend=args.backend, seconds=args.deadline
        )
        found = profile.profiled(request)
    print(json.dumps(found, ensure_ascii=False) if args.json else profile.table(found))
    counts = found.get("counts")
    wrong = counts and counts["observed"] and (counts["faults"] or counts["because"])
    return WRONG_PROGRAM if wrong else OK
