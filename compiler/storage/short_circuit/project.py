"""Projected index functions: the bindings of an array and its views if it is built in place.

Works from the point back to the creating statement, inverting views (thesis 6.4.1), then forwards
again, so that every array in the same block gets its new place. A branch creates an array if both
of its bodies do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name, base_of
from compiler.ir import nodes as ir
from compiler.ir import slices
from compiler.ir.may_fail import operator_may_fail
from compiler.ir.sizes import poly_of, prim_of
from compiler.ir.walk import se_parts
from compiler.protocol.refusals import Refusal
from compiler.storage.short_circuit.analyses import Analyses
from compiler.storage.short_circuit.conditions import Failed
from compiler.storage.short_circuit.edits import BuildInPlace
from compiler.storage.short_circuit.terms import Terms
from compiler.storage.short_circuit.tree import Item, TreeBody
from compiler.storage.short_circuit.wording import called, in_line, there_already

NO_NAME = "An index is neither a polynomial nor a variable."
_MOVABLE = (
    *ir.SE_NODES,
    ir.Index,
    ir.SegMap,
    ir.SegRed,
    ir.SegScan,
    ir.Loop,
    ir.If,
    ir.Iota,
    ir.Replicate,
)
"""Statements that an author can move up before an array that they do not use."""


class Projection:
    """The changes of a successful attempt."""

    def __init__(self, state: Analyses, new: Iterable[Item] = ()) -> None:
        """`new`: statements in no body yet, which bind the place's indices."""
        self.named = {item.stm.pat[0].name: item for item in new}
        self.state = state
        self.new: dict[Name, ir.MemBind] = {}
        """New bindings of the source and of all arrays in its block."""
        self.blocks: list[Name] = []
        """Blocks that hold nothing any more."""
        self.allocations: list[Item] = []
        self.lifted: list[Item] = []
        """Statements lifted before the creation, in order."""
        self.sizes: set[Name] = set()
        """Names of sizes that a check equates."""
        self.late: Failed | None = None
        """Failure that the author can avoid if all else is well, such as a later use."""
        self.earlier: list[str] = []
        """Names that the author would have to compute before the array is created."""

    def edit(self, creation: Item, update: tuple[Item, ir.Stm] | None) -> BuildInPlace:
        """Return the changes as one edit."""
        lifted, blocks = tuple(self.lifted), tuple(self.blocks)
        return BuildInPlace(self.new, creation, lifted, blocks, update)

    def binder(self, name: Name) -> Item | None:
        """Return the statement that binds a name, new ones included."""
        return self.named.get(name) or self.state.now.binder(name)

    # --- conditions 1 to 3 ---

    def build(
        self, scope: TreeBody, end: int, source: Name, target: ir.MemBind, given: int | None = None
    ) -> Item:
        """Project `source`, in place at statement `end` of `scope`, to `target`.

        `given`: the result of the body that it is. Returns the creating statement. Errors: `Failed`
        with the reason.
        """
        now = self.state.now
        block = now.mem[source].block
        what = called(now, source)
        binder = now.binder(block)
        if block == target.block:
            raise Failed(
                Refusal.ELSEWHERE_IN_IT,
                f"{what} already lies in the destination's memory, at another place.",
            )
        if binder is None or binder.scope is not scope or self.state.now.at(binder) >= end:
            raise Failed(
                Refusal.THERE_ALREADY,
                there_already(now, source, block, self.state.now.items(scope)[end:]),
            )
        self._own_block(block, what)
        self._same_space(block, target.block, what)
        self._unused(scope, end, block, source, given)
        members = sorted(now.members.get(block, ()), key=now.comes)
        exp = binder.stm.exp
        creation, lmad = self._undone(source, block, target.lmad)
        creation, lmad = self._earliest(creation, lmad, members, block)
        if isinstance(exp, ir.Loop):
            raise Failed(
                Refusal.MOVING,
                f"{what} moves to another memory block in every iteration of a loop.",
            )
        first = self._roots(creation, block)
        if isinstance(exp, ir.Alloc):
            self.allocations.append(binder)
        if len(first) != 1 or not (isinstance(exp, ir.Alloc) or creation is binder):
            raise self.built_otherwise(source)
        self.blocks.append(block)
        self.new[first[0]] = ir.MemBind(target.block, lmad)
        if isinstance(exp, ir.If):
            self._branches(binder, block, first[0])
        self._forwards(members, block, target.block)
        if not self._same(self.new[source], target):
            raise self.built_otherwise(source)
        return creation

    def built_otherwise(self, name: Name) -> Failed:
        """Return the failure of an array that is not evidently built in one way only."""
        because = f"{self._called(name)} is written to the same memory in another way."
        return Failed(Refusal.BUILT_OTHERWISE, because)

    def _called(self, name: Name) -> str:
        return called(self.state.now, name)

    def _own_block(self, block: Name, what: str) -> None:
        """Check that no call creates the block: functions take and return separate blocks."""
        binder = self.state.now.binder(block)
        if binder is not None and isinstance(binder.stm.exp, ir.Call):
            how = f"made by `{base_of(binder.stm.exp.fun)}`"
        elif block in self.state.now.given:
            how = "passed to a function"
        else:
            return
        raise Failed(
            Refusal.OF_FUNCTION,
            f"{what} is {how} that is not inlined and cannot write to another place.",
        )

    def _same_space(self, block: Name, target: Name, what: str) -> None:
        mine, theirs = self.state.now.tree.types[block], self.state.now.tree.types[target]
        assert isinstance(mine, ir.Mem)
        assert isinstance(theirs, ir.Mem)
        if mine.space != theirs.space:
            raise Failed(
                Refusal.OTHER_SPACE,
                f"{what} lies in {mine.space} memory and its destination in {theirs.space}.",
            )

    def _unused(
        self, scope: TreeBody, end: int, block: Name, source: Name, given: int | None
    ) -> None:
        """Check condition 3. Raises Failed."""
        now = self.state.now
        for name in now.members.get(block, ()):
            for item in now.users_in(name, scope):
                if self.state.now.at(item) > end and self.late is None:
                    self.late = Failed(
                        Refusal.USED_AGAIN,
                        f"{self._called(name)} is used again{in_line(item)} after it "
                        "was copied into its destination.",
                        Refusal.USED_AGAIN.offer(self._called(name)),
                    )
            for k, result in enumerate(scope.results):
                if k == given or not mentions(result, name):
                    continue
                if given is None or isinstance(result, ir.Write) or scope.kind != "kernel":
                    raise Failed(Refusal.RESULT_AS_WELL, f"{self._called(name)} is also a result.")
        expected = scope.results.count(block) if given is not None else 0
        if len(now.carried.get(block, ())) > expected:
            raise Failed(
                Refusal.HANDED_ON,
                f"A loop or branch returns the memory of {self._called(source)}.",
            )

    # --- condition 2: backwards ---

    def _undone(self, source: Name, block: Name, lmad: Lmad[Poly]) -> tuple[Item, Lmad[Poly]]:
        """Return the statement that creates what `source` is a view of, and its place."""
        now = self.state.now
        name = source
        while (item := now.binder(name)) is not None:
            exp = item.stm.exp
            back: Name | None = None
            match exp:
                case ir.Rearrange(perm, array):
                    back = array
                    order = sorted(range(len(perm)), key=perm.__getitem__)
                    lmad = lmad.permute(order)
                case ir.Reshape(_, array):
                    back = array
                    if now.mem[array].block == block:
                        lmad = self._reshaped(lmad, self._shape(array), name)
                case ir.Slice(array, dims):
                    back = array
                    lmad = self._unsliced(lmad, dims, name, array)
                case ir.Update(array, _, _):
                    back = array
                case ir.Loop():
                    back = _before(item, exp, name)
                case _ if isinstance(exp, ir.SegOp):
                    back = _written(item, name)
                case ir.If():
                    at = [p.name for p in item.stm.pat].index(name)
                    result = item.children[0].results[at]
                    binder = now.binder(block)
                    if binder is not item and isinstance(result, str):
                        back = result
            if back is None or now.mem[back].block != block:
                return item, lmad
            name = back
        raise self.built_otherwise(source)

    def _earliest(
        self, creation: Item, lmad: Lmad[Poly], members: Sequence[Name], block: Name
    ) -> tuple[Item, Lmad[Poly]]:
        """Return the creation of the first array in the block, over which later ones were built."""
        roots = self._roots(creation, block)
        if members[0] in roots or len(roots) != 1:
            return creation, lmad
        mem = self.state.now.mem
        if not self._same(mem[members[0]], mem[roots[0]]):
            raise self.built_otherwise(roots[0])
        return self._undone(members[0], block, lmad)

    def _shape(self, name: Name) -> tuple[Poly, ...]:
        return self.state.now.array(name).shape

    def _reshaped(self, lmad: Lmad[Poly], shape: tuple[Poly, ...], name: Name) -> Lmad[Poly]:
        """Reshape a place. Raises Failed if that is impossible."""
        seen = lmad.reshape(shape)
        if isinstance(seen, Lmad):
            return seen
        normal = self.state.terms.normal
        normalised = self.state.terms.normal_lmad(lmad).reshape([normal(size) for size in shape])
        if isinstance(normalised, Lmad):
            strides = normalised.strides
        elif len(shape) == lmad.rank and self._coerced(lmad.shape, shape):
            strides = lmad.strides
        else:
            why = seen.because(self.state.now.spell.poly)
            raise Failed(Refusal.OTHER_SHAPE, f"{self._called(name)} has another shape: {why}.")
        dims = tuple(Dim(size, stride) for size, stride in zip(shape, strides, strict=True))
        return Lmad(lmad.offset, dims)

    def _coerced(self, old: Sequence[Poly], new: Sequence[Poly]) -> bool:
        """True if a reshape between equal ranks only renames sizes, as a check allows."""
        normal = self.state.terms.normal
        for a, b in zip(old, new, strict=True):
            difference = normal(a) - normal(b)
            if difference.constant not in (None, 0):
                return False
            self.sizes |= a.names() | b.names()
        return normal(Poly.product(old)) != normal(Poly.product(new)) or all(
            normal(a) == normal(b) for a, b in zip(old, new, strict=True)
        )

    def _unsliced(
        self, lmad: Lmad[Poly], dims: tuple[ir.DimIndex, ...], name: Name, array: Name
    ) -> Lmad[Poly]:
        """Invert a slice that keeps all elements: whole dimensions, in either direction.

        Also inverts the only index of a dimension of size 1.
        """
        normal = self.state.terms.normal
        for k, (dim, size) in enumerate(zip(dims, self._shape(array), strict=True)):
            if isinstance(dim, ir.DimFix) and normal(size) == 1:
                lmad = lmad.with_single(k)
                continue
            if not isinstance(dim, ir.DimSlice) or normal(dim.count) != normal(size):
                raise Failed(
                    Refusal.A_PART,
                    f"Only a part of {self._called(array)} is copied into the "
                    "destination, and all of it would not fit.",
                )
            stride = self.state.terms.poly(dim.stride)
            if stride == -1:
                lmad = lmad.slice(k, size - 1, size, Poly.const(-1))
            elif stride != 1:
                raise Failed(Refusal.SKIPPING, f"{self._called(name)} skips elements.")
        return lmad

    # --- condition 2: forwards ---

    def _roots(self, creation: Item, block: Name) -> list[Name]:
        """Return the arrays that a statement creates in a block."""
        mem = self.state.now.mem
        return [p.name for p in creation.stm.pat if p.name in mem and mem[p.name].block == block]

    def _branches(self, item: Item, block: Name, name: Name) -> None:
        """Project the array in both branches; the block is no longer returned."""
        names = [param.name for param in item.stm.pat]
        at, array = names.index(block), names.index(name)
        for scope in item.children:
            result = scope.results[array]
            assert isinstance(result, str)
            if self.state.now.mem[result].block != self.state.now.block(str(scope.results[at])):
                raise self.built_otherwise(name)
            self.build(scope, len(self.state.now.items(scope)), result, self.new[name], array)

    def _forwards(self, members: Sequence[Name], block: Name, target: Name) -> None:
        """Compute the new place of every array in the block."""
        for name in members:
            if name not in self.new:
                self.new[name] = ir.MemBind(target, self._derived(name))
        for name in members:
            self._check_loop(name)

    def _derived(self, name: Name) -> Lmad[Poly]:
        """Return the new index function of an array, from its definition."""
        now, new = self.state.now, self.new
        item = now.binder(name)
        back: Name | None = None
        match item.stm.exp if item is not None else None:
            case ir.Rearrange(perm, array) if array in new:
                return new[array].lmad.permute(perm)
            case ir.Reshape(shape, array) if array in new:
                return self._reshaped(new[array].lmad, shape, name)
            case ir.Slice(array, dims) if array in new:
                return self._sliced(new[array].lmad, dims, name)
            case ir.Update(array, _, _):
                back = array
            case ir.Loop() as exp:
                assert item is not None
                back = _before(item, exp, name)
            case exp if isinstance(exp, ir.SegOp):
                assert item is not None
                back = _written(item, name)
            case ir.If():
                assert item is not None
                at = [p.name for p in item.stm.pat].index(name)
                found = [scope.results[at] for scope in item.children]
                places = [new[r] for r in found if isinstance(r, str) and r in new]
                if len(places) == 2 and self._same(*places):
                    return places[0].lmad
        if back is None or back not in new:
            back = next((x for x in new if self._same(now.mem[x], now.mem[name])), None)
        if back is None:
            raise self.built_otherwise(name)
        old = now.mem
        if not self._same(old[name], old[back]):
            raise Failed(
                Refusal.OTHER_LAYOUT, f"{self._called(name)} changes its layout before the copy."
            )
        return new[back].lmad

    def _check_loop(self, name: Name) -> None:
        """Check that an iteration's result has the place of its parameter. Raises Failed."""
        item = self.state.now.binder(name)
        if item is None or not isinstance(item.stm.exp, ir.Loop):
            return
        names = [param.name for param in item.stm.exp.params]
        if name not in names:
            return
        result = item.children[0].results[names.index(name)]
        if not (
            isinstance(result, str)
            and result in self.new
            and self._same(self.new[result], self.new[name])
        ):
            raise self.built_otherwise(name)

    def _sliced(self, lmad: Lmad[Poly], dims: tuple[ir.DimIndex, ...], name: Name) -> Lmad[Poly]:
        return sliced(self.state.terms, lmad, dims, self.state.now.tree.binder[name])

    def _same(self, a: ir.MemBind, b: ir.MemBind) -> bool:
        if a.block != b.block:
            return False
        normal = self.state.terms.normal_lmad
        return a.lmad == b.lmad or normal(a.lmad).same_cells(normal(b.lmad))

    # --- condition 4 ---

    def make_available(
        self, scope: TreeBody, before: Item, names: set[Name], end: int, source: Name = ""
    ) -> None:
        """Lift the computations of `names` before `before`, where they come later.

        With a `source`: assumes that the author moves what only they can, and notes that as `late`.
        Errors: `Failed` where a name is needed before it can be computed.
        """
        needed: dict[Item, None] = {}
        by_author: set[Item] = set()
        moved: set[Name] = set()
        roots: dict[Name, Name] = {}
        wanted = sorted(names)
        while wanted:
            name = wanted.pop()
            item = self.binder(name)
            at = end if name in self.named else self.state.now.position(name, scope)
            if at is None:
                raise Failed(Refusal.NO_NAME, NO_NAME)
            if at < self.state.now.at(before):
                continue
            assert item is not None
            if item in needed:
                if item in by_author and name not in moved:
                    self._move(roots.get(name, name), source)
                continue
            if item is before or not (_liftable(item) or self._is_read(item, before)):
                if source and item is not before and isinstance(item.stm.exp, _MOVABLE):
                    if name not in moved:
                        self._move(roots.get(name, name), source)
                    moved |= item.names
                    roots |= dict.fromkeys(item.names, roots.get(name, name))
                    by_author.add(item)
                    needed[item] = None
                    wanted += sorted(item.names)
                    continue
                what = self._called(roots.get(name, name))
                raise Failed(
                    Refusal.DEPENDS_ON_IT,
                    f"The destination depends on {what}, which is computed only after the array.",
                )
            needed[item] = None
            if name in roots or self.state.now.said(name) is not None:
                roots |= dict.fromkeys(item.names, roots.get(name, name))
            wanted += sorted(item.names)
            wanted += self._divisors(item, scope, before, end)
        self.lift([*needed])

    def _move(self, name: Name, source: Name) -> None:
        """Note that the author would have to compute something before an array is created."""
        what, array = self._called(name), self._called(source)
        because = f"The destination depends on {what}, which is computed only after {array}."
        if self.late is not None and self.late.refusal is not Refusal.COMPUTED_LATER:
            raise Failed(Refusal.COMPUTED_LATER, because)
        if what not in self.earlier:
            self.earlier.append(what)
        hint = Refusal.COMPUTED_LATER.offer(" and ".join(self.earlier), array)
        because = because if self.late is None else self.late.because
        self.late = Failed(Refusal.COMPUTED_LATER, because, hint)

    def _is_read(self, item: Item, before: Item) -> bool:
        """True for a read of an element that certainly exists before, in bounds.

        An array bound before keeps its values; whether it is bound before shows when its name is
        looked up.
        """
        exp = item.stm.exp
        if not isinstance(exp, ir.Index):
            return False
        claims: list[Poly] = []
        for at, size in zip(exp.at, self.state.now.array(exp.array).shape, strict=True):
            index = self.state.terms.poly(at)
            claims += [index, self.state.terms.normal(size) - 1 - index]
        known = self.state.assumptions.in_front(before)
        return self.state.assumptions.unproved(claims, known, Lmad(Poly.const(0), ())) is None

    def make_room(self, scope: TreeBody, before: Item, destination: Name, end: int) -> None:
        """Lift the statements that initialise the destination, if they come later.

        They read nothing that changes in between: arrays bound before keep their values.
        """
        now = self.state.now
        block = now.mem[destination].block
        made = now.binder(block)
        if made is None or made.scope is not scope or not isinstance(made.stm.exp, ir.Alloc):
            return
        first = min(now.members.get(block, ()), key=now.comes)
        item = now.tree.binder[first]
        if item.scope is not scope or not self.state.now.at(before) < self.state.now.at(item) < end:
            return
        if not isinstance(item.stm.exp, (ir.Copy, ir.Iota, ir.Replicate, ir.Scratch)):
            return
        lifted = self.lifted
        needed = checks(
            self.state.now.items(scope)[self.state.now.at(before) : self.state.now.at(item)],
            set(item.names),
        )
        try:
            divisors = self._divisors(item, scope, before, end)
            self.make_available(scope, before, {*item.names, *divisors, block}, end)
            for check in needed:
                self.make_available(scope, before, set(check.names), end)
            self.lift(needed)
        except Failed:
            self.lifted = lifted
            return
        self.lift([item])

    def lift(self, items: Sequence[Item]) -> None:
        """Add statements to those lifted before the creation."""
        found, new = {*self.lifted, *items}, self.named.values()
        before = sorted(found.difference(new), key=self.state.now.at)
        self.lifted = [*before, *(item for item in new if item in found)]

    def _never_zero(self, se: ir.SE) -> bool:
        """True for a value with zero replaced by another."""
        if isinstance(se, ir.Var) and se.name in self.state.terms.defs:
            return self._never_zero(self.state.terms.defs[se.name])
        match se:
            case ir.Lit(value, _):
                return value != 0
            case ir.Select(ir.Bin("==", _, a, ir.Lit(0, _)), then, orelse):
                return a == orelse and self._never_zero(then)
        return False

    def _is_nonzero(self, divisor: ir.SE, before: Item) -> bool:
        """True if facts at a statement prove a divisor nonzero."""
        if prim_of(divisor) != "i64":
            return False
        value, nowhere = self.state.terms.poly(divisor), Lmad(Poly.const(0), ())
        assumptions = self.state.assumptions
        known = assumptions.in_front(before)
        signs = ([sign * value - 1] for sign in (1, -1))
        return any(assumptions.unproved(claim, known, nowhere) is None for claim in signs)

    def _divisors(self, item: Item, scope: TreeBody, before: Item, end: int) -> list[Name]:
        """Lift the checks that a statement's divisors are nonzero; return the names they need."""
        names: list[Name] = []
        for divisor in (x for part in _scalars(item.stm.exp) for x in _divisors(part)):
            if self._never_zero(divisor) or self._is_nonzero(divisor, before):
                continue
            check = next(
                (c for c in self.state.now.items(scope)[:end] if _denies_zero(c, divisor)), None
            )
            if check is None:
                value = self.state.terms.poly(divisor) if prim_of(divisor) == "i64" else None
                raise Failed(
                    Refusal.DIVIDED,
                    "The destination is computed by a division that is not checked before.",
                    missing=() if value is None else (value - 1,),
                )
            if self.state.now.at(check) > self.state.now.at(before):
                self.lift([check])
                names += check.names
        return names


