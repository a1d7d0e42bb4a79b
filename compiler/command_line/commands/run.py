"""`stridescope run`: run an entry point, or evaluate an expression."""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial

from compiler.base.deadline import Deadline, check_deadline
from compiler.base.errors import UsageError
from compiler.codegen.c.program import TARGET as C
from compiler.command_line import options
from compiler.command_line.certificates import certify
from compiler.command_line.given import (
    Program,
    options_of,
    pairs,
    program_of,
    tuning_of,
)
from compiler.command_line.inputs import given_inputs, inputs_of
from compiler.command_line.late import LateParser
from compiler.command_line.printing import places_text
from compiler.command_line.status import OK
from compiler.driver import api, expressions, streaming
from compiler.driver.tuning_file import with_tuning
from compiler.frontend.files import FLATPACK
from compiler.ir import values
from compiler.lower.external_values import show as show_values
from compiler.protocol import (
    programs,
    runs,
)
from compiler.protocol.kinds import OfProgram


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    options.add_common(to, nargs="?", default="")
    options.add_certificate(to)
    options.add_tuning(to)
    options.add_inputs(to)
    options.add_switches_to_help(to)
    to.add_argument(
        "-e",
        "--expression",
        metavar="EXPR",
        help="evaluate this over the program's definitions instead; the program may be left out",
    )
    to.add_late_choice("--backend", options.RUNNERS, default="c")
    to.add_argument("--stage", default="", metavar="ID", help="with --backend ref")
    to.add_argument(
        "--sanitize",
        action="store_true",
        help="under sanitisers: each access outside of its block is reported with its place",
    )
    to.add_argument(
        "--data",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="of FlatPack: a parameter, or the file of a `GetData`, is this file of packed "
        "elements, or an .npy file, and is read window by window; may be given several times",
    )
    to.add_argument("--binary", action="store_true", help="print results in the binary format")
    to.add_argument(
        "--time",
        action="store_true",
        help="print the run time, and what was copied, to standard error",
    )


def run(args: argparse.Namespace) -> int:
    """Run it and return the exit status. Raises `CompileError`."""
    if args.expression is not None:
        return _evaluate(args)
    if not args.file:
        raise UsageError("Which program is to be run is missing.")
    program = program_of(args)
    if args.data:
        return _stream(program, args)
    asked = with_tuning(OfProgram(*program), args.file, tuning_of(args))
    certify(program, args)
    if args.generate:
        api.check_present(args.backend)
    check_deadline(args.deadline)
    given = partial(inputs_of, args, asked)
    inputs = None if args.generate else given()  # who types them may take long
    deadline = Deadline.of(args.deadline)
    if inputs is None:
        inputs = deadline.within(given, api.INPUTS, api.FEWER)
    seen = api.traced(asked, args.entry, inputs, deadline.left(), partial(_traced, args.file))
    if seen and seen["note"]:
        print(seen["note"], file=sys.stderr)
    outcome = api.run_values(asked, args.entry, inputs, args.backend, args.stage, deadline)
    if args.binary:
        sys.stdout.buffer.write(values.to_binary(outcome["values"]))
    else:
        for line in show_values(api.outside(asked, args.entry).results, outcome["values"]):
            print(line)
    if "note" in outcome:
        print(outcome["note"], file=sys.stderr)
    if args.time:
        print(f"{outcome['ms']:.3f} ms ({outcome['backend']})", file=sys.stderr)
        for kind in outcome.get("copies", ()):
            print(
                f"copied as {kind['kind']}: {kind['count']}x, {kind['bytes']} bytes",
                file=sys.stderr,
            )
    return OK


def _stream(program: Program, args: argparse.Namespace) -> int:
    """Run a FlatPack program on files that are read window by window."""
    source, options, files, main = program
    given = ("entry", "stage", "generate", "certificate", "sanitize", "tuning")
    if other := next((name for name in given if getattr(args, name)), ""):
        raise UsageError(f"`--{other}` does not go together with `--data`.")
    if not main.endswith(FLATPACK) or args.backend != C.id:
        raise UsageError("`--data` is for FlatPack programs, whose names end in `.fp`, run as C.")
    data = dict(pairs("--data", args.data, "NAME=FILE"))
    chosen = api.options_from(options, files, main)
    done = streaming.run(
        source,
        chosen,
        data,
        lambda: given_inputs(args),
        args.deadline,
    )
    if args.binary:
        sys.stdout.buffer.write(values.to_binary(done.values))
    else:
        for value in done.values:
            print(values.show(value))
    if args.time:
        read, most = done.read_bytes / 1e6, done.peak_bytes / 1e6
        print(
            f"{done.ms:.3f} ms for {read:.1f} MB in {done.windows} windows, {done.readings} "
            f"reading{'s' * (done.readings != 1)}, {most:.1f} MB of memory",
            file=sys.stderr,
        )
    return OK


def _evaluate(args: argparse.Namespace) -> int:
    """Evaluate an expression."""
    given = ("entry", "stage", "input", "generate", "binary", "certificate")
    if other := next((name for name in given if getattr(args, name)), ""):
        raise UsageError(f"`--{other}` does not go together with `--expression`.")
    program = program_of(args) if args.file else ("", options_of(args), {}, "")
    asked = runs.EvalRequest(
        *program, expression=args.expression, backend=args.backend, deadline=args.deadline
    )
    answer = expressions.evaluated(asked)
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
        return OK
    print(answer["output"] or f"{answer['type']}")
    if "note" in answer:
        print(answer["note"], file=sys.stderr)
    if args.time:
        print(f"{answer['ms']:.3f} ms ({answer['backend']})", file=sys.stderr)
    return OK


def _traced(file: str, place: programs.Traced, text: str) -> None:
    """Print a traced value as it arrives."""
    print(f"{file}:{places_text(place['src'])}: {place['function']}: {text}", file=sys.stderr)
