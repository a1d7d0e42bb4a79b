"""The options of the command line: a function for each group of commands."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn, TypeAlias, get_args

from compiler import api, switches
from compiler.algebra.export import FORMATS
from compiler.protocol.kinds import Json
from compiler.protocol.storage import Generation
from compiler.serving import serve

_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


class _Version(argparse.Action):
    """Says which version this is; the server records it in links, and knows."""

    def __call__(self, *_: object) -> NoReturn:
        serve(["--version"])


def parser() -> argparse.ArgumentParser:
    """The options of all commands."""
    made = argparse.ArgumentParser(
        prog="stridescope", description="A compiler explorer for data-parallel functional arrays."
    )
    made.add_argument("--version", action=_Version, nargs=0, help="print the exact version")
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    common, certified = _common(), _certified()
    maybe = _common(nargs="?", default="")
    details: Json = {
        "epilog": switches.help_text(),
        "formatter_class": argparse.RawDescriptionHelpFormatter,
    }
    compiling = {**details, "parents": [common, certified]}
    commands.add_parser("check", parents=[common], help="parse and type check")
    commands.add_parser("translate", parents=[common], help="print a FlatPack program in Futhark")
    _add_formatting(commands)
    _add_compiling(commands, compiling, {**details, "parents": [common]})
    _add_run(commands, {**details, "parents": [maybe, certified, _tuned()]})
    _add_testing(commands)
    _add_proving(commands, certified)
    _add_explain(commands)
    _add_lessons(commands)
    _add_serving(commands)
    return made


def _add_formatting(commands: _Commands) -> None:
    doc = commands.add_parser("doc", help="make pages of HTML from a library's comments")
    doc.add_argument("folder", metavar="FOLDER", help="with the programs of the library")
    doc.add_argument("--to", required=True, metavar="FOLDER", help="where the pages are put")
    doc.set_defaults(file="", json=False)
    fmt = commands.add_parser("fmt", help="lay programs out in one way, in their files")
    fmt.add_argument("files", nargs="+", metavar="FILE|FOLDER|-", help="programs; - is a filter")
    fmt.add_argument("--check", action="store_true", help="write nothing; fail if one would change")
    fmt.add_argument("--diff", action="store_true", help="write nothing; print what would change")
    fmt.add_argument(
        "--width", type=int, default=100, choices=(80, 100), help="of a line; default: 100"
    )


def _common(**file: Any) -> argparse.ArgumentParser:
    """The options of all commands that compile a program."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("file", help="a Futhark program, or - for standard input", **file)
    common.add_argument("--json", action="store_true", help="answer as the worker would")
    common.add_argument(
        "--target",
        default="c",
        choices=api.TARGETS,
        help="what the stages from flat to imp are made for: layout of memory, code versions",
    )
    common.add_argument("--verify", action="store_true", help="check the program after every pass")
    common.add_argument("--unsafe", action="store_true", help="honour #[unsafe] and #[scratch]")
    _add_asked(common)
    common.add_argument("--fuel", type=int, metavar="N", help="stop after N rewrites")
    common.add_argument(
        "--disable",
        action="append",
        default=[],
        metavar="PASS[/RULE]",
        help="switch off a pass or a rule; may be given several times",
    )
    common.add_argument(
        "--threshold",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="how much parallelism a code version needs, by the names that stage flat shows; "
        "may be given several times",
    )
    common.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="a lower limit of a rule, so that small programs meet it as well; "
        "may be given several times",
    )
    return common


def _add_asked(to: argparse.ArgumentParser) -> None:
    """An option for each rule that is done only where it is asked for."""
    to.set_defaults(enable=[])
    for rule in switches.ASKED.values():
        does = f"{rule.does[0].lower()}{rule.does[1:]}".removesuffix(".")
        to.add_argument(rule.option, dest="enable", action="append_const", const=rule.id, help=does)


def _tuned() -> argparse.ArgumentParser:
    """The options of commands that run programs, which a file may tune."""
    tuned = argparse.ArgumentParser(add_help=False)
    tuned.add_argument(
        "--tuning",
        metavar="FILE",
        help="lines NAME=NUMBER for thresholds and #[param(NAME)]; default: FILE.tuning of the "
        "program's own, where there is one",
    )
    tuned.add_argument("--no-tuning", action="store_true", help="read no such file")
    return tuned


def _inputs() -> argparse.ArgumentParser:
    """The options of commands that run an entry point once."""
    run = argparse.ArgumentParser(add_help=False)
    run.add_argument("--entry", default="", help="default: main")
    run.add_argument("--input", metavar="FILE", help="text, binary or .npy values; default: stdin")
    run.add_argument(
        "--generate",
        action="append",
        metavar="NAME=NUMBER",
        help="random inputs instead, with this size or number; may be given several times",
    )
    run.add_argument("--seed", type=int, default=1, help="of the random inputs; default: 1")
    run.add_argument(
        "--deadline", type=float, default=600.0, metavar="SECONDS", help="default: 600"
    )
    return run


