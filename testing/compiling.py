"""Compile programs for tests: keep compilations, and share equal stages between them.

The stages up to `fused` take half of a compilation, those up to `soa` a third. A test that
compiles one program in many ways has those made once that do not go by what is different.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from compiler.base.context import Ctx, Options
from compiler.base.errors import CompileError
from compiler.base.fuel import Fuel
from compiler.driver.pipeline import STAGES, Compilation
from compiler.ir.nodes import Call, Function, Prog
from compiler.ir.walk import all_stms

T = TypeVar("T")
PLAIN = Options()
SHARED = tuple(stage.id for stage in STAGES if not stage.target)
"""Stages that are the same for all targets."""


KEPT = 300
"""Compilations that are kept, of some 300 KB: all examples and whole programs for two targets."""


@lru_cache(maxsize=KEPT)
def compiled(source: str, options: Options = PLAIN) -> Compilation:
    """A compilation that is kept for the next who asks: nobody may change what it holds.

    A test that changes how is compiled (by `monkeypatch`) has what is kept forgotten before and
    after it, by `tests/conftest.py`.
    """
    early = replace(options, target=PLAIN.target, thresholds=(), enabled=PLAIN.enabled)
    return branch(_fused(source, early), options)


@lru_cache(maxsize=KEPT)
def _fused(source: str, options: Options) -> Compilation:
    return begun(source, options, SHARED[-1])


def forget() -> None:
    """Keep nothing of what was compiled so far."""
    compiled.cache_clear()
    _fused.cache_clear()


def begun(source: str, options: Options, last: str) -> Compilation:
    """A compilation that has come to a stage, one of SHARED, or to its error, and no further."""
    work = Compilation(source, options)
    with suppress(CompileError):
        work.result(last)
    return work


def different(work: Compilation, stages: Sequence[str]) -> Iterator[tuple[str, Prog]]:
    """Stages with their programs, but for those whose program is that of the stage before.

    Most programs come out of half of the stages as they went in: what a machine gives for one has
    been looked at then.
    """
    before: Prog | None = None
    for stage in stages:
        prog: Prog = work.result(stage).prog
        if prog != before:
            yield stage, prog
        before = prog


def changed(
    work: Compilation, first: str, stages: Sequence[str]
) -> Iterator[tuple[str, Prog, frozenset[str]]]:
    """Stages with the functions that differ from those of the stage before, or call one that does.

    Of several programs compiled at once, each is looked at again where it has changed itself.
    """
    before = {fun.name: fun for fun in work.result(first).prog.funs}
    for stage in stages:
        prog: Prog = work.result(stage).prog
        found: set[str] = set()
        for fun in prog.funs:
            old = before.get(fun.name)
            if (old is not fun and old != fun) or not found.isdisjoint(called(fun)):
                found.add(fun.name)
        before = {fun.name: fun for fun in prog.funs}
        if found:
            yield stage, prog, frozenset(found)


def called(fun: Function) -> set[str]:
    """The functions that a function calls itself."""
    return {stm.exp.fun for stm in all_stms(fun.body.stms) if isinstance(stm.exp, Call)}


def branch(work: Compilation, options: Options) -> Compilation:
    """The compilation with other options from here on: they agree in what was asked so far.

    `work` has no stage that is made for a target.
    """
    stages = {stage for stage, _ in work._results}
    assert stages <= {*SHARED}, "the stages of a target depend on the options"
    made = Compilation(work.source, options, dict(work._results))
    made._ctx = {target: _branched(ctx, options) for target, ctx in work._ctx.items()}
    return made


def _branched(ctx: Ctx, options: Options) -> Ctx:
    fuel = Fuel(options.fuel)
    fuel.spent = ctx.fuel.spent
    return replace(
        ctx,
        options=options,
        names=ctx.names.fork_at(ctx.names.mark()),
        fuel=fuel,
        fates=[*ctx.fates],
        records=dict(ctx.records),
        proved={stage: [*proofs] for stage, proofs in ctx.proved.items()},
        source=replace(ctx.source, loops={*ctx.source.loops}),
        _remarks=dict(ctx._remarks),
    )


def at_line(parts: Sequence[T], line: int, text: Callable[[T], str]) -> T | None:
    """Return the part that has a line of all the texts put together, each on lines of its own."""
    for part in parts:
        count = text(part).count("\n") + 1
        if 0 < line <= count:
            return part
        line -= count
    return None
