"""Fused multiply-add: a product and the sum that it goes into, rounded once.

NVRTC would choose itself which product goes into which sum, and would do so in functions of ours
that count on each rounding. So it may not (`--fmad=false`): kernels say where, and all that run
them, the interpreter of kernels, the observer and devices, round alike. In f16 each operation
rounds.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from operator import is_
from typing import Any

from compiler.base.context import Ctx
from compiler.base.names import Name
from compiler.base.remarks import Applied
from compiler.base.rules import Rule
from compiler.base.spans import Prov, merge_prov
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import map_bodies, map_expressions, statements
from compiler.codegen.kernels import nodes as k
from compiler.codegen.stm_uses import count_names
from compiler.codegen.traits import reads
from compiler.ir.nodes import SE, Bin, Fun, Lit, Un, Var
from compiler.ir.sizes import prim_of
from compiler.ir.walk import map_subexpressions

FMA = Rule(
    "kernels/fma",
    "Computes a product and the sum that uses it by one GPU instruction, which rounds once.",
    stops=True,
)
_NO_NAMES = Counter[Name](), Counter[Name]()
_WIDE = ("f32", "f64")


def fused(stms: imp.Stms, ctx: Ctx) -> imp.Stms:
    """Return the host's statements, with products and sums of kernels fused."""
    return tuple(
        _launch(stm, ctx) if isinstance(stm, k.Launch) else map_bodies(stm, lambda s: fused(s, ctx))
        for stm in stms
    )


def _launch(launch: k.Launch, ctx: Ctx) -> k.Launch:
    kernel = launch.kernel
    if ctx.options.is_off(FMA):
        return launch
    work = _Fusing(kernel)
    body = work.stms(kernel.body)
    if not work.places:
        return launch
    times = "once" if len(work.places) == 1 else f"{len(work.places)} times"
    because = (
        f"In `{kernel.name}` a product and the sum that uses it are rounded once, "
        f"{times} in its text: floats can differ from those of earlier stages and of C."
    )
    numbers = (("fused", str(len(work.places))),)
    at = merge_prov(*(stm.prov for stm in work.places)) or kernel.prov
    made = ctx.commit(FMA, at, Applied(body, because, numbers))
    return launch if made is None else replace(launch, kernel=replace(kernel, body=made))


class _Fusing:
    """Rewrites a kernel; `places` are the statements where something was fused."""

    def __init__(self, kernel: k.Kernel) -> None:
        self.variables = {
            stm.name
            for stm in statements(kernel.body)
            if isinstance(stm, imp.Declare | imp.Assign | k.Fetch | k.Shuffle | k.Exchange)
        }
        self.products: dict[Name, imp.Define] = {}
        self.moved: list[Prov] = []
        """Where the products come from that the current statement takes."""
        self.taken: set[Name] = set()
        self.places: list[imp.Stm] = []

    def stms(self, stms: imp.Stms) -> imp.Stms:
        """Rewrite a list; a product used by one sum alone moves there."""
        some = [stm for stm in stms if type(stm) is imp.Define and _is_product(stm.value)]
        counts = count_names(stms) if some else _NO_NAMES
        outside, self.products = self.products, dict(self.products)
        out: list[tuple[imp.Stm, bool]] = []
        for stm in stms:
            made = map_bodies(self.rewritten(stm), self.stms)
            moves = bool(some) and self.may_move(made, counts)
            if moves and isinstance(made, imp.Define) and isinstance(made.value, Bin):
                self.products[made.name] = made
                self.taken.discard(made.name)
            out.append((made, moves))
        kept = tuple(s for s, moves in out if not (moves and getattr(s, "name", "") in self.taken))
        self.products = outside
        same = len(kept) == len(stms) and all(map(is_, kept, stms))
        return stms if same else kept

    def may_move(self, stm: imp.Stm, counts: tuple[Counter[Name], Counter[Name]]) -> bool:
        """Return True for a product with one use, of names that keep their values."""
        if not isinstance(stm, imp.Define) or not _is_product(stm.value):
            return False
        alone = all(count[stm.name] == 1 for count in counts)
        return alone and not reads(stm.value) & self.variables

    def rewritten(self, stm: imp.Stm) -> imp.Stm:
        """Rewrite a statement's values; it stands for the products that it takes as well."""
        self.moved = []
        made: imp.Stm = map_expressions(stm, self.fuse)
        if made is not stm:
            self.places.append(stm)
        if self.moved:
            new: Any = made
            made = replace(new, prov=merge_prov(new.prov, *self.moved))
        return made

    def fuse(self, se: SE) -> SE:
        """Rewrite an expression."""
        if type(se) is Var or type(se) is Lit:
            return se
        match se:
            case Bin("+" | "-" as op, "f32" | "f64" as at, lhs, rhs):
                if product := self.product(lhs):
                    more = self.fuse(rhs)
                    parts = self.fuse(product.lhs), self.fuse(product.rhs)
                    return Fun("fma", at, (*parts, more if op == "+" else _minus(more)))
                if product := self.product(rhs):
                    one, two = self.fuse(product.lhs), self.fuse(product.rhs)
                    return Fun("fma", at, (one if op == "+" else _minus(one), two, self.fuse(lhs)))
        return map_subexpressions(se, self.fuse)

    def product(self, se: SE) -> Bin | None:
        """Return the product that an operand of a sum is, if it is one."""
        if isinstance(se, Bin) and _is_product(se):
            return se
        if isinstance(se, Var) and se.name in self.products:
            self.taken.add(se.name)
            taken = self.products[se.name]
            self.moved.append(taken.prov)
            return taken.value if isinstance(taken.value, Bin) else None
        return None


def _is_product(se: SE) -> bool:
    return isinstance(se, Bin) and se.op == "*" and se.at in _WIDE


def _minus(se: SE) -> SE:
    if isinstance(se, Un) and se.op == "neg":
        return se.arg
    return Un("neg", prim_of(se), se)
