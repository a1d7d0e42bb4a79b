"""Lessons and puzzles: every number in their text is measured on the compiler's output.

A measure is a phrase of the table `MEASURES`, such as `count map + reduce at fused`. It stands for
an exact number that depends on the program and on the sizes of its inputs, on no clock or machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError, UsageError
from compiler.base.names import base_of
from compiler.base.spans import Span, span_at
from compiler.base.spans import plain as plain_span
from compiler.driver import api, explanations
from compiler.driver.answers import lines_json
from compiler.driver.pipeline import stage_named
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.ir import random_values
from compiler.notebooks.literate import html
from compiler.protocol import accesses, proofs, storage
from compiler.protocol.answering import answers
from compiler.protocol.kinds import Json, OfProgram
from compiler.protocol.lesson_files import TABS, LessonFile, line_span, read
from compiler.protocol.teaching import EXAMPLE, LESSON, LessonAnswer, LessonRequest

_MEASURED = re.compile(r"\{=([^{}]+)\}")
_AS_ITEM = re.compile(r"(?m)^ *\{=[^{}]+\}(?=[.)])")
"""A number here would begin a Markdown list (`8.` at the beginning of a line)."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of measures: a program, an entry point, and the sizes of its inputs."""

    asked: OfProgram
    entry: str
    sizes: dict[str, int]

    @property
    def program(self) -> tuple[Any, ...]:
        """Fields that all requests about the program share."""
        return self.asked.source, self.asked.options, self.asked.files, self.asked.main

    def count(self, kinds: str, stage: str) -> int:
        """Count statements of some kinds at a stage.

        Errors: `UsageError` for a kind that no statement has.
        """
        counts = api.compilation(self.asked).result(stage_named(stage).id).counts
        wanted = [kind.strip() for kind in kinds.split("+")]
        if unknown := [kind for kind in wanted if kind not in counts]:
            hint = f"It counts {', '.join(counts)}."
            raise UsageError(
                f"Stage `{stage}` has nothing with the name `{unknown[0]}`.", hint=hint
            )
        return sum(counts[kind] for kind in wanted)

    def values(self, stage: str) -> dict[str, int]:
        """Map a stage's names of sizes to their values."""
        prog = api.compilation(self.asked).result(stage_named(stage).id).prog
        names = (param.name for fun in prog.funs for param in fun.params)
        return {name: self.sizes[base_of(name)] for name in names if base_of(name) in self.sizes}

    def lifetimes(self, stage: str) -> list[Json]:
        """Return the functions of a stage with their blocks, in bytes.

        Errors: `UsageError` where sizes are known only at run time.
        """
        values = self.values(stage)
        request = storage.LifetimesRequest(*self.program, stage=stage, values=values)
        functions: list[Json] = explanations.lifetimes(request)["functions"]
        if unknown := [name for fun in functions for name in fun["symbols"] if name not in values]:
            name = base_of(unknown[0])
            raise UsageError(
                f"The number of bytes depends on `{name}`, which is known only when the "
                "program runs."
            )
        return functions

    def bytes(self, stage: str) -> int:
        """Sum the bytes allocated in a run at a stage."""
        blocks = [block for fun in self.lifetimes(stage) for block in fun["blocks"]]
        return sum(block["size"] for block in blocks if block["kind"] == "alloc")

    def peak(self, stage: str) -> int:
        """Return the most bytes live at once."""
        return max(int(fun["peak"]["bytes"]) for fun in self.lifetimes(stage))

    def costs(self) -> accesses.AccessesAnswer:
        """Predict the cost of the memory accesses of the CUDA program."""
        ask = accesses.AccessesRequest(*self.program, entry=self.entry, sizes=self.sizes)
        return explanations.accesses(ask)

    def sectors(self, kind: str | None) -> int:
        """Sum the sectors that all warps fetch."""
        wanted = (kind, "both") if kind else ("reads", "writes", "both")
        found = [one for one in self.costs()["accesses"] if one["kind"] in wanted]
        return sum(one["predicted"]["sectors"] for one in found)

    def launches(self) -> int:
        """Count kernel launches."""
        return sum(kernel["launches"] for kernel in self.costs()["kernels"])

    def versions(self) -> int:
        """Count code versions: paths through the thresholds."""
        trees = explanations.tuning_tree(storage.TuningRequest(*self.program))["trees"]
        return sum(_leaves(one["trees"]) for one in trees) or 1

    def pairs(self) -> int:
        """Count pairs of index sets proved disjoint in successful short-circuiting."""
        found = explanations.attempts(proofs.AttemptsRequest(*self.program))["attempts"]
        return sum(len(one["obligations"]) for one in found if one["done"])

    def cell(self, array: str, index: str, stage: str) -> int:
        """Return the offset of an array element in its block.

        Errors: `UsageError` for an array or an element that does not exist.
        """
        ask = storage.MemoryRequest
        functions = explanations.memory(ask(*self.program, stage=stage))["functions"]
        for fun in functions:
            for one in fun["arrays"]:
                if one["base"] == array:
                    values = self.values(stage)
                    named = ask(*self.program, stage=stage, array=one["name"], values=values)
                    at = [int(number) for number in index.split(",")]
                    cells = explanations.memory(named)["cells"]
                    if found := [cell["cell"] for cell in cells if cell["index"] == at]:
                        return int(found[0])
                    raise UsageError(f"`{array}` has no element [{index}] that is listed.")
        raise UsageError(f"Stage `{stage}` has no array with the name `{array}`.")


