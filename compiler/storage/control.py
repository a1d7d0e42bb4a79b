"""Memory for branches and loops: layouts returned along with arrays (procedures 4.3, 4.4).

An array that leaves a branch or is carried by a loop needs one index function for all paths.
Components on which all paths agree stay as they are. A block, an offset or a stride on which they
differ becomes a value that the branches return, or that the loop carries: `if c then a else
transpose a` returns two strides, and copies nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.algebra.lmad import Dim, Lmad, row_strides
from compiler.algebra.poly import Poly
from compiler.base.by_class import handles
from compiler.base.dataclass import dataclass
from compiler.base.names import Name, base_of
from compiler.base.rules import Rule
from compiler.base.spans import Prov
from compiler.ir import nodes as ir
from compiler.ir.sizes import se_of
from compiler.storage.origin import origin
from compiler.storage.state import Handler, MemoryState

HANDLERS: dict[type, Handler] = {}

BRANCH = Rule("memory/if", "Lets branches return arrays of different layouts.", optional=False)
LOOP = Rule("memory/loop", "Reports how loops use memory.", optional=False)

ZERO = Poly.const(0)


@dataclass(frozen=True, slots=True)
class Layout:
    """A layout on which paths agree; None stands for a component to be returned.

    `strides` is None as a whole for row-major strides of any shape.
    """

    block: Name | None
    offset: Poly | None
    strides: tuple[Poly | None, ...] | None

    def parts(self, mem: ir.MemBind) -> list[ir.Operand]:
        """Return the values of the returned components, for an array bound at `mem`."""
        values: list[ir.Operand] = [] if self.block else [mem.block]
        if self.offset is None:
            values.append(se_of(mem.lmad.offset))
        if self.strides is not None:
            pairs = zip(self.strides, mem.lmad.dims, strict=True)
            values += [se_of(dim.stride) for agreed, dim in pairs if agreed is None]
        return values

    def names(self) -> str:
        """Describe the returned components in words."""
        strides = self.strides is not None and None in self.strides
        found = [
            *(["its block"] if self.block is None else []),
            *(["its offset"] if self.offset is None else []),
            *(["its strides"] if strides else []),
        ]
        return ", ".join(found[:-1]) + (" and " if found[1:] else "") + "".join(found[-1:])


def bind_layout(
    state: MemoryState, param: ir.Param, layout: Layout, space: ir.Space
) -> list[ir.Param]:
    """Return parameters for the returned components, then the array in terms of them."""
    kind = param.type
    assert isinstance(kind, ir.Array)
    base = base_of(param.name)
    params: list[ir.Param] = []

    def part(suffix: str) -> Poly:
        new = state.bind(ir.Param(state.ctx.fresh(f"{base}_{suffix}"), ir.I64))
        params.append(new)
        return Poly.var(new.name)

    block = layout.block
    if block is None:
        new = state.bind(ir.Param(state.ctx.fresh(f"{base}_mem"), ir.Mem(kind.prim, space)))
        params.append(new)
        block = new.name
    offset = part("offset") if layout.offset is None else layout.offset
    if layout.strides is None:
        strides: Sequence[Poly] = row_strides(kind.shape, Poly.const(1))
    else:
        strides = [part("stride") if agreed is None else agreed for agreed in layout.strides]
    dims = tuple(Dim(n, stride) for n, stride in zip(kind.shape, strides, strict=True))
    array = ir.Array(kind.prim, kind.shape, ir.MemBind(block, Lmad(offset, dims)))
    params.append(state.bind(ir.Param(param.name, array, param.unique)))
    return params


# --- branches ---


@handles(HANDLERS, ir.If)
def transform_if(state: MemoryState, stm: ir.Stm, out: list[ir.Stm]) -> None:
    """Transform both branches, and return the components of each array's layout that differ."""
    exp = stm.exp
    assert isinstance(exp, ir.If)
    state.depth += 1
    then, orelse = state.transform(exp.then.stms), state.transform(exp.orelse.stms)
    state.depth -= 1
    then_results: list[ir.Operand] = []
    else_results: list[ir.Operand] = []
    pat: list[ir.Param] = []
    for param, x, y in zip(stm.pat, exp.then.results, exp.orelse.results, strict=True):
        if isinstance(x, str) and isinstance(y, str):
            space = state.space_of(state.mem(x).block)
            if state.space_of(state.mem(y).block) != space:
                space = "device"
            x = _in_space(state, x, space, stm.prov, then)
            y = _in_space(state, y, space, stm.prov, orelse)
            layout = _agreement(state, state.mem(x), state.mem(y))
            pat += bind_layout(state, param, layout, space)
            then_results += layout.parts(state.mem(x))
            else_results += layout.parts(state.mem(y))
            _explain_if(state, param, layout, stm.prov)
        else:
            pat.append(state.bind(param))
        then_results.append(x)
        else_results.append(y)
    new = ir.If(
        exp.cond,
        ir.Body(tuple(then), tuple(then_results), exp.then.prov),
        ir.Body(tuple(orelse), tuple(else_results), exp.orelse.prov),
    )
    out.append(ir.Stm(tuple(pat), new, stm.prov))


