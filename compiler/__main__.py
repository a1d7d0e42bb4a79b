"""The command line: `stridescope COMMAND`; `command_line/` has the commands.

What a command needs is imported when it is called; the server is a program of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from compiler.command_line.parser import parser
from compiler.command_line.serving import links, serve


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the answer is the exit status."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["serve"]:
        serve(given[1:])
    if given[:1] == ["links"]:
        links(given[1:])
    args = parser(given).parse_args(given)
    running = import_module("compiler.command_line.running")
    if argv is None:  # the process ends with the command
        running.seldom_look_for_garbage()
    status: int = running.run(args)
    return status


if __name__ == "__main__":
    sys.exit(main())
