"""Pairs of programs before and after a pass, in `.cases` files.

    # title of the case
    -- sizes n=4 m=3                       values of sizes and integers by name (optional)
    -- off simplify/hoist                  rules that are switched off (optional)
    -- applied simplify/copy: the remark   every remark of the pass, in order
    entry main ..                          the program before
    ==>
    entry main ..                          the program after, or `=` if nothing changed

`pytest --update` writes the remarks and the program after.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compiler.base.context import Ctx, Options
from compiler.base.errors import RuntimeError_
from compiler.base.names import NameSource
from compiler.base.remarks import Remark
from compiler.driver.pipeline import verify
from compiler.ir.nodes import Prog
from compiler.ir.parser import parse
from compiler.ir.printer import show_text
from compiler.ir.random_values import inputs
from compiler.ir.values import Value
from compiler.semantics import interp

Pass = Callable[[Prog, Ctx], Prog]
_KINDS = ("applied", "missed", "note")


@dataclass(frozen=True)
class Case:
    """One pair; `head` are its `--` lines that are no remarks, `remarks` those that are."""

    title: str
    head: tuple[str, ...]
    remarks: tuple[str, ...]
    before: str
    after: str

    def setting(self, word: str) -> list[str]:
        """The words after `-- word`."""
        return [w for line in self.head if line.split()[1] == word for w in line.split()[2:]]

    def text(self) -> str:
        """The case as it stands in its file."""
        lines = [f"# {self.title}", *self.head, *self.remarks]
        return "\n".join(lines) + f"\n{self.before.rstrip()}\n==>\n{self.after.rstrip()}\n"


def load(path: Path) -> list[Case]:
    """All cases of a file, in order."""
    parts = re.split(r"^# ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]
    return [_case(part) for part in parts]


def _case(text: str) -> Case:
    title, rest = text.split("\n", 1)
    before, _, after = rest.partition("\n==>")
    lines = before.split("\n")
    marked = [line for line in lines if line.startswith("-- ")]
    program = "\n".join(line for line in lines if not line.startswith("-- "))
    remarks = tuple(line for line in marked if line.split()[1] in _KINDS)
    head = tuple(line for line in marked if line not in remarks)
    return Case(title.strip(), head, remarks, program, after.strip())


def check(path: Path, case: Case, run: Pass, stages: tuple[str, str], update: bool) -> None:
    """Run a pass on a case: text and remarks as written, valid before and after, equal values."""
    ctx = Ctx(
        Options(disabled=frozenset(case.setting("off"))),
        NameSource(1 + max((int(tag) for tag in re.findall(r"_(\d+)", case.before)), default=0)),
    )
    before = parse(case.before)
    verify(before, stages[0])
    after = run(before, ctx)
    verify(after, stages[1])
    got = Case(
        case.title,
        case.head,
        tuple(map(show_remark, ctx.remarks)),
        case.before,
        "=" if after == before else show_text(after),
    )
    assert_same_values(before, after, case)
    if update:
        _rewrite(path, got)
        return
    assert got.after == case.after.strip() or got.after.strip() == case.after.strip()
    assert got.remarks == case.remarks


def show_remark(remark: Remark) -> str:
    """A remark on one line."""
    hint = f" [{remark.hint}]" if remark.hint else ""
    numbers = "".join(f" ({name}: {value})" for name, value in remark.numbers)
    return f"-- {remark.kind} {remark.rule}: {remark.because}{hint}{numbers}"


def _rewrite(path: Path, new: Case) -> None:
    cases = [new if case.title == new.title else case for case in load(path)]
    intro = path.read_text("utf-8").partition("\n# ")[0] if cases else ""
    intro = "" if intro.startswith("# ") else intro.rstrip() + "\n\n"
    path.write_text(intro + "\n".join(case.text() for case in cases), "utf-8")


def assert_same_values(before: Prog, after: Prog, case: Case) -> None:
    """Both give the same results, or both stop with an error, on a few random inputs."""
    sizes = {k: int(v) for k, _, v in (w.partition("=") for w in case.setting("sizes"))}
    for fun in before.funs:
        if fun.entry:
            for seed in range(2):
                args = inputs(fun, {"n": 5, "m": 3, "k": 2, **sizes}, seed).values
                compare(run(before, fun.name, args), run(after, fun.name, args))


def run(prog: Prog, entry: str, args: Sequence[Value]) -> list[Value] | str:
    """The results, or `error` where the program stops with one."""
    try:
        return interp.run(prog, entry, [np.copy(a) if np.ndim(a) else a for a in args])
    except RuntimeError_:
        return "error"


ROUNDING = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-9}
"""Relative differences that come of another order of additions, by type."""


def compare(one: list[Value] | str, other: list[Value] | str) -> None:
    """Equal in number, types, shapes and every integer; floats but for the order of additions."""
    if isinstance(one, str) or isinstance(other, str):
        assert one == other
        return
    assert len(one) == len(other)
    for k, (a, b) in enumerate(zip(one, other, strict=True)):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), f"result {k}"
        if a.dtype.name in ROUNDING:
            np.testing.assert_allclose(b, a, ROUNDING[a.dtype.name], 0.0, err_msg=f"result {k}")
        else:
            np.testing.assert_array_equal(b, a, f"result {k}")
