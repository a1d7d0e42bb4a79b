"""Puzzles: score a program by a measure, and compare its results with the given one's.

Results must agree on the inputs of the puzzle and on generated ones, of its sizes and of small
and odd ones, with numbers from the borders of their types too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from compiler.algebra.poly import Poly
from compiler.base.deadline import check_deadline
from compiler.base.errors import CompileError, TimeoutError_, UsageError
from compiler.base.names import base_of
from compiler.classroom.lessons import measured, placed, subject
from compiler.driver import api
from compiler.explain.validity import compare
from compiler.ir.nodes import Param
from compiler.ir.types import shape_of
from compiler.ir.values import Value
from compiler.protocol.answering import answers
from compiler.protocol.kinds import OfProgram
from compiler.protocol.lesson_files import LessonFile, read
from compiler.protocol.teaching import SOLVE, SolveAnswer, SolveRequest

ODD = (7, 5, 11, 3)
"""Odd sizes, which programs seldom expect."""


@answers(SOLVE)
def solve(asked: SolveRequest) -> SolveAnswer:
    """Score a program. Errors: `UsageError` for a lesson, and those of the program."""
    check_deadline(asked.deadline)
    file = read(asked.lesson)
    if file.goal is None:
        raise file.wrong("title", "This is a lesson, not a puzzle.", "A puzzle needs a `goal`.")
    with placed(file, "program"):
        given = subject(file, file.program).asked
    own = subject(replace(file, sizes={}), asked.source).asked
    because = _other_arguments(given, own, file.entry)
    sizes = {} if because else _sizes(given, own, file)
    attempt = subject(replace(file, sizes=sizes), asked.source)
    same, count = not because, 0
    for words, args in _inputs(given, file) if same else ():
        try:
            wanted = _run(given, file, args, asked.deadline / 10)
        except CompileError:
            continue  # an input that the puzzle's own program refuses
        found = _differs(attempt.asked, file, args, wanted, asked.deadline / 10)
        if found:
            same, because = False, f"On {words}: {found}"
            break
        count += 1
    if same and not count:
        raise UsageError(
            "The puzzle's program returns no result on any input.", hint="Add an `input`."
        )
    value = measured(file.measure, attempt)
    return {
        "ok": True,
        "value": value,
        "same": same,
        "because": because or f"It returns the same results on all {count} inputs that were tried.",
        "solved": same and value <= file.goal,
    }


def _other_arguments(given: OfProgram, attempt: OfProgram, entry: str) -> str:
    """Explain why two programs cannot be compared (arguments that differ), or return ""."""
    wanted, found = (
        [(type(param.type), param.type.prim, len(shape_of(param.type)), param.unique)
         for param in _arguments(one, entry)]
        for one in (given, attempt)
    )  # fmt: skip
    return "" if wanted == found else "It takes other arguments than the puzzle's program."


def _sizes(given: OfProgram, own: OfProgram, file: LessonFile) -> dict[str, int]:
    """Translate a puzzle's sizes to the names of a program with the same arguments."""
    found: dict[str, int] = {}
    for wanted, param in zip(*(_arguments(one, file.entry) for one in (given, own)), strict=True):
        pairs = zip(shape_of(wanted.type), shape_of(param.type), strict=True)
        for name, called in ((wanted.name, param.name), *((_name(a), _name(b)) for a, b in pairs)):
            if called and base_of(name) in file.sizes:
                found[base_of(called)] = file.sizes[base_of(name)]
    return found


def _name(size: Poly) -> str:
    """Return the name that a size consists of, or ""."""
    return next((name for name in size.names() if size == Poly.var(name)), "")


def _arguments(asked: OfProgram, entry: str) -> tuple[Param, ...]:
    fun = api.entry_function(api.compilation(asked), entry)
    return fun.params[fun.implicit :]


def _inputs(asked: OfProgram, file: LessonFile) -> Iterator[tuple[str, list[Value]]]:
    """Generate the inputs for both programs, each with a description."""
    for text in file.input:
        with placed(file, "input"):
            yield f"the input `{text}`", api.inputs(asked, file.entry, text)
    names = list(api.random_inputs(asked, file.entry, {}, 1).sizes)
    odd = {name: ODD[k % len(ODD)] for k, name in enumerate(names)}
    for sizes in (subject(file, file.program).sizes, odd, dict.fromkeys(names, 1), {}):
        for seed, distribution in ((1, "uniform"), (2, "borders")):
            made = api.random_inputs(asked, file.entry, sizes, seed, distribution=distribution)
            shown = ", ".join(f"{name} = {size}" for name, size in made.sizes.items())
            yield f"random input with {shown}", made.values


def _run(asked: OfProgram, file: LessonFile, args: list[Value], seconds: float) -> list[Value]:
    found: list[Value] = api.run_values(asked, file.entry, args, "ref", "soa", seconds)["values"]
    return found


def _differs(
    asked: OfProgram, file: LessonFile, args: list[Value], wanted: list[Value], seconds: float
) -> str:
    """Describe how a program's results differ from the wanted ones, or return ""."""
    try:
        found = _run(asked, file, args, seconds)
    except TimeoutError_:
        raise
    except CompileError as error:
        return error.message
    told = compare(found, wanted)
    return "" if told["valid"] else told["because"]
