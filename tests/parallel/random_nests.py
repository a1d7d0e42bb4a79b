"""Random programs with nested parallelism, for comparing a program before and after flattening.

A program gets `n`, `m`, a vector, a matrix, a cube and a vector of small numbers. Its body is a few
statements of every kind, with bodies inside of bodies; some inner sizes depend on data.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from compiler.algebra.poly import Poly
from compiler.base.names import NameSource
from compiler.ir.nodes import (
    SE,
    Array,
    Assert,
    Bin,
    Body,
    Concat,
    Copy,
    Dest,
    DimFix,
    DimSlice,
    Exp,
    ForLoop,
    Function,
    Hist,
    HistOp,
    If,
    Index,
    Iota,
    Lambda,
    Lit,
    Loop,
    Map,
    Operand,
    Operator,
    Param,
    Prog,
    Rearrange,
    Reduce,
    Replicate,
    Scalar,
    Scan,
    Scatter,
    Slice,
    Stm,
    Type,
    Un,
    Update,
    Var,
    WhileLoop,
)
from compiler.ir.sizes import se_of

I64 = Scalar("i64")
Shape = tuple[Poly, ...]


def lit(value: int) -> Lit:
    return Lit(value, "i64")


@dataclass
class Scope:
    """What a body may use: scalars, arrays with their roots, arrays that it may consume."""

    scalars: list[str]
    arrays: dict[str, Shape]
    roots: dict[str, frozenset[str]]
    sizes: list[Poly]
    fresh: set[str] = field(default_factory=set)
    stms: list[Stm] = field(default_factory=list)

    def inside(self) -> Scope:
        return Scope(list(self.scalars), dict(self.arrays), dict(self.roots), list(self.sizes))


class Maker:
    """Makes one program from a seed."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.names = NameSource(100)
        self.budget = 26

    def name(self, base: str) -> str:
        return self.names.fresh(base)

    # --- statements ----------------------------------------------------------------------------

    def let(self, sc: Scope, base: str, type_: Type, exp: Exp, roots: tuple[str, ...] = ()) -> str:
        name = self.name(base)
        sc.stms.append(Stm((Param(name, type_),), exp))
        self.know(sc, name, type_, roots)
        return name

    def know(self, sc: Scope, name: str, type_: Type, roots: tuple[str, ...] = ()) -> None:
        if isinstance(type_, Array):
            sc.arrays[name] = type_.shape
            above = [sc.roots.get(r, frozenset((r,))) for r in roots]
            sc.roots[name] = frozenset((name,)).union(*above)
            if not roots:
                sc.fresh.add(name)
        else:
            sc.scalars.append(name)

    def consume(self, sc: Scope, name: str) -> None:
        gone = sc.roots.get(name, frozenset((name,)))
        for other in list(sc.arrays):
            if sc.roots.get(other, frozenset((other,))) & gone:
                del sc.arrays[other]
                sc.fresh.discard(other)

    def se(self, sc: Scope, depth: int = 2) -> SE:
        if depth == 0 or not sc.scalars or self.pick.random() < 0.3:
            if sc.scalars and self.pick.random() < 0.8:
                return Var(self.pick.choice(sc.scalars), "i64")
            return lit(self.pick.randint(-3, 5))
        op = self.pick.choice(["+", "-", "*", "min", "max"])
        return Bin(op, "i64", self.se(sc, depth - 1), self.se(sc, depth - 1))

    def below(self, sc: Scope, size: Poly) -> SE:
        """An index that is inside of a dimension, which must not be empty."""
        return Bin("%", "i64", self.se(sc, 1), se_of(size))

    def cond(self, sc: Scope) -> SE:
        if self.pick.random() < 0.4:
            return Bin("<", "i64", se_of(self.pick.choice(SIZES)), lit(3))
        return Bin("<", "i64", self.se(sc, 1), self.se(sc, 1))

    def statement(self, sc: Scope, depth: int) -> None:
        kinds: list[Callable[[Scope, int], None]] = [
            self.scalar,
            self.index,
            self.generate,
            self.view,
            self.check,
        ]
        if self.budget > 0 and depth > 0:
            kinds += [self.map, self.map, self.fold, self.fold, self.loop, self.branch]
            kinds += [self.update, self.scatter, self.concat, self.hist, self.vector_fold]
            kinds += [self.rows_scatter, self.while_loop]
        self.budget -= 1
        self.pick.choice(kinds)(sc, depth)

    def scalar(self, sc: Scope, depth: int) -> None:
        self.let(sc, "s", I64, self.se(sc))

    def check(self, sc: Scope, depth: int) -> None:
        value = self.se(sc, 1)
        sc.stms.append(Stm((), Assert(Bin("<=", "i64", value, value), ("never",))))

    def index(self, sc: Scope, depth: int) -> None:
        choice = [(a, s) for a, s in sc.arrays.items() if all(d in SIZES for d in s)]
        if choice:
            array, shape = self.pick.choice(choice)
            self.let(sc, "e", I64, Index(array, tuple(self.below(sc, d) for d in shape)))

    def size(self, sc: Scope) -> Poly:
        """A size that is the same everywhere, or one that depends on data."""
        if sc.scalars and self.pick.random() < 0.2:
            value = Bin("%", "i64", Un("abs", "i64", self.se(sc, 1)), lit(4))
            size = Poly.var(self.let(sc, "z", I64, value))
            sc.sizes.append(size)
            return size
        return self.pick.choice(sc.sizes)

    def generate(self, sc: Scope, depth: int) -> None:
        size = self.size(sc)
        if self.pick.random() < 0.5:
            exp: Exp = Iota(size, self.se(sc, 1), lit(self.pick.randint(-1, 2)), "i64")
            self.let(sc, "io", Array("i64", (size,)), exp)
        else:
            shape = (size, *self.pick.choice([(), (self.pick.choice(SIZES),)]))
            self.let(sc, "re", Array("i64", shape), Replicate(shape, self.se(sc, 1)))

    def view(self, sc: Scope, depth: int) -> None:
        if not sc.arrays:
            return
        array, shape = self.pick.choice(list(sc.arrays.items()))
        if len(shape) == 1:
            start, stride = (
                (se_of(shape[0] - 1), lit(-1)) if self.pick.random() < 0.5 else (ZERO, ONE)
            )
            exp: Exp = Slice(array, (DimSlice(start, shape[0], stride),))
            self.let(sc, "v", Array("i64", shape), exp, (array,))
        elif self.pick.random() < 0.5 or shape[0] not in SIZES:
            perm = (1, 0, *range(2, len(shape)))
            turned = tuple(shape[p] for p in perm)
            self.let(sc, "t", Array("i64", turned), Rearrange(perm, array), (array,))
        else:
            rows = tuple(DimSlice(ZERO, d, ONE) for d in shape[1:])
            view = Slice(array, (DimFix(self.below(sc, shape[0])), *rows))
            self.let(sc, "row", Array("i64", shape[1:]), view, (array,))

    # --- bodies --------------------------------------------------------------------------------

    def fill(self, sc: Scope, depth: int, most: int = 4) -> None:
        for _ in range(self.pick.randint(0, most)):
            self.statement(sc, depth)

    def result(self, sc: Scope, shape: Shape | None) -> Operand:
        """A result of that shape, made if there is none; a scalar for None."""
        if shape is None:
            return self.se(sc)
        fitting = [a for a, s in sc.arrays.items() if s == shape]
        if fitting and self.pick.random() < 0.9:
            return self.pick.choice(fitting[-3:])
        return self.let(sc, "re", Array("i64", shape), Replicate(shape, self.se(sc, 1)))

    def some_shape(self, sc: Scope, outer: Scope) -> Shape | None:
        if self.pick.random() < 0.5:
            return None
        known = {p for s in outer.arrays.values() for p in s} | set(outer.sizes)
        fitting = [s for s in sc.arrays.values() if len(s) <= 2 and set(s) <= known]
        return self.pick.choice(fitting) if fitting else (self.pick.choice(SIZES),)

    def rows(self, sc: Scope) -> tuple[Poly, list[str]] | None:
        if not sc.arrays:
            return None
        first, shape = self.pick.choice(list(sc.arrays.items()))
        same = [a for a, s in sc.arrays.items() if s[0] == shape[0] and a != first]
        return shape[0], [first, *self.pick.sample(same, min(len(same), self.pick.randint(0, 1)))]

    def mapped(
        self, sc: Scope, arrays: list[str], depth: int, count: int, scalars: bool
    ) -> tuple[Lambda, list[Shape | None]]:
        inner = sc.inside()
        params = []
        for array in arrays:
            shape = sc.arrays[array][1:]
            param = Param(self.name("p"), Array("i64", shape) if shape else I64)
            params.append(param)
            self.know(inner, param.name, param.type, (param.name,))
        self.fill(inner, depth - 1)
        shapes = [None if scalars else self.some_shape(inner, sc) for _ in range(count)]
        results = tuple(self.result(inner, s) for s in shapes)
        returns = tuple(I64 if s is None else Array("i64", s) for s in shapes)
        return Lambda(tuple(params), Body(tuple(inner.stms), results), returns), shapes

    def map(self, sc: Scope, depth: int) -> None:
        found = self.rows(sc)
        if found is None:
            return
        width, arrays = found
        fn, shapes = self.mapped(sc, arrays, depth, self.pick.randint(1, 2), False)
        pat = tuple(Param(self.name("y"), Array("i64", (width, *(s or ())))) for s in shapes)
        sc.stms.append(Stm(pat, Map(width, fn, tuple(arrays))))
        for param in pat:
            self.know(sc, param.name, param.type)

    def operator(self) -> Operator:
        a, b = Param(self.name("a"), I64), Param(self.name("b"), I64)
        op, neutral = self.pick.choice([("+", 0), ("max", -(1 << 62)), ("*", 1)])
        combined = Bin(op, "i64", Var(a.name, "i64"), Var(b.name, "i64"))
        return Operator(Lambda((a, b), Body((), (combined,)), (I64,)), (lit(neutral),), True)

    def fold(self, sc: Scope, depth: int) -> None:
        found = self.rows(sc)
        if found is None:
            return
        width, arrays = found
        count, kept = self.pick.randint(1, 2), self.pick.randint(0, 1)
        fn, _ = self.mapped(sc, arrays, depth, count + kept, True)
        ops = tuple(self.operator() for _ in range(count))
        kind: type[Reduce] | type[Scan] = self.pick.choice((Reduce, Scan))
        folded: Type = I64 if kind is Reduce else Array("i64", (width,))
        pat = tuple(Param(self.name("f"), folded) for _ in range(count))
        pat += tuple(Param(self.name("k"), Array("i64", (width,))) for _ in range(kept))
        sc.stms.append(Stm(pat, kind(width, ops, fn, tuple(arrays))))
        for param in pat:
            self.know(sc, param.name, param.type)

    def vector_fold(self, sc: Scope, depth: int) -> None:
        matrices = [(a, s) for a, s in sc.arrays.items() if len(s) == 2]
        if not matrices:
            return
        array, (width, size) = self.pick.choice(matrices)
        row = Array("i64", (size,))
        neutral = self.let(sc, "ne", row, Replicate((size,), lit(0)))
        if self.pick.random() < 0.3:  # a neutral element that does not look like a replicate
            neutral = self.let(sc, "ne", row, Copy(neutral))
        a, b = Param(self.name("a"), row), Param(self.name("b"), row)
        x, y, c = Param(self.name("x"), I64), Param(self.name("y"), I64), Param(self.name("c"), row)
        added = Bin("+", "i64", Var(x.name, "i64"), Var(y.name, "i64"))
        inner = Map(size, Lambda((x, y), Body((), (added,)), (I64,)), (a.name, b.name))
        op = Operator(Lambda((a, b), Body((Stm((c,), inner),), (c.name,)), (row,)), (neutral,))
        p = Param(self.name("p"), row)
        fn = Lambda((p,), Body((), (p.name,)), (row,))
        kind: type[Reduce] | type[Scan] = self.pick.choice((Reduce, Scan))
        type_ = row if kind is Reduce else Array("i64", (width, size))
        self.let(sc, "w", type_, kind(width, (op,), fn, (array,)))

    def loop(self, sc: Scope, depth: int) -> None:
        inner = sc.inside()
        params: list[Param] = []
        init: list[Operand] = []
        shapes: list[Shape | None] = []
        for _ in range(self.pick.randint(1, 2)):
            if sc.arrays and self.pick.random() < 0.7:
                start, shape = self.pick.choice(list(sc.arrays.items()))
                own = start in sc.fresh and sc.roots[start] == {start} and start not in init
                unique = own and self.pick.random() < 0.5
                param = Param(self.name("l"), Array("i64", shape), unique)
                init.append(start)
                shapes.append(shape)
                if unique:
                    for other in [a for a in inner.arrays if start in inner.roots.get(a, ())]:
                        del inner.arrays[other]
            else:
                param = Param(self.name("l"), I64)
                init.append(self.se(sc, 1))
                shapes.append(None)
            params.append(param)
        taken = {v for v, p in zip(init, params, strict=True) if p.unique and isinstance(v, str)}
        if any(
            isinstance(v, str) and not p.unique and sc.roots.get(v, frozenset((v,))) & taken
            for v, p in zip(init, params, strict=True)
        ):
            return
        for param in params:
            self.know(inner, param.name, param.type, () if param.unique else (param.name,))
        form = ForLoop(self.name("i"), "i64", self.bound(sc))
        inner.scalars.append(form.index)
        self.fill(inner, depth - 1, 3)
        results = []
        for param, wanted in zip(params, shapes, strict=True):
            value = self.result(inner, wanted)
            if param.unique:
                assert isinstance(value, str)
                value = self.let(inner, "c", param.type, Copy(value))
            results.append(value)
        pat = tuple(Param(self.name("q"), p.type) for p in params)
        body = Body(tuple(inner.stms), tuple(results))
        sc.stms.append(Stm(pat, Loop(tuple(params), tuple(init), form, body)))
        for name in taken:
            self.consume(sc, name)
        for param, made in zip(params, pat, strict=True):
            self.know(sc, made.name, made.type, () if param.unique else tuple(sc.arrays))

    def bound(self, sc: Scope) -> SE:
        choice = self.pick.random()
        if choice < 0.5:
            return lit(self.pick.randint(0, 3))
        if choice < 0.8:
            return se_of(self.pick.choice(SIZES))
        return Bin("%", "i64", Un("abs", "i64", self.se(sc, 1)), lit(3))

    def branch(self, sc: Scope, depth: int) -> None:
        shapes = [self.some_shape(sc, sc) for _ in range(self.pick.randint(1, 2))]
        bodies = []
        for _ in range(2):
            inner = sc.inside()
            self.fill(inner, depth - 1, 2)
            results = tuple(self.result(inner, s) for s in shapes)
            bodies.append(Body(tuple(inner.stms), results))
        pat = tuple(Param(self.name("d"), Array("i64", s) if s else I64) for s in shapes)
        sc.stms.append(Stm(pat, If(self.cond(sc), bodies[0], bodies[1])))
        for made in pat:
            self.know(sc, made.name, made.type, tuple(sc.arrays))

    def own(self, sc: Scope, rank: int | None = None) -> str | None:
        """An array that may be consumed: one made here, or a copy."""
        fitting = [a for a, s in sc.arrays.items() if rank is None or len(s) == rank]
        if not fitting:
            return None
        array = self.pick.choice(fitting)
        if array in sc.fresh and sc.roots[array] == {array} and self.pick.random() < 0.6:
            return array
        return self.let(sc, "c", Array("i64", sc.arrays[array]), Copy(array))

    def update(self, sc: Scope, depth: int) -> None:
        array = self.own(sc)
        if array is None:
            return
        shape = sc.arrays[array]
        type_ = Array("i64", shape)
        rest = [
            (a, s)
            for a, s in sc.arrays.items()
            if s == shape[1:] and array not in sc.roots.get(a, ())
        ]
        value: Operand
        if len(shape) > 1 and rest and shape[0] in SIZES:
            value = self.pick.choice(rest)[0]
            first = DimFix(self.below(sc, shape[0]))
            rows = tuple(DimSlice(ZERO, d, ONE) for d in shape[1:])
            exp = Update(array, (first, *rows), value)
        elif all(d in SIZES for d in shape):
            exp = Update(array, tuple(DimFix(self.below(sc, d)) for d in shape), self.se(sc))
        else:
            return
        self.consume(sc, array)
        self.let(sc, "u", type_, exp)

    def scatter(self, sc: Scope, depth: int) -> None:
        array = self.own(sc, 1)
        found = self.rows(sc)
        if array is None or found is None:
            return
        width, arrays = found
        if array in arrays or any(array in sc.roots.get(a, ()) for a in arrays):
            return
        size = sc.arrays[array]
        outside = sc.inside()
        for other in [a for a in outside.arrays if array in outside.roots.get(a, ())]:
            del outside.arrays[other]
        outside.fresh = set()
        fn, _ = self.mapped(outside, arrays, depth, 2, True)
        at, value = fn.body.results
        # Only one of the writes that meet stays, and any may: make them all write the same.
        same = Bin("*", "i64", at, lit(3)) if not isinstance(at, str) else value
        writes: tuple[Operand, ...] = (at, same)
        if not isinstance(at, str) and self.pick.random() < 0.4:
            after = Bin("+", "i64", at, lit(1))
            writes += (after, Bin("*", "i64", after, lit(3)))
        fn = Lambda(fn.params, Body(fn.body.stms, writes), fn.returns * (len(writes) // 2))
        self.consume(sc, array)
        exp = Scatter(width, (Dest(array, 1, len(writes) // 2),), fn, tuple(arrays))
        self.let(sc, "sc", Array("i64", size), exp)

    def rows_scatter(self, sc: Scope, depth: int) -> None:
        """Rows of a matrix to other places of a copy of it, backwards."""
        matrices = [(a, s) for a, s in sc.arrays.items() if len(s) == 2]
        if not matrices:
            return
        array, (width, size) = self.pick.choice(matrices)
        kind, row = Array("i64", (width, size)), Array("i64", (size,))
        dest = self.let(sc, "c", kind, Copy(array))
        places = self.let(sc, "io", Array("i64", (width,)), Iota(width, ZERO, ONE, "i64"))
        p, q = Param(self.name("p"), I64), Param(self.name("q"), row)
        inner = sc.inside()
        inner.fresh = set()
        del inner.arrays[dest]
        self.know(inner, p.name, I64)
        self.know(inner, q.name, row, (q.name,))
        self.fill(inner, depth - 1, 2)
        value = self.result(inner, (size,))
        at = Bin("-", "i64", se_of(width), Var(p.name, "i64"))
        fn = Lambda((p, q), Body(tuple(inner.stms), (at, value)), (I64, row))
        self.consume(sc, dest)
        self.let(sc, "sc", kind, Scatter(width, (Dest(dest, 1),), fn, (places, array)))

    def while_loop(self, sc: Scope, depth: int) -> None:
        inner = sc.inside()
        go, value = Param(self.name("g"), Scalar("bool")), Param(self.name("l"), I64)
        inner.scalars.append(value.name)
        self.fill(inner, depth - 1, 2)
        more = Bin("<", "i64", Var(value.name, "i64"), lit(4))
        step = Bin("+", "i64", Var(value.name, "i64"), lit(1))
        after = Bin("max", "i64", step, Bin("min", "i64", self.se(inner, 1), lit(9)))
        body = Body(tuple(inner.stms), (more, after))
        pat = (Param(self.name("g"), Scalar("bool")), Param(self.name("q"), I64))
        start = Bin("max", "i64", self.se(sc, 1), lit(-1))
        exp = Loop((go, value), (Lit(True, "bool"), start), WhileLoop(go.name), body)
        sc.stms.append(Stm(pat, exp))
        self.know(sc, pat[1].name, I64)

    def hist(self, sc: Scope, depth: int) -> None:
        array = self.own(sc, 1)
        found = self.rows(sc)
        if array is None or found is None:
            return
        width, arrays = found
        if any(array in sc.roots.get(a, (a,)) for a in arrays):
            return
        size = sc.arrays[array]
        outside = sc.inside()
        for other in [a for a in outside.arrays if array in outside.roots.get(a, ())]:
            del outside.arrays[other]
        fn, _ = self.mapped(outside, arrays, depth, 2, True)
        self.consume(sc, array)
        exp = Hist(width, (HistOp((array,), 1, self.operator()),), fn, tuple(arrays))
        self.let(sc, "h", Array("i64", size), exp)

    def concat(self, sc: Scope, depth: int) -> None:
        flat = [a for a, s in sc.arrays.items() if len(s) == 1]
        if len(flat) < 2:
            return
        parts = self.pick.sample(flat, 2)
        size = sc.arrays[parts[0]][0] + sc.arrays[parts[1]][0]
        self.let(sc, "cc", Array("i64", (size,)), Concat(tuple(parts)))


ZERO, ONE = lit(0), lit(1)
SIZES = [Poly.var("n"), Poly.var("m"), Poly.const(3), Poly.const(20)]


def program(seed: int) -> Prog:
    """The program of a seed; its entry `main` takes n, m and six arrays."""
    make = Maker(seed)
    n, m, three, twenty = SIZES
    params = [
        Param("n", I64),
        Param("m", I64),
        Param("xs", Array("i64", (n,))),
        Param("xss", Array("i64", (n, m))),
        Param("cube", Array("i64", (n, m, m))),
        Param("ys", Array("i64", (m,))),
        Param("few", Array("i64", (three, m))),
        Param("some", Array("i64", (twenty, three))),
    ]
    sc = Scope([], {}, {}, list(SIZES))
    for param in params[2:]:
        make.know(sc, param.name, param.type, (param.name,))
    while not any(isinstance(s.exp, Map) for s in sc.stms) and make.budget > 0:
        make.map(sc, 4)
    make.fill(sc, 3, 3)
    shapes: list[Shape | None] = []
    results: list[Operand] = []
    made = {p.name: p.type for s in sc.stms for p in s.pat}
    for name in list(sc.arrays)[-3:]:
        shape = sc.arrays[name]
        if all(d.names() <= {"n", "m"} for d in shape):
            results.append(make.let(sc, "out", Array("i64", shape), Copy(name)))
            shapes.append(shape)
    for name in [x for x in sc.scalars if x in made][-2:]:
        results.append(Var(name, "i64"))
        shapes.append(None)
    outs = tuple(Param(make.name("o"), Array("i64", s) if s else I64) for s in shapes)
    body = Body(tuple(sc.stms), tuple(results))
    return Prog((Function("main", tuple(params), outs, body, True, 2),))