def _certified() -> argparse.ArgumentParser:
    """The option of all commands that prove something."""
    certified = argparse.ArgumentParser(add_help=False)
    certified.add_argument(
        "--certificate", metavar="FILE", help="write what was proved, for `stridescope verify`"
    )
    return certified


def _add_compiling(commands: _Commands, compiling: Json, plain: Json) -> None:
    """What the compiler makes of a program, and why."""
    show = commands.add_parser("show", help="print stages of the pipeline", **compiling)
    show.add_argument("--stage", action="append", metavar="ID", help="may be given several times")
    show.add_argument("--entry", default="", help="compile only this entry point")
    show.add_argument("--remarks", action="store_true", help="print what the compiler decided")
    show.add_argument(
        "--index-functions",
        action="append",
        choices=get_args(Generation),
        help="instead of stages: the changes of layout, with index functions as this generation "
        "writes them, and which of them are copies; may be given several times",
    )

    attempts = commands.add_parser(
        "attempts",
        help="print which arrays are built in their places, and why others are not",
        **compiling,
    )
    attempts.add_argument("--entry", default="", help="compile only this entry point")
    attempts.add_argument("--proofs", action="store_true", help="print the proofs as well")

    bounds = commands.add_parser(
        "bounds",
        help="print which checks of indices are proved, made once, or made each time, and why",
        **plain,
    )
    bounds.add_argument("--entry", default="", help="compile only this entry point")

    accesses = commands.add_parser(
        "accesses",
        help="print what each access costs on a GPU, predicted and seen in a run on this machine",
        **plain,
    )
    _add_inputs(accesses)
    accesses.add_argument(
        "--predict", action="store_true", help="run nothing: sizes may be as large as on a GPU"
    )
    accesses.add_argument(
        "--deadline", type=float, default=60.0, metavar="SECONDS", help="of the run; default: 60"
    )

    flow = commands.add_parser(
        "flow", help="print what each statement of a stage gives in a run, step by step", **plain
    )
    flow.add_argument("--stage", default="", help="one of the core language; default: soa")
    _add_inputs(flow)


def _add_inputs(command: argparse.ArgumentParser) -> None:
    command.add_argument("--entry", default="", help="default: main")
    command.add_argument("--input", metavar="FILE", help="text, binary or .npy values")
    command.add_argument(
        "--generate",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="random inputs, with this size or number; default: 64; may be given several times",
    )
    command.add_argument("--seed", type=int, default=1, help="of the random inputs; default: 1")


def _add_run(commands: _Commands, compiling: Json) -> None:
    repl = commands.add_parser("repl", help="evaluate expressions, one line after the other")
    repl.add_argument("file", nargs="?", default="", help="a program, whose definitions they use")
    repl.add_argument("--backend", default="ref", choices=api.RUNNERS)
    repl.set_defaults(json=False)
    literate = commands.add_parser(
        "literate", help="make a page of a program's text, code and results", parents=[_common()]
    )
    literate.add_argument("--to", default="", metavar="FILE", help="FILE.html, or .md")
    literate.add_argument("--backend", default="c", choices=api.RUNNERS)
    literate.add_argument(
        "--deadline", type=float, default=60.0, metavar="SECONDS", help="of a call; default: 60"
    )
    profile = commands.add_parser(
        "profile",
        help="print which lines and kernels take the time of a run",
        parents=[_common(), _inputs()],
    )
    profile.add_argument(
        "--backend",
        default="c",
        choices=api.TARGETS,
        help="of cuda what kernels fetch is counted in a run on the processor, not timed",
    )
    compiling["parents"].append(_inputs())
    run = commands.add_parser("run", help="run an entry point", **compiling)
    run.add_argument(
        "-e",
        "--expression",
        metavar="EXPR",
        help="evaluate this over the program's definitions instead; the program may be left out",
    )
    run.add_argument("--backend", default="c", choices=api.RUNNERS)
    run.add_argument("--stage", default="", metavar="ID", help="with --backend ref")
    run.add_argument(
        "--sanitize",
        action="store_true",
        help="under sanitisers: each access outside of its block is reported with its place",
    )
    run.add_argument(
        "--data",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="of FlatPack: a parameter, or the file of a `GetData`, is this file of packed "
        "elements, or an .npy file, and is read window by window; may be given several times",
    )
    run.add_argument("--binary", action="store_true", help="print results in the binary format")
    run.add_argument(
        "--time",
        action="store_true",
        help="print the run time, and what was copied, to standard error",
    )