def _leaves(nodes: list[Json]) -> int:
    """Count paths through a tree of thresholds."""
    found = 0
    for node in nodes:
        sides = [node.get("then", []), node.get("orelse", [])]
        if node["kind"] == "branch":
            found += sum(_leaves(side) or 1 for side in sides)
        else:
            found += sum(map(_leaves, (*sides, node.get("body", []))))
    return found


MEASURES: tuple[tuple[str, str, str, Callable[..., int]], ...] = (
    (r"count ([\w+ ]+) at (\w+)", "count KIND + KIND at STAGE", "statements of these kinds",
     Subject.count),
    (r"bytes at (\w+)", "bytes at STAGE", "bytes that are allocated", Subject.bytes),
    (r"peak at (\w+)", "peak at STAGE", "bytes that are needed at once", Subject.peak),
    (r"sectors(?: of (reads|writes))?", "sectors, sectors of reads, sectors of writes",
     "sectors of 32 bytes that the warps of a GPU access", Subject.sectors),
    (r"launches", "launches", "kernels that a GPU starts", Subject.launches),
    (r"versions", "versions", "code versions", Subject.versions),
    (r"pairs", "pairs", "pairs of sets of cells that are proved disjoint", Subject.pairs),
    (r"cell (\w+)\[([0-9, ]+)\] at (\w+)", "cell ARRAY[INDEX] at STAGE",
     "the cell of its block in which an element lies", Subject.cell),
)  # fmt: skip
"""Pattern, notation, quantity, and function of each measure."""


def measured(words: str, of: Subject) -> int:
    """Evaluate a measure. Raises UsageError for words that are none."""
    for pattern, _, _, measure in MEASURES:
        if found := re.fullmatch(pattern, words.strip()):
            return measure(of, *found.groups())
    known = "; ".join(notation for _, notation, _, _ in MEASURES)
    raise UsageError(f"`{words.strip()}` is not a measure.", hint=f"Measures are: {known}.")


def subject(lesson: LessonFile, source: str) -> Subject:
    """Compile a lesson's program `source` and fill in the sizes of its inputs."""
    asked = OfProgram(source, lesson.options)
    work = api.compilation(asked)
    fun = api.entry_function(work, lesson.entry)
    random_values.check_names(fun, lesson.sizes)
    usual = dict.fromkeys(random_values.inputs(fun, {}, 1).sizes, explanations.USUAL_SIZE)
    return Subject(asked, lesson.entry, usual | lesson.sizes)


