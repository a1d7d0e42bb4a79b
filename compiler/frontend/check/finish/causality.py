"""Causality check: every size is known before its use.

Walks a definition in the order of evaluation with the names known so far: bindings, and the sizes
that calls, branches and loops have brought forth. Where an expression needs the value of a size
(an instance of a polymorphic function, an empty array, a parameter's type), it must be among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field

from compiler import codes
from compiler.base.by_class import handles
from compiler.base.dataclass import dataclass
from compiler.base.errors import TypeError_
from compiler.base.names import Name, base_of
from compiler.base.spans import Span
from compiler.frontend import typed as t
from compiler.frontend.check.types.size_exps import names_in_size
from compiler.frontend.check.types.walks import names_in_type
from compiler.frontend.parts import parts, pattern_variables
from compiler.frontend.types import PrimT, Size, SizeOp

_WALKS: dict[type, Callable[..., None]] = {}


@dataclass(slots=True)
class KnownNames:
    """The names known at this point, with the order in which they were learnt."""

    names: set[Name]
    bound: Callable[[Name], bool]
    """Tests whether the definition itself binds a name; others are always known."""
    left_first: set[Span]
    """Applications whose function stands to the left of their last argument."""
    trail: list[Name] = field(default_factory=list)
    mentioned: dict[int, tuple[Size, frozenset[Name]]] = field(default_factory=dict)
    """Memo of the names in sizes, by identity: sums of many share their parts."""

    def add(self, names: Iterable[Name]) -> None:
        """Learn names."""
        for name in names:
            if name not in self.names:
                self.names.add(name)
                self.trail.append(name)

    def forget(self, mark: int) -> None:
        """Forget what was learnt since `mark`, a length of `trail`."""
        while len(self.trail) > mark:
            self.names.discard(self.trail.pop())

    def bind(self, pat: t.Pat) -> None:
        """Learn the names that a pattern binds."""
        self.add(v.name for v in pattern_variables(pat))

    def need(self, names: Iterable[Name], span: Span) -> None:
        """Demand that sizes are known.

        Errors: one is not; it comes from something that is evaluated later.
        """
        for name in names:
            if name not in self.names and self.bound(name):
                raise TypeError_(
                    codes.sizes.TOO_EARLY,
                    f"This uses the size `{base_of(name)}` before the array that "
                    "determines it is computed.",
                    span,
                    "Bind the array of that size with `let` before this.",
                )

    def names_in(self, size: Size) -> frozenset[Name]:
        """Return the variables of a size."""
        known = self.mentioned.get(id(size))
        if known is not None:
            return known[1]
        if isinstance(size, SizeOp):
            found = self.names_in(size.lhs) | self.names_in(size.rhs)
        else:
            names = set[Name]()
            names_in_size(size, names)
            found = frozenset(names)
        self.mentioned[id(size)] = size, found
        return found

    def walk(self, e: t.Exp) -> None:
        """Check an expression."""
        special = _WALKS.get(type(e))
        if special is None:
            for part in parts(e):
                self.walk(part)
        else:
            special(self, e)


def check_causality(d: t.Def, bound: Callable[[Name], bool], left_first: set[Span]) -> None:
    """Check a definition; `bound` tests whether it binds a name.

    `left_first`: applications whose function may need no size that their last argument brings.
    Errors: `TypeError_` where a size is needed too early.
    """
    known = KnownNames(set(), bound, left_first)
    known.add(d.size_params)
    for pat in d.params:
        known.bind(pat)
    known.walk(d.body)


@handles(_WALKS, t.Hole)
def _hole(known: KnownNames, e: t.Hole) -> None:
    known.need(names_in_type(e.type), e.span)


@handles(_WALKS, t.Var)
def _var(known: KnownNames, e: t.Var) -> None:
    for size in e.size_args:
        known.need(known.names_in(size), e.span)


@handles(_WALKS, t.ArrayLit)
def _array(known: KnownNames, e: t.ArrayLit) -> None:
    for elem in e.elems:
        known.walk(elem)
    if not e.elems:
        known.need(names_in_type(e.type), e.span)


@handles(_WALKS, t.Constr)
def _constr(known: KnownNames, e: t.Constr) -> None:
    for arg in e.args:
        known.walk(arg)
    known.need(names_in_type(e.type), e.span)


@handles(_WALKS, t.Apply)
def _apply(known: KnownNames, e: t.Apply) -> None:
    if e.span in known.left_first:
        known.walk(e.fn)
        for arg in e.args[:-1]:
            mark = len(known.trail)
            known.walk(arg)
            known.forget(mark)
    for arg in reversed(e.args):
        known.walk(arg)
    known.walk(e.fn)
    known.add(e.ext)


@handles(_WALKS, t.Lambda)
def _lambda(known: KnownNames, e: t.Lambda) -> None:
    mark = len(known.trail)
    for pat in e.params:
        known.bind(pat)
    for pat in e.params:
        for variable in pattern_variables(pat):
            if not isinstance(variable.type, PrimT):
                known.need(names_in_type(variable.type), pat.span)
    known.walk(e.body)
    known.forget(mark)


@handles(_WALKS, t.Let)
def _let(known: KnownNames, e: t.Let) -> None:
    exp: t.Exp = e
    if e.span in known.left_first:
        _before_operand(known, e)
    while type(exp) is t.Let:
        known.walk(exp.rhs)
        known.add(exp.sizes)
        known.bind(exp.pat)
        exp = exp.body
    known.walk(exp)


def _before_operand(known: KnownNames, e: t.Let) -> None:
    """Walk the operator of a section whose operand is bound to a name."""
    exp: t.Exp = e
    while type(exp) is t.Let and exp.span == e.span:
        exp = exp.body
    if isinstance(exp, t.Apply):
        known.walk(exp.fn)


@handles(_WALKS, t.LetFun)
def _let_fun(known: KnownNames, e: t.LetFun) -> None:
    mark = len(known.trail)
    known.add(e.fun.size_params)
    for pat in e.fun.params:
        known.bind(pat)
    known.walk(e.fun.body)
    known.forget(mark)
    known.add((e.fun.name,))
    known.walk(e.body)


def _branch(known: KnownNames, e: t.Exp) -> None:
    mark = len(known.trail)
    known.walk(e)
    known.forget(mark)


@handles(_WALKS, t.If)
def _if(known: KnownNames, e: t.If) -> None:
    known.walk(e.cond)
    _branch(known, e.then)
    _branch(known, e.orelse)
    known.add(e.ext)


@handles(_WALKS, t.Match)
def _match(known: KnownNames, e: t.Match) -> None:
    known.walk(e.exp)
    for case in e.cases:
        mark = len(known.trail)
        known.bind(case.pat)
        known.walk(case.body)
        known.forget(mark)
    known.add(e.ext)


@handles(_WALKS, t.Loop)
def _loop(known: KnownNames, e: t.Loop) -> None:
    known.walk(e.init)
    if isinstance(e.form, t.For):
        known.walk(e.form.bound)
    elif isinstance(e.form, t.ForIn):
        known.walk(e.form.array)
    mark = len(known.trail)
    known.add(e.sizes)
    known.bind(e.pat)
    if isinstance(e.form, t.For):
        known.add((e.form.name,))
    elif isinstance(e.form, t.ForIn):
        known.bind(e.form.pat)
    else:
        known.walk(e.form.cond)
    known.walk(e.body)
    known.forget(mark)
    known.add(e.ext)


@handles(_WALKS, t.Index, t.Range)
def _with_ext(known: KnownNames, e: t.Index | t.Range) -> None:
    for part in parts(e):
        known.walk(part)
    known.add(e.ext)


@handles(_WALKS, t.Coerce)
def _coerce(known: KnownNames, e: t.Coerce) -> None:
    known.walk(e.exp)
    known.need(names_in_type(e.type), e.span)
