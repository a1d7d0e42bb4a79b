"""Run a command, and report its errors with their exit status."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys

from compiler.base.deadline import check_deadline
from compiler.base.errors import InputError
from compiler.base.stack import seldom_look_for_garbage as seldom_look_for_garbage
from compiler.base.stack import with_deep_stack
from compiler.command_line.given import text_or_nothing
from compiler.command_line.status import INTERNAL, INTERRUPTED, OK, WRONG_PROGRAM, WRONG_USAGE
from compiler.command_line.table import BY_NAME, Command
from compiler.driver.answers import as_error, failure


def run(args: argparse.Namespace) -> int:
    """Run one command; return its exit status."""
    command = BY_NAME[args.command]
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of files may be no text
    if not command.on_deep_stack:
        return _guarded(command, args)
    status = [INTERNAL]

    def work() -> None:
        status[0] = _guarded(command, args)

    try:
        with_deep_stack(work)
    except KeyboardInterrupt:  # the work goes on in its thread
        os._exit(INTERRUPTED)
    return status[0]


def _guarded(command: Command, args: argparse.Namespace) -> int:
    try:
        if hasattr(args, "deadline"):
            check_deadline(args.deadline, "--deadline")
        status: int = command.module.run(args)
        return status
    except BrokenPipeError:
        # The reader has gone, as `head` does: nothing is left to say, not even on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except Exception as problem:
        error = as_error(problem)
    source, files = text_or_nothing(args.file), getattr(args, "texts", {})
    if args.json:
        print(json.dumps(failure(error, source, files), ensure_ascii=False))
    else:
        for e in (error, *error.others):
            print(e.render(source, files, args.file), file=sys.stderr)
    if error.kind == "usage" and not isinstance(error, InputError):
        return WRONG_USAGE
    return INTERNAL if error.kind == "internal" else WRONG_PROGRAM