def _agreement(state: MemoryState, x: ir.MemBind, y: ir.MemBind) -> Layout:
    """Return the components that two branches share and that are in scope outside."""
    depth = state.depth
    same_block = x.block == y.block and state.name_in_scope(x.block, depth)
    offset = _common(state, x.lmad.offset, y.lmad.offset)
    if state.is_row_major(x.lmad) and state.is_row_major(y.lmad):
        return Layout(x.block if same_block else None, offset, None)
    pairs = zip(x.lmad.dims, y.lmad.dims, strict=True)
    strides = tuple(_common(state, a.stride, b.stride) for a, b in pairs)
    return Layout(x.block if same_block else None, offset, strides)


def _common(state: MemoryState, x: Poly, y: Poly) -> Poly | None:
    return x if x == y and state.in_scope(x, state.depth) else None


def _in_space(
    state: MemoryState, array: Name, space: ir.Space, prov: Prov, out: list[ir.Stm]
) -> Name:
    """Return `array`, or a copy of it if it lies in another space."""
    if state.space_of(state.mem(array).block) == space:
        return array
    state.depth += 1
    copied = state.copy(array, prov, out, space)
    state.depth -= 1
    return copied


def _explain_if(state: MemoryState, param: ir.Param, layout: Layout, prov: Prov) -> None:
    if layout.block is not None and (layout.offset is None or layout.strides is not None):
        state.note(
            BRANCH,
            prov,
            f"The branches leave {state.called(param.name)} at different places of one "
            f"block, so they also return {layout.names() or 'nothing more'}, and no "
            "element is copied.",
        )
    elif layout.offset is None or layout.strides is not None:
        state.note(
            BRANCH,
            prov,
            f"The branches lay out {state.called(param.name)} differently, so they also "
            f"return {layout.names()}, and no element is copied.",
        )


# --- loops ---


@handles(HANDLERS, ir.Loop)
def transform_loop(state: MemoryState, stm: ir.Stm, out: list[ir.Stm]) -> None:
    """Guess each carried array's layout, transform the body, and widen failed guesses."""
    exp = stm.exp
    assert isinstance(exp, ir.Loop)
    init = list(exp.init)
    layouts = {}
    for k, param in enumerate(exp.params):
        if isinstance(param.type, ir.Array):
            init[k], layouts[k] = _first_guess(state, exp, k, stm.prov, out)
    exp = replace(exp, init=tuple(init))
    while True:
        notes, shared = len(state.notes), state.shared_left
        params, body, ends = _attempt(state, exp, layouts)
        wrong = {
            k: wider
            for k, layout in layouts.items()
            if (wider := _widened(state, layout, state.mem(str(init[k])), ends[k])) != layout
        }
        if not wrong:
            break
        del state.notes[notes:]
        state.shared_left = shared
        layouts.update(wrong)
    for k, layout in layouts.items():
        _explain_loop(state, exp.params[k], layout, ends[k], stm.prov)
    start: list[ir.Operand] = []
    pat: list[ir.Param] = []
    for k, param in enumerate(stm.pat):
        if k in layouts:
            mem = state.mem(str(init[k]))
            start += layouts[k].parts(mem)
            pat += bind_layout(state, param, layouts[k], state.space_of(mem.block))
        else:
            pat.append(state.bind(param))
        start.append(init[k])
    out.append(ir.Stm(tuple(pat), ir.Loop(params, tuple(start), exp.form, body), stm.prov))


