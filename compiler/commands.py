"""The commands of the command line, but `serve` and `worker`.

Exit status: 0 for success, 1 for an error in the program or its input, 2 for wrong usage, 3 for an
internal error.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from compiler import (
    api,
    benchmark,
    explanations,
    expressions,
    lessons,
    literate_pages,
    measuring,
    profile,
    repl,
    rulebook,
    streaming,
    suite,
    switches,
    worker,
)
from compiler.algebra import checker
from compiler.algebra.export import exported
from compiler.answers import failure
from compiler.base.deadline import Deadline
from compiler.base.errors import CompileError, InputError, UsageError
from compiler.codegen.c.program import TARGET as C
from compiler.codes import CODES
from compiler.codes.document import explained
from compiler.disk import decode_source, read_program, read_source
from compiler.documentation import write_pages
from compiler.explain.accesses import told as told_accesses
from compiler.flows import flowing
from compiler.formatting import format_files
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.frontend.files import FLATPACK
from compiler.ir import values
from compiler.lower.external_values import show as show_values
from compiler.protocol import (
    accesses,
    flows,
    listings,
    profiles,
    programs,
    proofs,
    runs,
    storage,
    teaching,
)
from compiler.protocol.kinds import Json, OfProgram, Options
from compiler.protocol.polynomials import Spell, in_turn, reason, shown_cells, step_lines
from compiler.protocol.proofs import Certificate
from compiler.protocol.reading import checked
from compiler.targets import LISTINGS
from compiler.tuning_file import with_tuning

_Program: TypeAlias = tuple[str, Options, dict[str, str], str]
OK, WRONG_PROGRAM, WRONG_USAGE, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 130
_NUMBER, _MOST = re.compile(r"-?[0-9]{1,30}"), checker.BYTES + 1


def run(args: argparse.Namespace) -> int:
    """Run one command; the answer is the exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of files may be no text
    if args.command == "lsp":
        return _lsp()
    if args.command == "repl":
        return _guarded(_repl, args)
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "prove": _prove,
        "verify": _verify,
        "export": _export,
        "attempts": _attempts,
        "bounds": _bounds,
        "accesses": _accesses,
        "flow": _flow,
        "check": _check,
        "fmt": _fmt,
        "translate": _translate,
        "show": _show,
        "run": _run,
        "literate": _literate,
        "lesson": _lesson,
        "profile": _profile,
        "explain": _explain,
        "doc": _doc,
        "test": _test,
        "bench": _bench,
    }
    status = [INTERNAL]

    def work() -> None:
        status[0] = _guarded(commands[args.command], args)

    try:
        worker.with_deep_stack(work)
    except KeyboardInterrupt:  # the work goes on in its thread
        os._exit(INTERRUPTED)
    return status[0]


def _guarded(command: Callable[[argparse.Namespace], int], args: argparse.Namespace) -> int:
    try:
        if hasattr(args, "deadline"):
            api.check_deadline(args.deadline, "--deadline")
        return command(args)
    except BrokenPipeError:
        # The reader has gone, as `head` does: nothing is left to say, not even on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except Exception as problem:
        error = worker.as_error(problem)
    source, files = _text_or_nothing(args.file), getattr(args, "texts", {})
    if args.json:
        print(json.dumps(failure(error, source, files), ensure_ascii=False))
    else:
        for e in (error, *error.others):
            print(e.render(source, files, args.file), file=sys.stderr)
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


def _fmt(args: argparse.Namespace) -> int:
    args.file, args.json = args.files[0], False  # for errors
    well = format_files(args.files, args.check, args.diff, args.width)
    return OK if well else WRONG_PROGRAM


def _translate(args: argparse.Namespace) -> int:
    answer = api.translate(programs.TranslateRequest(*_program(args)))
    print(json.dumps(answer, ensure_ascii=False) if args.json else answer["text"].rstrip("\n"))
    return OK


def _doc(args: argparse.Namespace) -> int:
    for path in write_pages(args.folder, args.to):
        print(path)
    return OK


def _show(args: argparse.Namespace) -> int:
    program = _program(args)
    if args.index_functions:
        return _index_functions(program, args)
    asked = args.stage or []
    stages = [name for name in asked if name not in LISTINGS]
    answer = api.show(programs.ShowRequest(*program, stages=stages if asked else None))
    for name in asked:
        if name in LISTINGS:
            made = explanations.listing(listings.ListingRequest(*program, listing=name))
            answer["stages"][name] = made["stage"]
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
            place = _places(remark["src"])
            hint = f" {remark['hint']}" if remark["hint"] else ""
            print(f"{place}: {remark['kind']} {remark['rule']}: {remark['because']}{hint}")
    return OK