@answers(LESSON)
def lesson(asked: LessonRequest) -> LessonAnswer:
    """Return a lesson with its number. Errors have their places in its text."""
    file = read(asked.lesson)
    if file.tab not in ("", *TABS):
        hint = f"{did_you_mean(file.tab, TABS)} The tabs are {', '.join(TABS)}.".strip()
        raise file.wrong("tab", f"There is no tab `{file.tab}`.", hint)
    with placed(file, "program"):
        of = subject(file, file.program)
        api.compilation(of.asked).result(of.asked.options.get("target", "c"))
    with placed(file, "measure"):
        value = measured(file.measure, of)
    src = _selected(file, of)
    text, after = (html(_filled(part, of, asked.lesson)) for part in (file.text, file.after))
    differ = f"The answer is given as {file.answer}; the compiler says {value}."
    answer: LessonAnswer = {
        "ok": True,
        "title": file.title,
        "html": text,
        "after": after,
        "source": file.program,
        "options": file.options,
        "stage": file.stage,
        "code": file.select,
        "src": src,
        "tab": file.tab,
        "object": file.object,
        "question": html(file.question),
        "choices": list(file.choices),
        "answer": file.answer,
        "measure": file.measure,
        "value": value,
        "sizes": of.sizes,
        "wrong": "" if file.answer in (None, value) else differ,
    }
    if file.goal is not None and file.par is not None:
        answer["puzzle"] = {
            "goal": file.goal,
            "par": file.par,
            "hints": [html(hint) for hint in file.hint],
            "solution": file.solution,
        }
        if value <= file.goal:
            answer["wrong"] = f"The puzzle is already solved: the compiler says {value}."
        elif file.solution:
            with placed(file, "solution"):
                reached = measured(file.measure, subject(file, file.solution))
            if reached != file.par:
                answer["wrong"] = f"The solution reaches {reached}, but par is given as {file.par}."
    return answer


def skeleton(name: str) -> Path:
    """Write a template of a lesson and return its path. Raises UsageError if that fails."""
    path = Path(name).with_suffix(".md")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(EXAMPLE)
    except OSError as error:
        raise UsageError(
            f"Cannot write `{path}`: {error.strerror}.", hint="Take another name."
        ) from None
    return path


@contextmanager
def placed(file: LessonFile, key: str) -> Iterator[None]:
    """Give errors their places in the lesson: of a program, or at the line of a key."""
    try:
        yield
    except CompileError as error:
        line = file.lines.get(key, 1)
        raise _moved(error, line, key in ("program", "solution")) from None


def _moved(error: CompileError, line: int, within: bool) -> CompileError:
    """Copy an error (compilations keep theirs) to a line, or shift it down by so many."""
    moved = type(error).__new__(type(error))
    moved.__dict__.update(error.__dict__)
    at = error.span
    if not at.line or not within:
        moved.span = line_span(line)
    elif not at.file:
        moved.span = at._replace(line=at.line + line - 1, end_line=at.end_line + line - 1)
    moved.others = tuple(_moved(one, line, within) for one in error.others)
    return moved


def _selected(file: LessonFile, of: Subject) -> list[int | str] | None:
    """Return the selected place in the program, of which the stage must show something."""
    if not file.stage:
        return None
    with placed(file, "stage"):
        lines = lines_json(api.compilation(of.asked).result(stage_named(file.stage).id).text)
    if not file.select:
        return None
    at = file.program.find(file.select)
    if at < 0:
        raise file.wrong("select", f"The program has no `{file.select}`.", "Copy it from there.")
    first, last = (span_at(file.program, end) for end in (at, at + len(file.select)))
    src = plain_span(Span(first.line, first.col, last.line, last.col))
    if not any(_meet(src, one) for line in lines for one in line["src"]):
        raise file.wrong(
            "select", f"Nothing of `{file.select}` is left at stage `{file.stage}`.",
            "Select the code that it has become a part of, or choose an earlier stage.",
        )  # fmt: skip
    return src


def _meet(a: Sequence[int | str], b: Sequence[int | str]) -> bool:
    """Return True if two places of the program overlap."""
    return not b[4:] and tuple(a[:2]) < tuple(b[2:4]) and tuple(b[:2]) < tuple(a[2:4])


def _filled(text: str, of: Subject, whole: str) -> str:
    """Replace each `{= measure}` in a text by its number."""

    def number(found: re.Match[str]) -> str:
        try:
            return f"{measured(found[1], of):,}"
        except CompileError as error:
            raise _moved(error, whole[: whole.index(found[0])].count("\n") + 1, False) from None

    return _MEASURED.sub(number, _AS_ITEM.sub(r"\g<0>\\", text))
