"""The command line: `stridescope COMMAND`, as `arguments.py` lists them.

A worker starts here too, and holds nothing that only the other commands need; the server starts
before the compiler is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from compiler.serving import links, serve


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the answer is the exit status."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["serve"]:
        serve(given[1:])
    if given[:1] == ["links"]:
        links(given[1:])
    return _compile(given, argv is None)


def _compile(given: Sequence[str], is_own: bool) -> int:
    """Run a command of the compiler. `is_own`: the process ends with it."""
    worker = import_module("compiler.worker")
    args = import_module("compiler.arguments").parser().parse_args(given)
    if args.command == "worker":
        if args.with_parent:
            worker.end_with_parent()
        worker.serve(sys.stdin.buffer, sys.stdout.buffer)
        return 0
    if is_own:
        worker.seldom_look_for_garbage()
    status: int = import_module("compiler.commands").run(args)
    return status


if __name__ == "__main__":
    sys.exit(main())
