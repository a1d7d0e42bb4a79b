"""The command line: `stridescope COMMAND`, as the function `_parser` lists them.

Exit status: 0 for success, 1 for an error in the program or its input, 2 for wrong usage, 3 for an
internal error.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from compiler import api, switches, worker
from compiler.algebra import checker
from compiler.algebra.export import FORMATS, exported
from compiler.answers import failure
from compiler.base.errors import CompileError, InputError, UsageError
from compiler.disk import decode_source, read_program, read_source
from compiler.ir import values
from compiler.protocol import programs, proofs, runs
from compiler.protocol.kinds import Json, OfProgram, Options
from compiler.protocol.polynomials import Spell, in_turn, reason, shown_cells, step_lines
from compiler.protocol.proofs import Certificate
from compiler.protocol.reading import checked

_Program: TypeAlias = tuple[str, Options, dict[str, str], str]
OK, WRONG_PROGRAM, WRONG_USAGE, INTERNAL = 0, 1, 2, 3
_NUMBER = re.compile(r"-?[0-9]{1,30}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the answer is the exit status."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["serve"]:
        _app(given[1:])
    args = _parser().parse_args(given)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of files may be no text
    if args.command == "worker":
        if args.with_parent:
            worker.end_with_parent()
        worker.serve(sys.stdin.buffer, sys.stdout)
        return OK
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "prove": _prove,
        "verify": _verify,
        "export": _export,
        "attempts": _attempts,
        "bounds": _bounds,
        "check": _check,
        "show": _show,
        "run": _run,
    }
    status = [INTERNAL]

    def work() -> None:
        status[0] = _guarded(commands[args.command], args)

    worker.with_deep_stack(work)
    return status[0]


def _guarded(command: Callable[[argparse.Namespace], int], args: argparse.Namespace) -> int:
    try:
        return command(args)
    except BrokenPipeError:
        # The reader has gone, as `head` does: nothing is left to say, not even on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except Exception as problem:
        error = worker.as_error(problem)
    source, files = _text_or_nothing(args.file), getattr(args, "files", {})
    if args.json:
        print(json.dumps(failure(error, source, files), ensure_ascii=False))
    else:
        for e in (error, *error.others):
            at = "" if e.span.file else f"{args.file}:"
            print(f"{at}{e.render(source, files)}", file=sys.stderr)
    if error.kind == "usage" and not isinstance(error, InputError):
        return WRONG_USAGE
    return INTERNAL if error.kind == "internal" else WRONG_PROGRAM


def _check(args: argparse.Namespace) -> int:
    answer = api.check(programs.CheckRequest(*_program(args)))
    if args.json:
        print(json.dumps(answer))
        return OK
    for warning in answer["warnings"]:
        print(f"{args.file}:{warning['rendered']}", file=sys.stderr)
    for entry in answer["entries"]:
        params = " ".join(
            f"({n}: {t})" for n, t in zip(entry["names"], entry["params"], strict=True)
        )
        print(f"entry {entry['name']} {params} : {', '.join(entry['results'])}")
    return OK


def _show(args: argparse.Namespace) -> int:
    program = _program(args)
    answer = api.show(programs.ShowRequest(*program, stages=args.stage or None))
    _certify(program, args)
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
        return OK
    single = len(answer["stages"]) == 1
    for name, stage in answer["stages"].items():
        if not single:
            print(f"-- {name} ({stage['ms']:.1f} ms)")
        print(stage["text"], end="" if single else "\n")
    if args.remarks:
        for remark in answer["remarks"]:
            place = _place(remark["src"][0]) if remark["src"] else "-"
            hint = f" {remark['hint']}" if remark["hint"] else ""
            print(f"{place}: {remark['kind']} {remark['rule']}: {remark['because']}{hint}")
    return OK


def _run(args: argparse.Namespace) -> int:
    program = _program(args)
    _certify(program, args)
    if args.generate:
        sizes = _numbers("--generate", args.generate)
        made = api.generate(
            runs.GenerateRequest(*program, entry=args.entry, sizes=sizes, seed=args.seed)
        )
        inputs = values.parse(made["input"])
    else:
        data = _input(args.input) if args.input else sys.stdin.buffer.read()
        inputs = values.from_bytes(data, api.input_prims(OfProgram(*program), args.entry))
    backend = args.backend
    outcome = api.run_values(
        OfProgram(*program), args.entry, inputs, backend, args.stage, args.deadline
    )
    if args.binary:
        sys.stdout.buffer.write(values.to_binary(outcome["values"]))
    else:
        for value in outcome["values"]:
            print(values.show(value))
    if "note" in outcome:
        print(outcome["note"], file=sys.stderr)
    if args.time:
        print(f"{outcome['ms']:.3f} ms ({outcome['backend']})", file=sys.stderr)
    return OK


def _attempts(args: argparse.Namespace) -> int:
    program = _program(args)
    answer = api.attempts(proofs.AttemptsRequest(*program))
    _certify(program, args)
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
        return OK
    for attempt in answer["attempts"]:
        place = _place(attempt["src"][0]) if attempt["src"] else "-"
        outcome = "done" if attempt["done"] else f"fails at condition {attempt['condition']}"
        hint = f" {attempt['hint']}" if attempt["hint"] else ""
        print(f"{place}: {attempt['rule']} {outcome}: {attempt['because']}{hint}")
        if attempt["way_out"]:
            print(f"  {attempt['way_out']['says']} {attempt['way_out']['text'].strip()}")
        for pair in attempt["obligations"]:
            spell = in_turn(attempt["names"])
            both = (shown_cells(pair[which], spell) for which in ("write", "use"))
            print(f"  {'  and  '.join(both)}")
            print(f"    {pair['why']}: {_verdict(pair, spell)}")
            for line in step_lines(pair["steps"], spell) if args.proofs else ():
                print(f"      {line}")
    return OK


def _place(span: Sequence[int | str]) -> str:
    """`line:column`, in an imported file with its path."""
    return ":".join(map(str, (*span[4:], *span[:2])))


def _verdict(proved: Mapping[str, Any], spell: Spell = str) -> str:
    because = reason(proved, spell)
    return str(proved["verdict"]) + (f": {because}" if because else "")


def _bounds(args: argparse.Namespace) -> int:
    answer = api.bounds(proofs.BoundsRequest(*_program(args)))
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
        return OK
    if not answer["accesses"]:
        print("The program has no index, slice or update, so that nothing is checked.")
    for access in answer["accesses"]:
        place = _place(access["src"])
        print(f"{place}: {access['kind']} {access['state']}: {access['because']}")
        for claim in access["claims"]:
            print(f"  {claim['says']}" + (", since" if claim["facts"] else ""))
            for fact in claim["facts"]:
                print(f"    {fact}")
        for part in access["missing"]:
            print(f"  {part} is not proved")
    return OK


def _prove(args: argparse.Namespace) -> int:
    text = _source(args.file)
    try:
        problem = worker.read_json(text)
    except UsageError as error:
        raise UsageError(f"The problem is not JSON: {error.message}") from None
    if not isinstance(problem, dict):
        raise UsageError('A problem is {"assumptions": .., "a": .., "b": ..}.')
    given = {name: problem.get(name) for name in ("assumptions", "a", "b")}
    asked = checked(proofs.PROVE, {**given, "certificate": bool(args.certificate)}, own=True)
    answer = api.prove(proofs.ProveRequest(**asked))
    if args.certificate:
        _write(args.certificate, answer.pop("certificate"))
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
        return OK
    print(_verdict(answer))
    for line in step_lines(answer["steps"]):
        print(line)
    return OK


def _verify(args: argparse.Namespace) -> int:
    """By the checker alone: nothing else of the compiler has a say."""
    data = sys.stdin.buffer.read() if args.file == "-" else _input(args.file)
    claims: list[str] = []
    try:
        for claim in checker.verify(checker.read(data)):
            claims.append(claim)
            if not args.json:
                print(claim)
    except checker.Refused as why:
        raise InputError(str(why)) from None
    number = f"{len(claims)} claim{'s' * (len(claims) != 1)}"
    print(json.dumps({"ok": True, "claims": claims}) if args.json else f"{number} shown.")
    return OK


def _export(args: argparse.Namespace) -> int:
    data = sys.stdin.buffer.read() if args.file == "-" else _input(args.file)
    try:
        certificate: Any = checker.read(data)
        print(exported(certificate, args.to))
    except checker.Refused as why:
        raise InputError(str(why)) from None
    return OK


def _certify(program: _Program, args: argparse.Namespace) -> None:
    """Write the certificate of a program, if one is wanted."""
    if args.certificate:
        answer = api.certificate(proofs.CertificateRequest(*program))
        _write(args.certificate, answer["certificate"])


def _write(path: str, certificate: Certificate) -> None:
    try:
        Path(path).write_text(json.dumps(certificate) + "\n", "utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"Cannot write `{path}`: {error}.") from None


def _app(arguments: Sequence[str]) -> NoReturn:
    """Become the server, which is a program of its own: the compiler does not import it."""
    os.execv(sys.executable, [sys.executable, "-m", "app", *arguments])


class _Version(argparse.Action):
    """Says which version this is; the server records it in links, and knows."""

    def __call__(self, *_: object) -> NoReturn:
        _app(["--version"])


def _source(file: str) -> str:
    if file == "-":
        return decode_source(sys.stdin.buffer.read())
    return read_source(file)


def _input(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"Cannot read `{file}`: {error.strerror}.") from None


def _text_or_nothing(file: str) -> str:
    """What an error is shown in; what comes through a pipe has been read already."""
    try:
        return read_source(file) if Path(file).is_file() else ""
    except CompileError:
        return ""


def _numbers(option: str, pairs: Sequence[str]) -> dict[str, int]:
    """`NAME=NUMBER`, several times."""
    numbers: dict[str, int] = {}
    for pair in pairs:
        name, _, number = map(str.strip, pair.partition("="))
        if not name or not _NUMBER.fullmatch(number):
            raise UsageError(
                f"`{option} {pair}` is not of the form NAME=NUMBER.",
                hint=f"Give each on its own, such as `{option} n=1000 {option} m=20`.",
            )
        if name in numbers:
            raise UsageError(f"`{option}` is given twice for `{name}`.")
        numbers[name] = int(number)
    return numbers


def _options(args: argparse.Namespace) -> Options:
    return {
        "entry": getattr(args, "entry", ""),
        "target": args.target,
        "disable": args.disable,
        "fuel": args.fuel,
        "unsafe": args.unsafe,
        "verify": args.verify,
        "sanitize": getattr(args, "sanitize", False),
        "thresholds": _numbers("--threshold", args.threshold),
    }


def _program(args: argparse.Namespace) -> _Program:
    """What a request says of the program; one that comes through a pipe has no folder."""
    if args.file == "-":
        return _source("-"), _options(args), {}, ""
    found = read_program(args.file)
    args.files = found.files  # for errors
    return found.source, _options(args), found.files, found.main


_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stridescope", description="A compiler explorer for data-parallel functional arrays."
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the exact version")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    common, certified = _common(), _certified()
    details: Json = {
        "epilog": switches.help_text(),
        "formatter_class": argparse.RawDescriptionHelpFormatter,
    }
    compiling = {**details, "parents": [common, certified]}
    commands.add_parser("check", parents=[common], help="parse and type check")
    _add_compiling(commands, compiling, {**details, "parents": [common]})
    _add_run(commands, compiling)
    _add_proving(commands, certified)
    _add_serving(commands)
    return parser


def _common() -> argparse.ArgumentParser:
    """The options of all commands that compile a program."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("file", help="a Futhark program, or - for standard input")
    common.add_argument("--json", action="store_true", help="answer as the worker would")
    common.add_argument(
        "--target",
        default="c",
        choices=api.TARGETS,
        help="what the stages from flat to imp are made for: layout of memory, code versions",
    )
    common.add_argument("--verify", action="store_true", help="check the program after every pass")
    common.add_argument("--unsafe", action="store_true", help="honour #[unsafe]")
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
    return common


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


def _add_run(commands: _Commands, compiling: Json) -> None:
    run = commands.add_parser("run", help="run an entry point", **compiling)
    run.add_argument("--entry", default="", help="default: main")
    run.add_argument("--backend", default="c", choices=api.RUNNERS)
    run.add_argument("--stage", default="", metavar="ID", help="with --backend ref")
    run.add_argument("--input", metavar="FILE", help="text or binary values; default: stdin")
    run.add_argument(
        "--generate",
        action="append",
        metavar="NAME=NUMBER",
        help="random inputs instead, with this size or number; may be given several times",
    )
    run.add_argument(
        "--sanitize",
        action="store_true",
        help="under sanitisers: each access outside of its block is reported with its place",
    )
    run.add_argument("--seed", type=int, default=1, help="of the random inputs; default: 1")
    run.add_argument("--binary", action="store_true", help="print results in the binary format")
    run.add_argument("--time", action="store_true", help="print the run time to standard error")
    run.add_argument(
        "--deadline", type=float, default=600.0, metavar="SECONDS", help="default: 600"
    )


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


if __name__ == "__main__":
    sys.exit(main())
