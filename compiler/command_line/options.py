"""Groups of options that several commands share."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

from compiler.command_line.late import LateChoices, LateParser

TARGETS = LateChoices("compiler.driver.api", "TARGETS")
RUNNERS = LateChoices("compiler.driver.api", "RUNNERS")


def add_common(to: LateParser, **file: Any) -> None:
    """Add the options of all commands that compile a program."""
    to.add_argument("file", help="a Futhark program, or - for standard input", **file)
    to.add_argument("--json", action="store_true", help="answer as the worker would")
    to.add_late_choice(
        "--target",
        TARGETS,
        default="c",
        help="what the stages from flat to imp are made for: layout of memory, code versions",
    )
    to.add_argument("--verify", action="store_true", help="check the program after every pass")
    to.add_argument("--unsafe", action="store_true", help="honour #[unsafe] and #[scratch]")
    to.add_argument("--fuel", type=int, metavar="N", help="stop after N rewrites")
    to.add_argument(
        "--disable",
        action="append",
        default=[],
        metavar="PASS[/RULE]",
        help="switch off a pass or a rule; may be given several times",
    )
    to.add_argument(
        "--threshold",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="how much parallelism a code version needs, by the names that stage flat shows; "
        "may be given several times",
    )
    to.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="a lower limit of a rule, so that small programs meet it as well; "
        "may be given several times",
    )
    to.add_argument(
        "--from-stage",
        action="append",
        nargs=2,
        default=[],
        metavar=("STAGE", "FILE"),
        help="go on from the text of a stage as it is in a file, with all checks of that stage; "
        "may be given several times",
    )
    to.add_later(_add_asked)
    to.set_defaults(enable=[])


def _add_asked(to: LateParser) -> None:
    """Add an option for each opt-in rule, and for each that changes results one against it."""
    switches = import_module("compiler.driver.switches")
    for rule in switches.ASKED.values():
        does = f"{rule.does[0].lower()}{rule.does[1:]}".removesuffix(".")
        to.add_argument(rule.option, dest="enable", action="append_const", const=rule.id, help=does)
    for rule in switches.STOPPED:
        says = f"the same as --disable {rule.id}"
        to.add_argument(
            rule.option, dest="disable", action="append_const", const=rule.id, help=says
        )


def add_switches_to_help(to: LateParser) -> None:
    """List in the help all passes and rules that `--disable` accepts."""

    def add(to: LateParser) -> None:
        to.epilog = import_module("compiler.driver.switches").help_text()

    to.formatter_class = argparse.RawDescriptionHelpFormatter
    to.add_later(add)


def add_tuning(to: LateParser) -> None:
    """Add the options of commands that run programs with tuning files."""
    to.add_argument(
        "--tuning",
        metavar="FILE",
        help="lines NAME=NUMBER for thresholds and #[param(NAME)]; default: FILE.tuning of the "
        "program's own, where there is one",
    )
    to.add_argument("--no-tuning", action="store_true", help="read no such file")


def add_inputs(to: LateParser) -> None:
    """Add the options of commands that run an entry point once."""
    to.add_argument("--entry", default="", help="default: main")
    to.add_argument("--input", metavar="FILE", help="text, binary or .npy values; default: stdin")
    to.add_argument(
        "--generate",
        action="append",
        metavar="NAME=NUMBER",
        help="random inputs instead, with this size or number; may be given several times",
    )
    to.add_argument("--seed", type=int, default=1, help="of the random inputs; default: 1")
    to.add_argument("--deadline", type=float, default=600.0, metavar="SECONDS", help="default: 600")


def add_maybe_inputs(to: LateParser) -> None:
    """Add the options of commands that may run an entry point."""
    to.add_argument("--entry", default="", help="default: main")
    to.add_argument("--input", metavar="FILE", help="text, binary or .npy values")
    to.add_argument(
        "--generate",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="random inputs, with this size or number; default: 64; may be given several times",
    )
    to.add_argument("--seed", type=int, default=1, help="of the random inputs; default: 1")


def add_certificate(to: LateParser) -> None:
    """Add the option of commands that prove something."""
    to.add_argument(
        "--certificate", metavar="FILE", help="write what was proved, for `stridescope verify`"
    )


def add_testing(to: LateParser) -> None:
    """Add the options of commands that run the tests in programs' comments."""
    add_tuning(to)
    to.set_defaults(file="", enable=[], disable=[])
    to.add_argument("paths", nargs="+", metavar="FILE|FOLDER", help="programs, or all in one")
    to.add_argument("--entry", default="", metavar="NAME", help="only tests of this one")
    to.add_argument(
        "--exclude", action="append", default=[], metavar="TAG", help="no tests with this tag"
    )
    to.add_argument("--unsafe", action="store_true", help="honour #[unsafe] and #[scratch]")
    to.add_argument(
        "--deadline", type=float, default=60.0, metavar="SECONDS", help="of a run; default: 60"
    )
    to.add_later(_add_asked)
