"""Running all code versions of a flattened program."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.base.context import Ctx, Options
from compiler.base.errors import RuntimeError_
from compiler.base.names import NameSource
from compiler.driver.pipeline import verify
from compiler.driver.targets import target_named
from compiler.ir.nodes import Prog, SegOp, Threshold
from compiler.ir.values import Value
from compiler.ir.walk import all_stms
from compiler.parallel.flatten import flatten
from compiler.semantics import interp
from tests.cases import compare, run

NEVER, ALWAYS = 10**12, 0


def flat(prog: Prog, target: str = "c", **options: frozenset[str]) -> tuple[Prog, Ctx]:
    """A program after flattening, checked before and after."""
    verify(prog, "fused")
    ctx = Ctx(Options(**options), NameSource(10_000), target=target_named(target))  # type: ignore[arg-type]
    after = flatten(prog, ctx)
    verify(after, "flat")
    return after, ctx


def thresholds(prog: Prog) -> list[str]:
    """The names of the thresholds, in order of text."""
    stms = [s for fun in prog.funs for s in all_stms(fun.body.stms)]
    return [s.exp.name for s in stms if isinstance(s.exp, Threshold)]


def kernels(prog: Prog) -> list[str]:
    """The operators of the kernels, in order of text."""
    stms = [s for fun in prog.funs for s in all_stms(fun.body.stms)]
    return [type(s.exp).__name__ for s in stms if isinstance(s.exp, SegOp)]


def versions(prog: Prog) -> list[dict[str, int]]:
    """Settings that take every kind of version: outer only, everything, a block per element."""
    names = thresholds(prog)
    return [
        dict.fromkeys(names, ALWAYS),
        dict.fromkeys(names, NEVER),
        {name: ALWAYS if "intra" in name else NEVER for name in names},
    ]


def compare_all(before: Prog, after: Prog, args: Sequence[Value]) -> None:
    """Equal results, or errors, before flattening and after it in all versions."""
    wanted = run(before, "main", args)
    for setting in versions(after):
        try:
            got: list[Value] | str = interp.run(after, "main", args, thresholds=setting)
        except RuntimeError_:
            got = "error"
        compare(wanted, got)
