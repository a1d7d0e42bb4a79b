"""Turn operators around growing arrays into loops: a kernel's memory is reserved in advance.

An array grows if a loop carries it, its size changes between iterations, and its initial or next
value is made inside the operator. An array that only shrinks, as a slice of an array from outside,
needs no memory: threads can do that.
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.base.context import Ctx
from compiler.base.names import Name, base_of
from compiler.base.rules import Rule
from compiler.ir import nodes as ir
from compiler.ir.walk import NESTED, all_stms, map_stms
from compiler.parallel.sequentialise import SOACS, outer_loop

GROWING = Rule(
    "flatten/growing",
    "Turns a parallel operator around an array that grows into a loop.",
    optional=False,
)


def loops_around_growth(stms: tuple[ir.Stm, ...], ctx: Ctx) -> tuple[ir.Stm, ...]:
    """Replace operators around growing arrays by loops."""
    if not any(isinstance(stm.exp, ir.Loop) and _resized(stm.exp) for stm in all_stms(stms)):
        return stms
    out: list[ir.Stm] = []
    for stm in stms:
        ones = [stm]
        name = _grows(stm) if type(stm.exp) in SOACS else None
        if name is not None:
            because = (
                f"`{base_of(name)}` grows in a loop, and threads cannot allocate "
                "memory, so the elements are processed one after the other."
            )
            hint = "Create it with its largest possible size, and count the elements in use."
            ctx.tell("missed", GROWING, stm.prov, because, hint)
            ones = outer_loop(stm, ctx.fresh)
        for one in ones:
            exp = one.exp
            if type(exp) in NESTED:
                exp = map_stms(exp, lambda inner: loops_around_growth(inner, ctx))
            out.append(ir.Stm(one.pat, exp, one.prov))
    return tuple(out)


def _resized(loop: ir.Loop) -> list[int]:
    """Return the positions of loop-carried arrays whose sizes change."""
    sizes = {p.name for p in loop.params if p.type == ir.I64}
    return [
        k
        for k, p in enumerate(loop.params)
        if isinstance(p.type, ir.Array) and any(d.names() & sizes for d in p.type.shape)
    ]


def _grows(stm: ir.Stm) -> Name | None:
    """Return an array that grows inside an operator, or None."""
    inside = list(all_stms((stm,)))[1:]
    made: dict[Name, ir.Exp] = {p.name: one.exp for one in inside for p in one.pat}
    position = {p.name: k for one in inside for k, p in enumerate(one.pat)}
    for one in inside:
        if isinstance(one.exp, ir.Loop):
            for k in _resized(one.exp):
                for value in (one.exp.init[k], one.exp.body.results[k]):
                    if _is_made(value, made, position):
                        return one.exp.params[k].name
    return None


def _is_made(value: ir.Operand, made: Mapping[Name, ir.Exp], position: Mapping[Name, int]) -> bool:
    """Return True if an array may have memory of its own allocated inside."""
    todo: list[ir.Operand] = [value]
    seen: set[Name] = set()
    while todo:
        name = todo.pop()
        if not isinstance(name, str) or name in seen or name not in made:
            continue
        seen.add(name)
        match made[name]:
            case ir.Slice(array) | ir.Rearrange(_, array) | ir.Reshape(_, array):
                todo.append(array)
            case ir.Update(array):
                todo.append(array)
            case ir.If(_, then, orelse):
                todo += [body.results[position[name]] for body in (then, orelse)]
            case ir.Loop(_, init, _, body):
                todo += [init[position[name]], body.results[position[name]]]
            case _:
                return True
    return False
