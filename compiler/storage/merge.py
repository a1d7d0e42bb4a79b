"""Blocks whose lives never meet share memory (thesis, chapter 5): the stage `merged`.

Blocks of one body, of one space and element type, are coloured greedily in order of their first
use. The first block of a colour keeps its name and must be large enough for the others, whose
allocations go away. Only blocks that the host allocates are looked at: kernels have none in device
memory any more, and their own variables are the back ends' business.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from compiler.base.context import Ctx
from compiler.base.names import Name, base_of
from compiler.base.remarks import Applied, Missed
from compiler.base.spans import user_spans
from compiler.ir.nodes import Alloc, Body, Function, If, Loop, Prog, Stm
from compiler.ir.walk import map_stms, subst
from compiler.storage.interference import Life, Sizes, host_bodies, lives

RULE = "merge/blocks"
Data = dict[str, Any]


def merge(prog: Prog, ctx: Ctx) -> Prog:
    """The program with fewer blocks; the same object if none can be shared."""
    if ctx.options.is_off(RULE):
        return prog
    funs = tuple(_function(fun, ctx) for fun in prog.funs)
    same = all(new is old for new, old in zip(funs, prog.funs, strict=True))
    return prog if same else Prog(funs)


def interference(prog: Prog) -> Data:
    """Under `functions`, for each its name and `bodies`: one graph per body with several blocks.

    A graph has `nodes` (name, base, bytes as text, prim, space, from and until as numbers of
    statements, escapes, colour, src) and `edges`: pairs of indices of nodes whose lives meet.
    Nodes of one colour can share memory.
    """
    return {
        "functions": [
            {"name": fun.name, "bodies": [_graph(found, fun) for found in _all_lives(fun)]}
            for fun in prog.funs
        ]
    }


def _all_lives(fun: Function) -> list[list[Life]]:
    return [found for body in host_bodies(fun.body) if (found := lives(body))]


def _graph(found: list[Life], fun: Function) -> Data:
    colours = _coloured(found, Sizes(fun), None)
    number = {life.name: k for k, one in enumerate(colours) for life in one.members}
    return {
        "nodes": [
            {
                "name": life.name,
                "base": base_of(life.name),
                "bytes": str(life.bytes),
                "prim": life.alloc.prim,
                "space": life.alloc.space,
                "from": life.start,
                "until": life.until,
                "escapes": life.escapes,
                "colour": number[life.name],
                "src": user_spans(life.prov),
            }
            for life in found
        ],
        "edges": [
            [i, j]
            for i, a in enumerate(found)
            for j, b in enumerate(found[i + 1 :], i + 1)
            if a.meets(b)
        ],
    }


@dataclass(slots=True)
class _Colour:
    """Blocks that share memory, the first of which keeps its name; `until` is the last one's."""

    members: list[Life]
    until: int

    @property
    def keeper(self) -> Life:
        return self.members[0]


def _function(fun: Function, ctx: Ctx) -> Function:
    renamed: dict[Name, Name] = {}
    sizes: Sizes | None = None
    for found in _all_lives(fun):
        sizes = sizes or Sizes(fun)
        for colour in _coloured(found, sizes, ctx):
            for life in colour.members[1:]:
                renamed[life.name] = colour.keeper.name
    if not renamed:
        return fun
    stms = _without(fun.body.stms, renamed)
    body = subst(Body(stms, fun.body.results), renamed)
    return replace(fun, body=body)


def _without(stms: tuple[Stm, ...], gone: dict[Name, Name]) -> tuple[Stm, ...]:
    """The statements without the allocations of `gone`, also in branches and loops of the host."""

    def inside(nested: tuple[Stm, ...]) -> tuple[Stm, ...]:
        return _without(nested, gone)

    kept = []
    for stm in stms:
        if isinstance(stm.exp, Alloc) and stm.pat[0].name in gone:
            continue
        if isinstance(stm.exp, (If, Loop)):
            exp = map_stms(stm.exp, inside)
            kept.append(stm if exp is stm.exp else Stm(stm.pat, exp, stm.prov))
        else:
            kept.append(stm)
    same = len(kept) == len(stms) and all(a is b for a, b in zip(kept, stms, strict=True))
    return stms if same else tuple(kept)


def _coloured(found: list[Life], sizes: Sizes, ctx: Ctx | None) -> list[_Colour]:
    """Colours in order of their first block. With `ctx`, its options and fuel have their say."""
    colours: list[_Colour] = []
    for life in found:
        chosen = _choose(life, colours, sizes, ctx)
        if chosen is None:
            colours.append(_Colour([life], life.until))
        else:
            chosen.members.append(life)
            chosen.until = life.until
    return colours


def _choose(life: Life, colours: list[_Colour], sizes: Sizes, ctx: Ctx | None) -> _Colour | None:
    """The colour of a block: one of its very size if there is one, else a larger one."""
    alike = [c for c in colours if _alike(c.keeper, life)]
    free = [c for c in alike if c.until < life.start]
    for colour in free:
        if sizes.equal(colour.keeper, life):
            return colour if _settled(colour.keeper, life, "the same size", ctx) else None
    if not life.escapes:
        for colour in free:
            if sizes.holds(colour.keeper, life):
                return colour if _settled(colour.keeper, life, "enough room", ctx) else None
    if ctx is not None:
        _refused(life, free, alike, sizes, ctx)
    return None


def _array(life: Life) -> str:
    """What the array in the block is called in the program."""
    return base_of(life.name).removesuffix("_mem")


def _alike(a: Life, b: Life) -> bool:
    return a.alloc.prim == b.alloc.prim and a.alloc.space == b.alloc.space


def _settled(keeper: Life, life: Life, why: str, ctx: Ctx | None) -> bool:
    if ctx is None:
        return True
    because = (
        f"The earlier block of `{_array(keeper)}` is not used any more when `{_array(life)}` is "
        f"first written, and has {why}: both are one block."
    )
    numbers = (("bytes saved", str(life.bytes)),)
    return ctx.settle(RULE, life.prov, Applied(True, because, numbers)) is not None


def _refused(life: Life, free: list[_Colour], alike: list[_Colour], sizes: Sizes, ctx: Ctx) -> None:
    """Say why a block that came close got memory of its own."""
    name = _array(life)
    numbers = (("bytes", str(life.bytes)),)
    if free:
        other = free[-1].keeper
        if life.escapes:
            because = f"`{name}` outlives its body, and no free block has exactly its size."
        else:
            because = (
                f"The earlier block of `{_array(other)}` is free when `{name}` is written, but "
                f"{other.alloc.count} is not known to be at least {life.alloc.count}."
            )
        ctx.settle(RULE, life.prov, Missed(because, "", numbers))
        return
    for colour in alike:
        last = colour.members[-1]
        if last.escapes and last.mentioned < life.start and sizes.equal(colour.keeper, life):
            because = (
                f"The earlier block of `{_array(last)}` has the size of `{name}`, "
                "but a branch, a loop or a result goes on using it."
            )
            ctx.settle(RULE, life.prov, Missed(because, "", numbers))
            return