def _add_lessons(commands: _Commands) -> None:
    lessons = commands.add_parser("lesson", help="write and check lessons and puzzles")
    lessons.set_defaults(json=False)
    actions = lessons.add_subparsers(dest="action", required=True, metavar="ACTION")
    new = actions.add_parser("new", help="write the skeleton of a lesson to NAME.md")
    new.add_argument("file", metavar="NAME")
    check = actions.add_parser(
        "check", help="compile it and compare its numbers with the compiler's"
    )
    check.add_argument("file", metavar="FILE")


def _add_testing(commands: _Commands) -> None:
    """What runs the tests in comments of programs."""
    testing = argparse.ArgumentParser(add_help=False, parents=[_tuned()])
    testing.set_defaults(file="")
    testing.add_argument("paths", nargs="+", metavar="FILE|FOLDER", help="programs, or all in one")
    testing.add_argument("--entry", default="", metavar="NAME", help="only tests of this one")
    testing.add_argument(
        "--exclude", action="append", default=[], metavar="TAG", help="no tests with this tag"
    )
    testing.add_argument("--unsafe", action="store_true", help="honour #[unsafe] and #[scratch]")
    _add_asked(testing)
    testing.add_argument(
        "--deadline", type=float, default=60.0, metavar="SECONDS", help="of a run; default: 60"
    )
    test = commands.add_parser("test", help="run the tests of programs", parents=[testing])
    test.add_argument("--backend", default="c", choices=api.RUNNERS)
    test.add_argument("--jobs", type=int, default=0, metavar="N", help="programs at a time")
    test.add_argument(
        "--limit",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="of a test, compiling included; default: any",
    )
    test.add_argument("--structure", action="store_true", help="only tests of structure")
    test.add_argument(
        "--any-error", action="store_true", help="where an error is expected, take any message"
    )
    test.add_argument("--verify", action="store_true", help="check the program after every pass")
    test.add_argument("--json", action="store_true", help="outcomes as JSON")

    bench = commands.add_parser("bench", help="measure the tests of programs", parents=[testing])
    bench.add_argument("--backend", default="c", choices=api.TARGETS)
    bench.add_argument(
        "--runs",
        type=int,
        metavar="N",
        help="so many of each test; default: at least 10, until the interval is narrow",
    )
    bench.add_argument(
        "--seconds", type=float, default=60.0, help="for one test, at most; default: 60"
    )
    bench.add_argument(
        "--no-convergence",
        action="store_true",
        help="without --runs: do not run until the interval is narrow",
    )
    bench.add_argument(
        "--json", dest="results", default="", metavar="FILE", help="as futhark bench writes them"
    )
    bench.add_argument("--compare", default="", metavar="FILE", help="such a file from before")
    bench.add_argument("--against", default="", choices=api.TARGETS, help="another back end")
    bench.set_defaults(json=False)


def _add_proving(commands: _Commands, certified: argparse.ArgumentParser) -> None:
    """Proofs about LMADs, and certificates."""
    prove = commands.add_parser("prove", help="whether two LMADs share a cell", parents=[certified])
    prove.add_argument("file", help="a problem as JSON, or - for standard input")
    prove.add_argument("--json", action="store_true", help="answer as the worker would")

    verify = commands.add_parser("verify", help="check a certificate, by the checker alone")
    verify.add_argument("file", help="a certificate, or - for standard input")
    verify.add_argument("--json", action="store_true", help="the claims as JSON")

    export = commands.add_parser(
        "export", help="print the inequalities of a certificate for another prover"
    )
    export.add_argument("file", help="a certificate, or - for standard input")
    export.add_argument("--to", required=True, choices=FORMATS)
    export.set_defaults(json=False)


def _add_explain(commands: _Commands) -> None:
    """The codes of errors and warnings, and the rules."""
    explain = commands.add_parser("explain", help="print what a code means, or what a rule does")
    named = "such as T001 or fuse/map-map; default: list all"
    explain.add_argument("code", nargs="?", default="", help=named)
    explain.add_argument("--json", action="store_true", help="as JSON: codes as a list of objects")
    explain.set_defaults(file="")


def _add_serving(commands: _Commands) -> None:
    """The processes that answer others."""
    serving = commands.add_parser(
        "worker", help="answer JSON requests on standard input, line by line"
    )
    serving.add_argument(
        "--with-parent",
        action="store_true",
        help="be killed when the thread that started this process ends (on Linux)",
    )
    commands.add_parser("serve", help="serve the page", add_help=False)
    commands.add_parser("links", help="list, delete, export a server's links", add_help=False)
    commands.add_parser("lsp", help="answer an editor, as a language server")
