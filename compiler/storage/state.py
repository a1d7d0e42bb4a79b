"""State of the memory passes while they traverse a function: types, scopes, fresh blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.names import Name, base_of
from compiler.base.prim import BYTES, Prim
from compiler.base.remarks import Remark
from compiler.base.rules import Rule
from compiler.base.spans import Prov
from compiler.ir import nodes as ir
from compiler.ir.known import Known
from compiler.ir.sizes import poly_of, prim_of, se_of
from compiler.ir.source_names import Spelling, sentence
from compiler.storage.strides import in_order
from compiler.storage.transposed_rows import Order

SHARED_BYTES = 32 * 1024
"""Budget of shared memory per thread block for arrays of bounded size, in bytes."""


class MemoryState:
    """The environment of procedure 4.2: types with memory, and scope depths.

    Names are unique in a program, so entries are never removed; a name is in scope at a depth if it
    was bound at that depth or above.
    """

    __slots__ = (
        "ctx",
        "depth",
        "fits",
        "given",
        "handlers",
        "in_kernel",
        "known",
        "levels",
        "most",
        "notes",
        "outside",
        "per_block",
        "results_of",
        "shared_left",
        "spell",
        "turned",
        "types",
    )

    def __init__(
        self,
        ctx: Ctx,
        handlers: Mapping[type, Handler],
        fits: Callable[[Poly], bool],
        most: Callable[[Poly], int | None],
        spell: Spelling,
        turned: Mapping[Name, Order],
        results_of: Mapping[str, tuple[Order, ...]],
    ) -> None:
        self.ctx = ctx
        self.spell = spell
        """Source names."""
        self.turned = turned
        """Arrays laid out in an order other than row-major, with that order."""
        self.results_of = results_of
        """Layout orders of the array results of functions."""
        self.fits = fits
        """Test whether an array's size equals its polynomial, without wrapping."""
        self.most = most
        """Return a constant upper bound of a size, or None."""
        self.handlers = handlers
        """Statement transformers by expression class; other statements are unchanged."""
        self.known = Known()
        """Equalities between sizes."""
        self.types: dict[Name, ir.Type] = {}
        self.levels: dict[Name, int] = {}
        self.depth = 0
        self.notes: list[Remark] = []
        """Remarks, deferred while a loop's layout may still be revised."""
        self.in_kernel = False
        self.per_block = False
        """True if a whole thread block executes the current statements."""
        self.given: frozenset[Name] = frozenset()
        """Arrays that the current kernel makes for its result alone, where they may be built."""
        self.outside = 0
        """Scope depth around the current kernel."""
        self.shared_left = 0

    def transform(self, stms: Sequence[ir.Stm]) -> list[ir.Stm]:
        """Transform statements (procedure 4.2); inserts new ones."""
        out: list[ir.Stm] = []
        handlers = self.handlers
        for stm in stms:
            handler = handlers.get(type(stm.exp))
            if handler is None:
                for param in stm.pat:
                    self.bind(param)
                out.append(stm)
            else:
                handler(self, stm, out)
        return out

    def bind(self, param: ir.Param) -> ir.Param:
        """Enter a name with its type; returns the parameter."""
        self.types[param.name] = param.type
        self.levels[param.name] = self.depth
        return param

    def index(self, name: Name) -> None:
        """Enter an i64 index of a loop or kernel."""
        self.levels[name] = self.depth

    def array(self, name: Name) -> ir.Array:
        """Return the type of an array, with its memory."""
        found = self.types[name]
        assert isinstance(found, ir.Array)
        return found

    def mem(self, name: Name) -> ir.MemBind:
        """Return the binding of an array."""
        found = self.array(name).mem
        assert found is not None
        return found

    def is_row_major(self, lmad: Lmad[Poly]) -> bool:
        """True if an array is densely row-major, given known equalities of sizes."""
        return lmad.is_row_major() or self.known.normal_lmad(lmad).is_row_major()

    def space_of(self, block: Name) -> ir.Space:
        """Return the space of a block."""
        found = self.types[block]
        assert isinstance(found, ir.Mem)
        return found.space

    def in_scope(self, poly: Poly, depth: int) -> bool:
        """True if every name of `poly` is bound at `depth` or above."""
        return all(self.levels.get(name, 0) <= depth for name in poly.names())

    def name_in_scope(self, name: Name, depth: int) -> bool:
        """True if a name is bound at `depth` or above."""
        return self.levels.get(name, 0) <= depth

    def called(self, array: Name) -> str:
        """Describe an array in a few words, by its source name if there is one."""
        return self.spell.array(array)

    def note(self, rule: Rule, prov: Prov, because: str, *numbers: tuple[str, str]) -> None:
        """Add a remark about memory."""
        because = sentence(because)
        self.notes.append(Remark("note", rule.id, prov, because, "", numbers, self.ctx.stage))

    def allocate(
        self,
        name: Name,
        prim: Prim,
        shape: Sequence[Poly],
        prov: Prov,
        out: list[ir.Stm],
        space: ir.Space | None = None,
    ) -> ir.Param:
        """Allocate a fresh block in `out` and return `name` bound to it in its order.

        The block's size is computed without wrapping. An array's own size may wrap: one whose
        polynomial may not fit is first bound to a name.
        """
        count = Poly.product(
            size if self.fits(size) else self._named(se_of(size), "size", prov, out)
            for size in shape
        )
        space = space or self._choose_space(name, prim, count)
        most = self.most(count) if space == "shared" else None
        if most is not None and most * BYTES[prim] <= SHARED_BYTES:
            count = Poly.const(most)
        block = self.bind(ir.Param(self.ctx.fresh(f"{base_of(name)}_mem"), ir.Mem(prim, space)))
        out.append(ir.Stm((block,), ir.Alloc(count, prim, space), prov))
        order = self.turned.get(name)
        lmad = Lmad.row_major(shape) if order is None else in_order(shape, order)
        mem = ir.MemBind(block.name, lmad)
        return self.bind(ir.Param(name, ir.Array(prim, tuple(shape), mem)))

    def _choose_space(self, name: Name, prim: Prim, count: Poly) -> ir.Space:
        """Return shared memory for arrays of a thread block if they are known to fit.

        Whether a launch-time size fits is decided in `expand.py`.
        """
        if not self.per_block:
            return "device"
        size = self.most(count)
        if size is None or size * BYTES[prim] > self.shared_left:
            by_launch = count.constant is None and self.in_scope(count, self.outside)
            return "shared" if by_launch and name not in self.given else "device"
        self.shared_left -= size * BYTES[prim]
        return "shared"

    def copy(
        self, array: Name, prov: Prov, out: list[ir.Stm], space: ir.Space | None = None
    ) -> Name:
        """Append a row-major copy of `array` in a fresh block."""
        old = self.array(array)
        new = self.allocate(self.ctx.fresh(array), old.prim, old.shape, prov, out, space)
        out.append(ir.Stm((new,), ir.Copy(array), prov))
        return new.name

    def poly(self, se: ir.SE, prov: Prov, out: list[ir.Stm]) -> Poly:
        """Return `se` as a polynomial; anything else is bound to an i64 name in `out`."""
        found = poly_of(se)
        if found is not None:
            return found
        prim = prim_of(se)
        return self._named(se if prim == "i64" else ir.Conv(prim, "i64", se), "at", prov, out)

    def _named(self, se: ir.SE, base: str, prov: Prov, out: list[ir.Stm]) -> Poly:
        param = self.bind(ir.Param(self.ctx.fresh(base), ir.I64))
        self.known.define(param.name, se)
        out.append(ir.Stm((param,), se, prov))
        return Poly.var(param.name)


Handler = Callable[[MemoryState, ir.Stm, list[ir.Stm]], None]
"""Appends the transformed statements."""
