"""The command line: `stridescope COMMAND`, as `arguments.py` lists them.

A worker starts here too, and holds nothing that only the other commands need.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from compiler import worker
from compiler.arguments import parser, serve


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the answer is the exit status."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["serve"]:
        serve(given[1:])
    args = parser().parse_args(given)
    if args.command == "worker":
        if args.with_parent:
            worker.end_with_parent()
        worker.serve(sys.stdin.buffer, sys.stdout)
        return 0
    if argv is None:
        worker.seldom_look_for_garbage()
    status: int = import_module("compiler.commands").run(args)
    return status


if __name__ == "__main__":
    sys.exit(main())