def sliced(terms: Terms, lmad: Lmad[Poly], dims: tuple[ir.DimIndex, ...], item: Item) -> Lmad[Poly]:
    """Slice an index function by a statement's slice, in names of the program.

    Raises Failed if an index is no polynomial, or may wrap, and has no name.
    """

    def poly(se: ir.SE) -> Poly:
        found = poly_of(se)
        if found is not None and terms.is_read_so(found, se):
            return found
        name = terms.named(se, item)
        if name is None and isinstance(se, ir.Var):
            name = se.name
        if name is None:
            raise Failed(Refusal.NO_NAME, NO_NAME)
        return Poly.var(name)

    return slices.sliced(lmad, dims, poly, slices.itself)


def mentions(result: object, name: Name) -> bool:
    """True if a result of a body is, or writes, an array."""
    if isinstance(result, ir.Write):
        return result.dest == name or any(value == name for _, value in result.writes)
    return result == name


def _before(item: Item, exp: ir.Loop, name: Name) -> Name | None:
    """Return the previous name of a loop's result or parameter."""
    for param, value, result in zip(exp.params, exp.init, item.stm.pat, strict=True):
        if name == result.name:
            return param.name
        if name == param.name:
            return value if isinstance(value, str) else None
    return None


def _written(item: Item, name: Name) -> Name | None:
    """Return the array whose place a kernel's result takes."""
    exp = item.stm.exp
    if isinstance(exp, ir.SegHist):
        dests = [dest for op in exp.ops for dest in op.dests]
        return dests[[param.name for param in item.stm.pat].index(name)]
    for param, result in zip(item.stm.pat, item.children[-1].results, strict=True):
        if param.name == name:
            return result.dest if isinstance(result, ir.Write) else None
    return None