def _first_guess(
    state: MemoryState, loop: ir.Loop, k: int, prov: Prov, out: list[ir.Stm]
) -> tuple[ir.Operand, Layout]:
    """Return the initial value, copied if its layout is not worth carrying, and the first guess.

    An array updated in place keeps its incoming block and layout. Another becomes row-major, in a
    block that the loop carries.
    """
    start, end = loop.init[k], loop.body.results[k]
    assert isinstance(start, str)
    assert isinstance(end, str)
    mem = state.mem(start)
    if origin(loop.body, end) == loop.params[k].name:
        strides = None if state.is_row_major(mem.lmad) else mem.lmad.strides
        return start, Layout(mem.block, mem.lmad.offset, strides)
    if not state.is_row_major(mem.lmad):
        kind = state.array(start)
        state.note(
            LOOP,
            prov,
            f"Copies {state.called(start)} once before the loop, because it is not "
            "row-major but its values in later iterations are.",
            ("copied", state.spell.size(kind.prim, Poly.product(kind.shape))),
        )
        start = state.copy(start, prov, out)
        mem = state.mem(start)
    return start, Layout(None, ZERO if mem.lmad.offset == 0 else None, None)


def _attempt(
    state: MemoryState, loop: ir.Loop, layouts: dict[int, Layout]
) -> tuple[tuple[ir.Param, ...], ir.Body, dict[int, ir.MemBind]]:
    """Transform the loop under the guesses; return parameters, body and final bindings."""
    state.depth += 1
    params: list[ir.Param] = []
    for k, param in enumerate(loop.params):
        if k in layouts:
            space = state.space_of(state.mem(str(loop.init[k])).block)
            params += bind_layout(state, param, layouts[k], space)
        else:
            params.append(state.bind(param))
    if isinstance(loop.form, ir.ForLoop):
        state.index(loop.form.index)
    stms = state.transform(loop.body.stms)
    results: list[ir.Operand] = []
    ends: dict[int, ir.MemBind] = {}
    for k, result in enumerate(loop.body.results):
        if k in layouts:
            space = state.space_of(state.mem(str(loop.init[k])).block)
            result = _in_space(state, str(result), space, (), stms)
            ends[k] = state.mem(result)
            results += layouts[k].parts(ends[k])
        results.append(result)
    state.depth -= 1
    return tuple(params), ir.Body(tuple(stms), tuple(results), loop.body.prov), ends


def _widened(state: MemoryState, layout: Layout, start: ir.MemBind, end: ir.MemBind) -> Layout:
    """Widen a layout: return the components that an iteration did not preserve."""
    block = layout.block if layout.block == end.block else None
    offset = layout.offset
    if offset is not None and offset != end.lmad.offset:
        offset = None
    strides = layout.strides
    if strides is None:
        if not state.is_row_major(end.lmad):
            pairs = zip(start.lmad.dims, end.lmad.dims, strict=True)
            strides = tuple(_common(state, a.stride, b.stride) for a, b in pairs)
    else:
        ends = zip(strides, end.lmad.dims, strict=True)
        strides = tuple(agreed if agreed == dim.stride else None for agreed, dim in ends)
    return Layout(block, offset, strides)


def _explain_loop(
    state: MemoryState, param: ir.Param, layout: Layout, end: ir.MemBind, prov: Prov
) -> None:
    if layout.block is not None or state.in_kernel:
        return  # inside a kernel, expansion decides
    kind = param.type
    assert isinstance(kind, ir.Array)
    made_here = not state.name_in_scope(end.block, state.depth)
    if made_here:
        state.note(
            LOOP,
            prov,
            f"{state.called(param.name)} moves to another block in every iteration, because "
            "its next value is not built in place.",
            ("a block", state.spell.size(kind.prim, Poly.product(kind.shape))),
        )
