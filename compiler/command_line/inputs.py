"""Make the inputs of an entry point from a file, standard input, or at random."""

from __future__ import annotations

import argparse
import sys

from compiler.command_line.given import (
    Program,
    input_bytes,
    numbers,
)
from compiler.driver import api
from compiler.ir import values
from compiler.lower.external_values import show as show_values
from compiler.protocol.kinds import Json, OfProgram


def inputs_of(args: argparse.Namespace, asked: OfProgram) -> list[values.Value]:
    """Return the inputs of the entry point."""
    if args.generate:
        sizes = numbers("--generate", args.generate)
        return api.random_inputs(asked, args.entry, sizes, args.seed).values
    return api.inputs(asked, args.entry, given_inputs(args))


def given_inputs(args: argparse.Namespace) -> bytes:
    """Read inputs (text or binary) from a file or standard input."""
    return input_bytes(args.input) if args.input else sys.stdin.buffer.read()


def on_inputs(program: Program, args: argparse.Namespace, data: bytes | None) -> Json:
    """Return a request's fields for an entry point, with its inputs if there are any."""
    given = None
    if data is not None:
        whole = OfProgram(*program)
        inputs = api.inputs(whole, args.entry, data)
        given = "\n".join(show_values(api.outside(whole, args.entry).params, inputs))
    sizes = numbers("--generate", args.generate or [])
    return {"entry": args.entry, "input": given, "seed": args.seed, "sizes": sizes}
