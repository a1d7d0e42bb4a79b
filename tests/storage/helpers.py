"""Arguments and thresholds for a program's entry point, and the memory passes in a row."""

from __future__ import annotations

import numpy as np

from compiler.base.context import Ctx
from compiler.base.dtypes import DTYPE
from compiler.base.names import NameSource
from compiler.driver.pipeline import verify
from compiler.driver.targets import target_named
from compiler.ir.nodes import Array, Param, Prog
from compiler.ir.parser import parse
from compiler.ir.values import Value
from compiler.storage.allocate import allocate
from compiler.storage.expand import expand
from tests.storage import programs

ALL = {name: text for name, text in vars(programs).items() if name.isupper()}
TARGETS = ("c", "cuda")


def context(target: str = "c") -> Ctx:
    return Ctx(names=NameSource(1000), target=target_named(target), stage="funmem")


def with_memory(text: str, ctx: Ctx | None = None) -> Prog:
    """The program at stage `funmem`, checked."""
    prog = parse(text)
    verify(prog, "flat")
    prog = allocate(prog, ctx or context())
    verify(prog, "funmem")
    return prog


def expanded(text: str, target: str, ctx: Ctx | None = None) -> Prog:
    """The program at stage `expanded`, checked."""
    ctx = ctx or context(target)
    prog = expand(with_memory(text, ctx), ctx)
    verify(prog, "expanded")
    return prog


def arguments(prog: Prog, seed: int) -> list[Value]:
    """Small random arguments for the first function; sizes from 0 to 5."""
    fun = prog.funs[0]
    rng = np.random.default_rng(seed)
    sizes = {param.name: int(rng.integers(0, 6)) for param in fun.params[: fun.implicit]}
    return [_argument(param, sizes, rng) for param in fun.params[fun.implicit :]]


def _argument(param: Param, sizes: dict[str, int], rng: np.random.Generator) -> Value:
    kind = param.type
    if isinstance(kind, Array):
        shape = [size.evaluate(sizes) for size in kind.shape]
        return rng.integers(0, 4, shape).astype(DTYPE[kind.prim])
    return DTYPE[kind.prim].type(rng.integers(0, 5))