def _index_functions(program: _Program, args: argparse.Namespace) -> int:
    """Of `show`: the changes of layout, as some generations of index functions have them."""
    answer = explanations.index_functions(storage.IndexFunctionsRequest(*program))
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
        return OK
    for function in answer["functions"]:
        copies = (f"{function['copies'][way]} ({way})" for way in args.index_functions)
        print(f"{function['name']}: copies {', '.join(copies)}")
        for change in function["changes"]:
            fused = "" if change["in_memory"] else ", fused away"
            print(f"  {_places(change['src'])}: {change['array']}, {change['does']}{fused}")
            for form in change["forms"]:
                if form["generation"] in args.index_functions:
                    copy = "copy, " if form["copies"] else ""
                    because = f"  -- {form['because']}" if form["because"] else ""
                    cell = f"; [{change['index']}] at {form['cell']}" if form["cell"] else ""
                    text = f"{copy}{form['text'] or 'none'}{cell}"
                    print(f"    {form['generation']}: {text}{because}")
    return OK


def _run(args: argparse.Namespace) -> int:
    if args.expression is not None:
        return _evaluate(args)
    if not args.file:
        raise UsageError("Which program is to be run is missing.")
    program = _program(args)
    if args.data:
        return _stream(program, args)
    asked = with_tuning(OfProgram(*program), args.file, _tuning(args))
    _certify(program, args)
    if args.generate:
        api.check_present(args.backend)
    api.check_deadline(args.deadline)
    given = partial(_inputs, args, asked)
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


