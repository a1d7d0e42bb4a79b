"""Find the blocks that an array inside a kernel may lie in, through branches and loops.

A loop carries a block with parameters of the array's index function: a row of an argument
in the first iteration, later on a block of the previous one. Where the block comes from outside,
and the numbers are those that the loop begins with or a branch gives, the cells are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.ir import nodes as ir

Numbers = Mapping[Name, Poly]
Way = tuple[Name, Numbers | None]
"""A block, and the parameters passed with it; None if an earlier iteration made them."""
Cells = Lmad[Poly] | None


class Ways:
    """The blocks that each block variable of branches and loops may stand for."""

    def __init__(self, stms: Iterable[ir.Stm], number: Callable[[ir.SE], Poly]) -> None:
        """`stms`: all of a kernel. `number`: converts to a polynomial, if need be to a new name."""
        self._ways: dict[Name, list[Way]] = {}
        for stm in stms:
            match stm.exp:
                case ir.If(_, then, orelse):
                    self._enter(stm.pat, then.results, number)
                    self._enter(stm.pat, orelse.results, number)
                case ir.Loop(params, init, _, body):
                    for pat in (params, stm.pat):
                        self._enter(pat, init, number)
                        self._enter(pat, body.results, None)

    def _enter(
        self,
        pat: Sequence[ir.Param],
        given: Sequence[ir.Operand],
        number: Callable[[ir.SE], Poly] | None,
    ) -> None:
        pairs = list(zip(pat, given, strict=True))
        numbers = number and {
            param.name: number(value)
            for param, value in pairs
            if param.type == ir.I64 and not isinstance(value, str)
        }
        for param, value in pairs:
            if isinstance(param.type, ir.Mem):
                self._ways.setdefault(param.name, []).append((str(value), numbers))

    def of(self, block: Name, cells: Cells) -> Iterator[tuple[Name, Cells]]:
        """Yield the blocks that an array may lie in, if its type names a variable, with its cells.

        Cells are None where they depend on an earlier iteration.
        """
        todo = [(block, cells)] if block in self._ways else []
        seen = set(todo)
        while todo:
            block, cells = todo.pop()
            if block not in self._ways:
                yield block, cells
            for source, numbers in self._ways.get(block, ()):
                known = cells is not None and numbers is not None
                step = (source, cells.subst(numbers) if known else None)  # type: ignore[union-attr, arg-type]
                if step not in seen:
                    seen.add(step)
                    todo.append(step)