def _liftable(item: Item) -> bool:
    """True for a statement that computes a scalar and cannot fail, or allocates."""
    return isinstance(item.stm.exp, (*ir.SE_NODES, ir.Alloc))


def _scalars(exp: ir.Exp) -> tuple[ir.SE, ...]:
    """Return the scalar expressions of a statement that may be lifted."""
    match exp:
        case ir.Index():
            return exp.at
        case ir.Iota():
            return (exp.start, exp.step)
        case ir.Replicate():
            return () if isinstance(exp.value, str) else (exp.value,)
    return (exp,) if isinstance(exp, ir.SE_NODES) else ()


def _divisors(se: ir.SE) -> list[ir.SE]:
    """Return the possibly zero divisors of an expression."""
    found: list[ir.SE] = []
    if isinstance(se, ir.Bin) and operator_may_fail(se.op, se.at, se.rhs):
        found.append(se.rhs)
    for part in se_parts(se):
        found += _divisors(part)
    return found


def _denies_zero(item: Item, divisor: ir.SE) -> bool:
    """True if a statement checks that a divisor is nonzero."""
    return isinstance(item.stm.exp, ir.Assert) and _says_not_zero(item.stm.exp.cond, divisor)


def _says_not_zero(cond: ir.SE, divisor: ir.SE) -> bool:
    match cond:
        case ir.Bin("&&", _, a, b):
            return _says_not_zero(a, divisor) or _says_not_zero(b, divisor)
        case ir.Bin("!=", _, a, ir.Lit(0, _)):
            return a == divisor
    return False


def checks(items: Sequence[Item], names: set[Name]) -> list[Item]:
    """Return the assertions related to names, directly or through others."""
    left = [item for item in items if isinstance(item.stm.exp, ir.Assert)]
    found: list[Item] = []
    known = set(names)
    growing = True
    while growing:
        growing = False
        for item in list(left):
            mentioned = item.names
            if mentioned & known:
                known |= mentioned
                found.append(item)
                left.remove(item)
                growing = True
    return found