def _stream(program: _Program, args: argparse.Namespace) -> int:
    """Of `run`, on files that are read window by window."""
    source, options, files, main = program
    given = ("entry", "stage", "generate", "certificate", "sanitize", "tuning")
    if other := next((name for name in given if getattr(args, name)), ""):
        raise UsageError(f"`--{other}` does not go together with `--data`.")
    if not main.endswith(FLATPACK) or args.backend != C.id:
        raise UsageError("`--data` is for FlatPack programs, whose names end in `.fp`, run as C.")
    data = dict(_pairs("--data", args.data, "NAME=FILE"))
    chosen = api.options_from(options, files, main)
    done = streaming.run(
        source,
        chosen,
        data,
        lambda: _given(args),
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


def _inputs(args: argparse.Namespace, asked: OfProgram) -> list[values.Value]:
    """What an entry point is run on."""
    if args.generate:
        sizes = _numbers("--generate", args.generate)
        return api.random_inputs(asked, args.entry, sizes, args.seed).values
    return api.inputs(asked, args.entry, _given(args))


def _given(args: argparse.Namespace) -> bytes:
    """The text or bytes of inputs, of a file or of standard input."""
    return _input(args.input) if args.input else sys.stdin.buffer.read()


def _profile(args: argparse.Namespace) -> int:
    """Of a CUDA program that does what none may do the status is 1."""
    program = _program(args)
    if args.backend == C.id:
        asked = OfProgram(*program)
        found = profile.measured(asked, args.entry, _inputs(args, asked), args.deadline)
    else:
        of = _on_inputs(program, args, None if args.generate else _given(args))
        request = profiles.ProfileRequest(
            *program, **of, backend=args.backend, seconds=args.deadline
        )
        found = profile.profiled(request)
    print(json.dumps(found, ensure_ascii=False) if args.json else profile.table(found))
    counts = found.get("counts")
    wrong = counts and counts["observed"] and (counts["faults"] or counts["because"])
    return WRONG_PROGRAM if wrong else OK


def _evaluate(args: argparse.Namespace) -> int:
    """Of `run`, with an expression instead of an entry point."""
    given = ("entry", "stage", "input", "generate", "binary", "certificate")
    if other := next((name for name in given if getattr(args, name)), ""):
        raise UsageError(f"`--{other}` does not go together with `--expression`.")
    program = _program(args) if args.file else ("", _options(args), {}, "")
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


def _repl(args: argparse.Namespace) -> int:
    with repl.Session(args.backend) as session:
        if args.file:
            session.load(args.file)
        repl.serve(session)
    return OK


def _literate(args: argparse.Namespace) -> int:
    options = _options(args)
    path, well = literate_pages.write(args.file, args.to, options, args.backend, args.deadline)
    print(path)
    return OK if well else WRONG_PROGRAM


def _lesson(args: argparse.Namespace) -> int:
    if args.action == "new":
        print(lessons.skeleton(args.file))
        return OK
    found = lessons.lesson(teaching.LessonRequest(lesson=read_source(args.file)))
    print(found["wrong"] or f"{args.file}: {found['measure']} is {found['value']}")
    return WRONG_PROGRAM if found["wrong"] else OK


def _traced(file: str, place: programs.Traced, text: str) -> None:
    """Show what `trace` was given, as it comes."""
    print(f"{file}:{_places(place['src'])}: {place['function']}: {text}", file=sys.stderr)


def _tuning(args: argparse.Namespace) -> str | None:
    """The file of tuning parameters; see `with_tuning`."""
    return "" if args.no_tuning else args.tuning


def _at_least(number: float | None, option: str, least: float) -> None:
    if number is not None and not number >= least:
        raise UsageError(f"`{option}` is a number, {least:g} or more.")


def _test(args: argparse.Namespace) -> int:
    _at_least(args.jobs, "--jobs", 0)
    _at_least(args.limit, "--limit", 0)
    wanted = suite.Wanted(
        args.backend,
        seconds=args.deadline,
        entry=args.entry,
        exclude=frozenset(args.exclude),
        structure=args.structure,
        any_words=args.any_error,
        unsafe=args.unsafe,
        enabled=tuple(args.enable),
        verify=args.verify,
        tuning=_tuning(args),
        limit=args.limit,
    )
    return OK if suite.main(args.paths, wanted, args.jobs, args.json) else WRONG_PROGRAM


def _bench(args: argparse.Namespace) -> int:
    _at_least(args.runs, "--runs", 1)
    _at_least(args.seconds, "--seconds", 0)
    how = measuring.Measuring(
        args.backend,
        args.against,
        runs=args.runs,
        seconds=args.seconds,
        deadline=args.deadline,
        converge=not args.no_convergence,
        entry=args.entry,
        exclude=frozenset(args.exclude),
        unsafe=args.unsafe,
        enabled=tuple(args.enable),
        tuning=_tuning(args),
    )
    well = benchmark.main(args.paths, how, sys.stdout, args.results, args.compare)
    return OK if well else WRONG_PROGRAM


def _attempts(args: argparse.Namespace) -> int:
    program = _program(args)
    answer = explanations.attempts(proofs.AttemptsRequest(*program))
    _certify(program, args)
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
        return OK
    if not answer["attempts"]:
        print("No array is made that is then copied to a place, so that nothing is attempted.")
    for attempt in answer["attempts"]:
        place = _places(attempt["src"])
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


def _places(src: Sequence[Sequence[int | str]]) -> str:
    """Where something is from; of an imported file also from where it is called."""
    callers = [span for span in src[1:] if span[4:] != src[0][4:]]
    return ", called from ".join(map(_place, (*src[:1], *callers[:1]))) or "-"


def _place(span: Sequence[int | str]) -> str:
    """`line:column`, in an imported file with its path."""
    return ":".join(map(str, (*span[4:], *span[:2])))


def _verdict(proved: Mapping[str, Any], spell: Spell = str) -> str:
    because = reason(proved, spell)
    return str(proved["verdict"]) + (f": {because}" if because else "")


def _bounds(args: argparse.Namespace) -> int:
    answer = explanations.bounds(proofs.BoundsRequest(*_program(args)))
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


def _accesses(args: argparse.Namespace) -> int:
    """Those that waste most come first. Of a program that fails, or faults, the status is 1."""
    program = _program(args)
    of = _on_inputs(program, args, _input(args.input) if args.input else None)
    answer = (
        explanations.accesses(accesses.AccessesRequest(*program, **of))
        if args.predict
        else explanations.observe(accesses.ObserveRequest(*program, **of, seconds=args.deadline))
    )
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
    else:
        for line in told_accesses(answer):
            print(line)
    return WRONG_PROGRAM if answer["faults"] or (answer["observed"] and answer["because"]) else OK


def _on_inputs(program: _Program, args: argparse.Namespace, data: bytes | None) -> Json:
    """The fields of a request about an entry point, and inputs of it if there are any."""
    given = None
    if data is not None:
        whole = OfProgram(*program)
        inputs = api.inputs(whole, args.entry, data)
        given = "\n".join(show_values(api.outside(whole, args.entry).params, inputs))
    sizes = _numbers("--generate", args.generate or [])
    return {"entry": args.entry, "input": given, "seed": args.seed, "sizes": sizes}


def _flow(args: argparse.Namespace) -> int:
    """Each step has the line of its statement in the text that `show --stage` prints."""
    program = _program(args)
    of = _on_inputs(program, args, _input(args.input) if args.input else None)
    answer = flowing(flows.FlowRequest(*program, **of, stage=args.stage))
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
        return OK
    stage = args.stage or "soa"
    shown = api.show(programs.ShowRequest(*program, stages=[stage]))["stages"][stage]
    lines = {line["node"]: k for k, line in reversed([*enumerate(shown["lines"] or (), 1)])}
    for step in answer["steps"]:
        given = ", ".join(f"{one['name']} = {one['text']}" for one in step["values"])
        print(f"line {lines.get(step['node'], '-')}: {given or 'no value'}")
        held = [one for one in step["values"] if "block" in one]
        for one, cells in zip(held, step.get("cells", []), strict=True):
            print(f"  {answer['blocks'][one['block']]}: {' '.join(cells)}")
    nothing = "" if answer["steps"] else f"No statement of `{stage}` was run."
    for line in filter(None, (nothing, answer["note"])):
        print(line)
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
    answer = explanations.prove(proofs.ProveRequest(**asked))
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
    data = sys.stdin.buffer.read(_MOST) if args.file == "-" else _input(args.file, _MOST)
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
    data = sys.stdin.buffer.read(_MOST) if args.file == "-" else _input(args.file, _MOST)
    try:
        print(exported(checker.read(data), args.to))
    except checker.Refused as why:
        raise InputError(str(why)) from None
    return OK


def _explain(args: argparse.Namespace) -> int:
    """What a code means, or a rule or pass does; or which codes there are."""
    found = CODES.get(args.code.upper())
    if args.code and found is None:
        if args.code in switches.IDS:
            answer = rulebook.rule(programs.RuleRequest(args.code))
            print(json.dumps(answer, ensure_ascii=False) if args.json else rulebook.told(answer))
            return OK
        known = [*CODES, *switches.IDS]
        hint = did_you_mean(args.code, known) or "`stridescope explain` lists all."
        raise UsageError(f"There is no error, warning, pass or rule `{args.code}`.", hint=hint)
    if args.json:
        print(json.dumps([asdict(code) for code in (CODES.values() if not found else [found])]))
    elif found:
        print(explained(found))
    else:
        for code in CODES.values():
            print(f"{code.id}  {code.title}")
        print(*switches.IDS, sep="\n")
    return OK


def _certify(program: _Program, args: argparse.Namespace) -> None:
    """Write the certificate of a program, if one is wanted."""
    if args.certificate:
        answer = explanations.certificate(proofs.CertificateRequest(*program))
        _write(args.certificate, answer["certificate"])


def _write(path: str, certificate: Certificate) -> None:
    try:
        Path(path).write_text(json.dumps(certificate) + "\n", "utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"Cannot write `{path}`: {error}.") from None


def _lsp() -> int:
    """Become the language server. It needs what only those install who want it."""
    if importlib.util.find_spec("pygls"):
        os.execv(sys.executable, [sys.executable, "-m", "compiler.lsp"])
    sys.stderr.write("There is no `pygls`: install it with `pip install 'stridescope[lsp]'`.\n")
    return WRONG_USAGE


def _source(file: str) -> str:
    if file == "-":
        return decode_source(sys.stdin.buffer.read())
    return read_source(file)


def _input(file: str, most: int = -1) -> bytes:
    try:
        with Path(file).open("rb") as opened:
            return opened.read(most)
    except OSError as error:
        raise UsageError(f"Cannot read `{file}`: {error.strerror}.") from None


def _text_or_nothing(file: str) -> str:
    """What an error is shown in; what comes through a pipe has been read already."""
    try:
        return read_source(file) if Path(file).is_file() else ""
    except CompileError:
        return ""


def _pairs(option: str, pairs: Sequence[str], form: str) -> dict[str, str]:
    """`NAME=SOMETHING`, several times, each name once."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, sign, something = map(str.strip, pair.partition("="))
        if not name or not sign:
            raise UsageError(f"`{option} {pair}` is not of the form {form}.")
        if name in found:
            raise UsageError(f"`{option}` is given twice for `{name}`.")
        found[name] = something
    return found


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
        "enable": args.enable,
        "verify": args.verify,
        "sanitize": getattr(args, "sanitize", False),
        "thresholds": _numbers("--threshold", args.threshold),
        "limits": _numbers("--limit", args.limit),
    }


def _program(args: argparse.Namespace) -> _Program:
    """What a request says of the program; one that comes through a pipe has no folder."""
    if args.file == "-":
        return _source("-"), _options(args), {}, ""
    found = read_program(args.file)
    args.texts = found.files  # for errors
    return found.source, _options(args), found.files, found.main
