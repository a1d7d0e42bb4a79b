"""Find the expressions of a program's text that may be edited, with types and names in scope.

Operators of reductions and scans have to stay associative, and their neutral elements neutral:
what stands in them is `kept`, and may only be edited so that it means the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass

from compiler.base.names import Name, base_of
from compiler.base.spans import Span
from compiler.frontend import ast, decs, typed
from compiler.frontend.types import Array, Arrow, PrimT, Record, Size, SizeConst, SizeVar, Sum, Type

Scope = tuple[tuple[Name, Type], ...]
"""The local names that are visible, the innermost last."""
_ELEMENTWISE = frozenset(("map2", "map3", "map4", "map5", "zipWith"))
"""Functions whose argument is no operator though its type is that of one."""
_LETS = (ast.Let, ast.LetFun, ast.LetWith)


@dataclass(frozen=True, slots=True)
class Place:
    """An expression of the text, from `start` to `end`, with its type."""

    node: ast.Exp
    start: int
    end: int
    type: Type
    scope: Scope
    kept: bool


class Offsets:
    """Offsets in a text of the spans in it."""

    def __init__(self, source: str) -> None:
        self.lines = [0]
        for line in source.split("\n"):
            self.lines.append(self.lines[-1] + len(line) + 1)

    def of(self, span: Span) -> tuple[int, int]:
        """Where a span begins and ends."""
        start = self.lines[span.line - 1] + span.col - 1
        return start, self.lines[span.end_line - 1] + span.end_col - 1


def places(
    source: str, tree: decs.Program, prog: typed.TypedProg, said: Callable[[Name], str | None]
) -> list[Place]:
    """All places of a program, without those whose type is not known: of what nobody uses.

    `said` tells how the author spells a name, None for one that nobody has written.
    """
    seen = _Types(prog)
    offsets, found = Offsets(source), list[Place]()
    for node in _expressions(tree):
        known = seen.types.get(node.span)
        if known is None or isinstance(known[0].type, Arrow) or not _is_same(node, known[0]):
            continue
        start, end = offsets.of(node.span)
        kept = any(span.holds(node.span) for span in seen.kept)
        scope = tuple((name, kind) for name, kind in known[1] if said(name) is not None)
        found.append(Place(node, start, end, known[0].type, scope, kept))
    return found


def _is_same(node: ast.Exp, made: typed.Exp) -> bool:
    """Return False if the expression was given arguments that its author left out."""
    if isinstance(node, ast.Apply) and isinstance(made, typed.Apply):
        return len(node.args) == len(made.args)
    functions = (ast.Var, ast.Lambda, ast.OpSection, ast.ProjSection, ast.IndexSection)
    return not (isinstance(node, functions) and isinstance(made, typed.Apply))


def _expressions(node: object, alone: bool = True) -> Iterator[ast.Exp]:
    """The expressions that may stand in parentheses: neither patterns nor types have any.

    `alone`: a `let` here does not belong to a chain of them, which may have no `in`.
    """
    if isinstance(node, tuple):
        for part in node:
            yield from _expressions(part)
    if isinstance(node, ast.Pat | ast.TypeExp | ast.Attr) or not is_dataclass(node):
        return
    if isinstance(node, ast.Exp) and (alone or not isinstance(node, _LETS)):
        yield node
    for one in fields(node):
        part = getattr(node, one.name)
        if isinstance(node, ast.RecordExp) and one.name == "fields":
            part = tuple(value for _, value in part if value.span.col != 0)
            part = tuple(value for value in part if not _is_short(node, value))
        chained = isinstance(node, _LETS) and one.name == "body"
        yield from _expressions(part, not chained)


def _is_short(record: ast.RecordExp, value: ast.Exp) -> bool:
    """Return True if a field is `y`, short for `y = y`."""
    return any(v is value and isinstance(v, ast.Var) and v.name == (f,) for f, v in record.fields)


class _Types:
    """The types and scopes of a typed program by span, and the spans of what is `kept`."""

    def __init__(self, prog: typed.TypedProg) -> None:
        self.types: dict[Span, tuple[typed.Exp, Scope]] = {}
        self.kept: list[Span] = []
        self._defs = {d.name: d for d in prog.defs if not d.span.file}
        self._operators: set[Name] = set()
        for one in self._defs.values():
            self._definition(one, ())
        for name in self._operators:
            if name in self._defs:
                self._keep(self._defs[name])

    def _keep(self, one: typed.Def) -> None:
        """Keep the body of a definition, and what it calls."""
        if one.body.span in self.kept:
            return
        self.kept.append(one.body.span)
        for name in _mentioned(one.body):
            if name in self._defs:
                self._keep(self._defs[name])

    def _definition(self, one: typed.Def, scope: Scope) -> None:
        inner = scope + tuple((n, PrimT("i64")) for n in one.size_params) + _bound(one.params)
        if len(one.params) == 2 and not one.is_entry:
            first, second = (skeleton(pat.type) for pat in one.params)
            if first == second == skeleton(one.ret):
                self._operators.add(one.name)
                self.kept.append(one.body.span)
        self._walk(one.body, inner)

    def _walk(self, exp: object, scope: Scope) -> None:
        if isinstance(exp, tuple):
            for part in exp:
                self._walk(part, scope)
        if isinstance(exp, typed.Exp):
            if not exp.span.file:
                self.types.setdefault(exp.span, (exp, scope))
            if isinstance(exp, typed.Apply):
                self._operands(exp)
        match exp:
            case typed.Let(sizes=sizes, pat=pat, rhs=rhs, body=body):
                self._walk(rhs, scope)
                more = tuple((n, PrimT("i64")) for n in sizes)
                self._walk(body, scope + more + _bound((pat,)))
            case typed.LetFun(fun=fun, body=body):
                self._definition(fun, scope)
                self._walk(body, scope)
            case typed.Lambda(params=params, body=body):
                self._walk(body, scope + _bound(params))
            case typed.Case(pat=pat, body=body):
                self._walk(body, scope + _bound((pat,)))
            case typed.Loop():
                self._loop(exp, scope)
            case _ if is_dataclass(exp):
                for one in fields(exp):
                    if one.name not in ("type", "span"):
                        self._walk(getattr(exp, one.name), scope)

    def _loop(self, loop: typed.Loop, scope: Scope) -> None:
        self._walk(loop.init, scope)
        inner = scope + tuple((n, PrimT("i64")) for n in loop.sizes) + _bound((loop.pat,))
        match loop.form:
            case typed.For(name=name, prim=prim, bound=bound):
                self._walk(bound, scope)
                inner += ((name, PrimT(prim)),)
            case typed.ForIn(pat=pat, array=array):
                self._walk(array, scope)
                inner += _bound((pat,))
            case typed.While(cond=cond):
                self._walk(cond, inner)
        self._walk(loop.body, inner)

    def _operands(self, call: typed.Apply) -> None:
        """Keep an operator that is an argument, and the neutral element behind it."""
        if isinstance(call.fn, typed.Var) and base_of(call.fn.name) in _ELEMENTWISE:
            return
        for at, arg in enumerate(call.args):
            of = _operator(arg.type)
            if of is None:
                continue
            self.kept.append(arg.span)
            self._operators |= set(_mentioned(arg))
            neutral = call.args[at + 1 : at + 2]
            if neutral and skeleton(neutral[0].type) == of:
                self.kept.append(neutral[0].span)
                self._operators |= set(_mentioned(neutral[0]))


def _operator(kind: Type) -> str | None:
    """The type of what an operator combines; None if it is none."""
    match kind:
        case Arrow(param=a, result=Arrow(param=b, result=c)):
            return skeleton(a) if skeleton(a) == skeleton(b) == skeleton(c) else None
    return None


def skeleton(kind: Type) -> str:
    """A type without its sizes."""
    match kind:
        case PrimT(prim):
            return prim
        case Array(dims, elem):
            return "[]" * len(dims) + skeleton(elem)
        case Record(parts):
            return "{" + ",".join(f"{name}:{skeleton(of)}" for name, of in parts) + "}"
        case Sum(variants):
            return "|".join(f"#{n} {' '.join(map(skeleton, of))}" for n, of in variants)
        case Arrow(param=a, result=b):
            return f"({skeleton(a)}->{skeleton(b)})"
    return str(kind)


def _bound(pats: Sequence[typed.Pat]) -> Scope:
    """The names that patterns bind."""
    found: list[tuple[Name, Type]] = []
    for pat in pats:
        match pat:
            case typed.PVar(type=kind, name=name):
                found.append((name, kind))
            case typed.PRecord(fields=inner):
                found += _bound([one for _, one in inner])
            case typed.PConstr(args=args):
                found += _bound(args)
    return tuple(found)


def _mentioned(exp: object) -> Iterator[Name]:
    """The names of variables and functions in an expression."""
    if isinstance(exp, typed.Var):
        yield exp.name
    if isinstance(exp, tuple):
        for part in exp:
            yield from _mentioned(part)
    elif isinstance(exp, typed.Exp | typed.Case | typed.Def) or type(exp).__module__ == _MODULE:
        for one in fields(exp):  # type: ignore[arg-type]
            if one.name not in ("type", "span"):
                yield from _mentioned(getattr(exp, one.name))


_MODULE = typed.__name__


def written(kind: Type, scope: Scope, called: Callable[[Name], str]) -> str | None:
    """The type of an array of primitives, or a primitive, as its author would write it.

    None where one of its sizes has no name here.
    """
    match kind:
        case PrimT(prim):
            return prim
        case Array(dims, PrimT(prim)):
            sizes = [_size(size, scope, called) for size in dims]
            return None if None in sizes else "".join(f"[{size}]" for size in sizes) + prim
    return None


def _size(size: Size, scope: Scope, called: Callable[[Name], str]) -> str | None:
    match size:
        case SizeConst(value):
            return str(value)
        case SizeVar(name) if any(name == other for other, _ in scope):
            return called(name)
    return None
