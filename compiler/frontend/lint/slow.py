"""Warn of correct programs that are slower than they look.

Most warnings hold whatever surrounds the expression. Those that depend on the surrounding function
(which may be called for each element of an array) are given for entry points only, outside
functions passed to others.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler import codes
from compiler.base.names import Name, base_of
from compiler.base.spans import Span
from compiler.frontend import typed as t
from compiler.frontend.lint.warning import Warning_
from compiler.frontend.parts import free_variables, parts
from compiler.frontend.show_type import show_type
from compiler.frontend.types import Array, Arrow, PrimT, Record, SizeConst, Sum, Type

FEW = 16
"""Maximum elements of a small array, for which a tuple serves as well."""
LONG = 64
"""Minimum rounds of a long loop."""
_FOLDS = {"reduce": 2, "reduce_comm": 2, "scan": 2}
"""Index of the array argument; operator and neutral element come first."""
_SUMS = frozenset(("sum", "product", "minimum", "maximum", "and", "or"))
_HISTOGRAMS = {"hist": (0, 1), "reduce_by_index": (1, 2)}
"""Indices of the operator and neutral element arguments."""
_NARROW = frozenset(("i8", "u8", "i16", "u16", "f16"))
_EXTREMES = frozenset(("min", "max"))
_ASSOCIATIVE = frozenset(("+", "*", "&", "|", "^")) | _EXTREMES


def slow(d: t.Def) -> list[Warning_]:
    """Return warnings about one definition."""
    found: list[Warning_] = [*_sums(d)]
    todo: list[tuple[t.Exp, bool]] = [(d.body, d.is_entry)]
    while todo:
        e, alone = todo.pop()
        if e.span.is_own:
            found += _anywhere(e)
            if alone:
                found += _alone(e)
        own = e.fun.body if isinstance(e, t.LetFun) else None
        todo.extend(
            (part, alone and part is not own and not isinstance(part, t.Lambda))
            for part in parts(e)
        )
    return found


def _anywhere(e: t.Exp) -> Iterator[Warning_]:
    match e:
        case t.Apply(fn=t.Var(name=name), args=args) if base_of(name) in ("reduce", "scan"):
            yield from _small_rows(base_of(name), e, args)
        case t.Apply(fn=t.Var(name=name), args=args) if base_of(name) in _HISTOGRAMS:
            yield from _narrow_bins(e, args, _HISTOGRAMS[base_of(name)])


def _alone(e: t.Exp) -> Iterator[Warning_]:
    match e:
        case t.Apply(fn=t.Var(name=name), args=args) if _is_prelude(name):
            yield from _few(base_of(name), e, args)
        case t.Loop():
            yield from _folding(e)


def _is_prelude(name: Name) -> bool:
    """Test for a name bound by the prelude: its tag begins with 0."""
    return name.rpartition("_")[2].startswith("0")


# --- folds ---------------------------------------------------------------------------------------


def _few(called: str, e: t.Exp, args: tuple[t.Exp, ...]) -> Iterator[Warning_]:
    """Yield a warning about a fold of an array literal on its own."""
    at = _FOLDS.get(called, 0 if called in _SUMS else None)
    array = args[at] if at is not None and at < len(args) else None
    if not isinstance(array, t.ArrayLit) or called == "scan" or not array.elems:
        return
    count = len(array.elems)
    if count <= FEW and isinstance(array.elems[0].type, PrimT):
        said = "one number" if count == 1 else f"{count} numbers"
        yield Warning_(
            codes.warnings.FEW,
            f"This is a parallel reduction of {said}: a GPU writes these to memory and "
            "launches kernels for them.",
            e.span,
            "Write the operator between them, as in `x + y + z`.",
        )


def _small_rows(called: str, e: t.Exp, args: tuple[t.Exp, ...]) -> Iterator[Warning_]:
    """Yield a warning about a fold whose operator takes small arrays, not element by element."""
    if len(args) < 2 or not isinstance(args[1].type, Array):
        return
    dims = args[1].type.dims
    sizes = [size.value for size in dims if isinstance(size, SizeConst)]
    elements = 1
    for size in sizes:
        elements *= size
    if len(sizes) < len(dims) or not 0 < elements <= FEW or _is_vectorised(args[0]):
        return
    yield Warning_(
        codes.warnings.SMALL_ROWS,
        f"The operator of this `{called}` works on arrays of {elements} elements, which "
        "stay in memory between its steps.",
        e.span,
        "Use tuples instead, which stay in registers.",
    )


def _is_vectorised(op: t.Exp) -> bool:
    """True if an operator on arrays is, or may be, `map2 op`."""
    match op:
        case t.Apply(fn=t.Var(name=name)):
            return base_of(name).startswith("map")
        case t.Lambda(params=params, body=body):
            ends = [p.name for p in params if isinstance(p, t.PVar)]
            match body:
                case t.Apply(fn=t.Var(name=name), args=(_, *rest)):
                    named = [x.name for x in rest if isinstance(x, t.Var)]
                    return base_of(name).startswith("map") and named == ends
            return False
    return not isinstance(op, t.Var) or not isinstance(op.type, Arrow)


# --- histograms and sums -------------------------------------------------------------------------


def _narrow_bins(e: t.Exp, args: tuple[t.Exp, ...], places: tuple[int, int]) -> Iterator[Warning_]:
    """Yield a warning about bins that are too narrow for the atomic operations of a GPU."""
    if len(args) <= max(places):
        return
    kind = args[places[1]].type
    if not isinstance(kind, PrimT) or kind.prim not in _NARROW:
        return
    wide = "f32" if kind.prim == "f16" else f"{kind.prim[0]}32"
    bits = kind.prim[1:]
    yield Warning_(
        codes.warnings.NARROW,
        f"A GPU has no atomic operations on bins of {bits} bits: each update takes a lock.",
        e.span,
        f"Use bins of `{wide}`, and convert them at the end: `map {kind.prim}.{wide} (..)`.",
    )


def _sums(d: t.Def) -> Iterator[Warning_]:
    """Yield warnings about arrays of sums with several arrays, in parameters and `let`."""
    for kind, span in (*((p.type, p.span) for p in d.params), *_bound(d.body)):
        for one in _within(kind):
            if not isinstance(one, Array) or not isinstance(one.elem, Sum):
                continue
            rows = [a for _, args in one.elem.variants for a in args if isinstance(a, Array)]
            if len(rows) > 1 and span.is_own:
                told = ", ".join(f"`{show_type(row)}`" for row in rows)
                yield Warning_(
                    codes.warnings.SUMS,
                    f"Each element of this array reserves room for {told}, whatever its variant.",
                    span,
                    "Keep the arrays outside, and store indices into them in the variants.",
                )


def _bound(body: t.Exp) -> Iterator[tuple[Type, Span]]:
    """Yield the types that `let` binds in a body."""
    todo = [body]
    while todo:
        e = todo.pop()
        if isinstance(e, t.Let) and e.pat.span.is_own:
            yield e.pat.type, e.pat.span
        todo.extend(parts(e))


def _within(kind: Type) -> Iterator[Type]:
    """Yield a type, and those of its fields."""
    yield kind
    if isinstance(kind, Record):
        for _, field in kind.fields:
            yield from _within(field)


# --- loops ---------------------------------------------------------------------------------------


def _folding(loop: t.Loop) -> Iterator[Warning_]:
    """Yield a warning about a loop that carries a number through an associative operator."""
    rounds = _rounds(loop)
    if isinstance(loop.form, t.While) or (rounds is not None and rounds < LONG):
        return
    match loop:
        case t.Loop(pat=t.PVar(name=state, type=PrimT()), body=body):
            if op := _step(body, state, frozenset()):
                yield _could_be(loop, "reduce", op)
        case t.Loop(
            form=t.For(name=index),
            pat=t.PRecord(fields=((_, t.PVar(name=s, type=PrimT())), (_, t.PVar(name=ys)))),
            body=body,
        ):
            named: dict[Name, t.Exp] = {}
            while isinstance(body, t.Let) and isinstance(body.pat, t.PVar):
                named[body.pat.name] = body.rhs
                body = body.body
            match body:
                case t.RecordExp(
                    fields=(
                        (_, after),
                        (
                            _,
                            t.Update(array=t.Var(name=ys2), dims=(t.IndexFix(at=at),), value=value),
                        ),
                    )
                ) if ys2 == ys and isinstance(at, t.Var) and at.name == index:
                    step = named.get(after.name) if isinstance(after, t.Var) else after
                    same = isinstance(value, t.Var) and (
                        value.name == s or (isinstance(after, t.Var) and value.name == after.name)
                    )
                    others = frozenset((ys, *named))
                    if step is not None and same and (op := _step(step, s, others)):
                        yield _could_be(loop, "scan", op)


def _rounds(loop: t.Loop) -> int | None:
    """Return the number of rounds of a `for` loop, where it is written."""
    if isinstance(loop.form, t.For) and isinstance(loop.form.bound, t.Const):
        return int(loop.form.bound.value)
    if isinstance(loop.form, t.ForIn) and isinstance(loop.form.array.type, Array):
        size = loop.form.array.type.dims[0]
        return size.value if isinstance(size, SizeConst) else None
    return None


def _step(e: t.Exp, state: Name, others: frozenset[Name]) -> str:
    """Return the associative operator of a state and a value free of `others`, or ""."""
    if not isinstance(e, t.PrimOp) or e.op not in _ASSOCIATIVE:
        return ""
    mine = [isinstance(x, t.Var) and x.name == state for x in e.args]
    if sum(mine) != 1:
        return ""
    other = e.args[mine.index(False)]
    if free_variables(other) & {state, *others} or _hands_on(other):
        return ""
    return f"{e.at}.{e.op}" if e.op in _EXTREMES else f"({e.op})"


def _hands_on(e: t.Exp) -> bool:
    """True if an expression contains functions or loops: it may be parallel already."""
    return isinstance(e, t.Lambda | t.Loop) or any(map(_hands_on, parts(e)))


def _could_be(loop: t.Loop, called: str, op: str) -> Warning_:
    kinds = [kind.prim for kind in _within(loop.type) if isinstance(kind, PrimT)]
    is_rounded = kinds[0][0] == "f" and op in ("(+)", "(*)")
    rounding = " Floating-point results will be rounded in another order." if is_rounded else ""
    return Warning_(
        codes.warnings.FOLD,
        "This loop could run in parallel: its operator is associative.",
        loop.span,
        f"Write `{called} {op}` over an array with one element per iteration.{rounding}",
    )
