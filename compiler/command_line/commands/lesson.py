"""`stridescope lesson`: write and check lessons and puzzles."""

from __future__ import annotations

import argparse

from compiler.classroom import lessons
from compiler.command_line.late import LateParser
from compiler.command_line.status import OK, WRONG_PROGRAM
from compiler.driver.disk import read_source
from compiler.protocol import (
    teaching,
)


def add_options(to: LateParser) -> None:
    """Add the options of this command."""
    to.set_defaults(json=False)
    actions = to.add_subparsers(dest="action", required=True, metavar="ACTION")
    new = actions.add_parser("new", help="write the skeleton of a lesson to NAME.md")
    new.add_argument("file", metavar="NAME")
    check = actions.add_parser(
        "check", help="compile it and compare its numbers with the compiler's"
    )
    check.add_argument("file", metavar="FILE")


def run(args: argparse.Namespace) -> int:
    """Run it and return the exit status. Raises `CompileError`."""
    if args.action == "new":
        print(lessons.skeleton(args.file))
        return OK
    found = lessons.lesson(teaching.LessonRequest(lesson=read_source(args.file)))
    print(found["wrong"] or f"{args.file}: {found['measure']} is {found['value']}")
    return WRONG_PROGRAM if found["wrong"] else OK
