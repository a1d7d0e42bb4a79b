"""Move rows of threads to a block of their own in which a row's elements are interleaved.

Several results of a kernel may lie in one block, together with arrays that it reads. One result is
moved: all arrays of the kernel that may share its memory, and the parts built in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir.sharing import of_statements
from compiler.ir.slices import sliced_poly
from compiler.ir.walk import all_stms, count_uses, map_stms

_VIEWS = (ir.Index, ir.Slice, ir.Rearrange, ir.Reshape, ir.Update, ir.If, ir.Loop)
"""Operations that create no array of their own."""


class Relaid:
    """The arrays of a kernel that become result `at`, moved to a new block.

    Element x of the row of thread t lies at `x*threads + t`, as in expanded memory.
    """

    def __init__(self, exp: ir.SegMapping, at: int, kind: ir.Array) -> None:
        assert kind.mem is not None
        self.old = kind.mem.block
        self.block = kind.mem.block
        """The new block."""
        self.flat, self.threads = Poly.const(0), Poly.const(1)
        for index, bound in exp.space.dims:
            self.flat = self.flat * bound + Poly.var(index)
            self.threads = self.threads * bound
        self.row = Poly.product(kind.shape[len(exp.space.dims) :])
        self.place = kind.mem.lmad.fix(*(Poly.var(index) for index, _ in exp.space.dims))
        """Index function of the current thread's row."""
        self.is_possible = False
        """True if the arrays belong to the kernel, fill rows, and have known places."""
        self.moved: set[Name] = set()
        """Arrays that go to the new block."""
        self._find(exp, exp.body.results[at])

    def _find(self, exp: ir.SegOp, result: ir.KernelResult) -> None:
        there: dict[Name, ir.Array] = {}
        chosen: set[Name] = set()
        made: set[Name] = set()
        for stm in all_stms(exp.body.stms):
            params = (*stm.pat, *(stm.exp.params if isinstance(stm.exp, ir.Loop) else ()))
            if isinstance(stm.exp, (ir.Loop, ir.If)):
                chosen.update(param.name for param in params)
            for param in params:
                kind = param.type
                if isinstance(kind, ir.Array) and kind.mem and kind.mem.block == self.old:
                    there[param.name] = kind
                    if not isinstance(stm.exp, _VIEWS):
                        made.add(param.name)
        if count_uses(exp.body).get(self.old, 0) != len(there):
            return
        if (
            not isinstance(result, str)
            or result not in there
            or not _mem(there[result]).lmad.same_cells(self.place)
        ):
            self.is_possible = True  # The result comes from elsewhere at the kernel's end.
            return
        same = of_statements(exp.body.stms)
        parts = list(_built_in(exp.body.stms, there))
        fits = {(same.find(result), self.row)}
        fits |= {(same.find(part), Poly.product(there[part].shape)) for _, part in parts}
        whole = {name: (same.find(name), Poly.product(there[name].shape)) for name in made}
        for of, part in parts:
            same.join(of, part)
        own = same.find(result)
        self.moved = {name for name in there if same.find(name) == own}
        self.is_possible = (
            all(whole[name] in fits for name in made & self.moved)
            and not any(_mem(there[name]).lmad.names() & chosen for name in self.moved)
            and all(name in there or same.find(name) != own for name in count_uses(exp.body))
        )

    def stms(self, stms: tuple[ir.Stm, ...]) -> tuple[ir.Stm, ...]:
        """Rebind the arrays in statements to their new places."""
        out = []
        for stm in stms:
            exp = map_stms(stm.exp, self.stms)
            if isinstance(exp, ir.Loop):
                exp = replace(exp, params=tuple(map(self._param, exp.params)))
            out.append(ir.Stm(tuple(map(self._param, stm.pat)), exp, stm.prov))
        return tuple(out)

    def _param(self, param: ir.Param) -> ir.Param:
        """Return a name with its array's new binding."""
        kind = param.type
        if param.name not in self.moved or not isinstance(kind, ir.Array):
            return param
        lmad = _mem(kind).lmad
        offset = self.flat + (lmad.offset - self.place.offset) * self.threads
        dims = tuple(Dim(dim.size, dim.stride * self.threads) for dim in lmad.dims)
        mem = ir.MemBind(self.block, Lmad(offset, dims))
        return replace(param, type=ir.Array(kind.prim, kind.shape, mem))


def _mem(kind: ir.Array) -> ir.MemBind:
    assert kind.mem is not None
    return kind.mem


def _built_in(stms: tuple[ir.Stm, ...], there: dict[Name, ir.Array]) -> Iterator[tuple[Name, Name]]:
    """Yield arrays, each with one that is built inside it."""
    for stm in all_stms(stms):
        for whole, part, place in _parts(stm, there):
            if part in there and place is not None and place.same_cells(_mem(there[part]).lmad):
                yield whole, part


Part = tuple[Name, Name, Lmad[Poly] | None]
"""An array, an operand put into it, and its place there."""


def _parts(stm: ir.Stm, there: dict[Name, ir.Array]) -> Iterator[Part]:
    """Yield the operands that a statement puts into its result arrays."""
    for at, param in enumerate(stm.pat):
        if param.name in there:
            for part, place in _parts_of(stm.exp, at, _mem(there[param.name]).lmad, there):
                yield param.name, part, place


def _parts_of(
    exp: ir.Exp, at: int, lmad: Lmad[Poly], there: dict[Name, ir.Array]
) -> Iterator[tuple[Name, Lmad[Poly] | None]]:
    """Yield the operands put into result `at`, which lies at `lmad`."""
    match exp:
        case ir.Copy(array):
            yield array, lmad
        case ir.Update(_, dims, str(value)):
            yield value, sliced_poly(lmad, dims)
        case ir.ArrayLit(elems):
            for k, elem in enumerate(elems):
                if isinstance(elem, str):
                    yield elem, lmad.fix(Poly.const(k))
        case ir.Concat(arrays):
            start = Poly.const(0)
            for array in arrays:
                if array not in there:
                    return
                count = there[array].shape[0]
                yield array, lmad.slice(0, start, count, Poly.const(1))
                start += count
        case ir.SegMap(_, space, body):
            result = body.results[at]
            if isinstance(result, str):
                yield result, lmad.fix(*(Poly.var(index) for index, _ in space.dims))
