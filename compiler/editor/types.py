"""Types at places of a text, as far as its definitions are right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import cache

from compiler.base.dataclass import dataclass
from compiler.base.names import base_of
from compiler.base.spans import PRELUDE, Span
from compiler.editor.names import Symbol
from compiler.frontend import typed as t
from compiler.frontend.check.prelude import load
from compiler.frontend.check.program import Checked
from compiler.frontend.check.scope.builtins import member
from compiler.frontend.check.types.substitute import subst
from compiler.frontend.parts import parts, pattern_variables, patterns
from compiler.frontend.show_type import show_type
from compiler.frontend.show_typed import head
from compiler.frontend.types import Arrow, Record, Size, Sum, Type


@dataclass(slots=True)
class _Walked:
    """Names and expressions of a definition; `unnamed` are sizes without a name in scope."""

    names: dict[Span, str | Type] = field(default_factory=dict)
    unnamed: set[str] = field(default_factory=set)
    variables: dict[str, Type] = field(default_factory=dict)
    exps: list[t.Exp] = field(default_factory=list)

    def bind(self, pats: Iterable[t.Pat]) -> None:
        """Record the variables of patterns."""
        for pat in pats:
            for one in pattern_variables(pat):
                self.variables[base_of(one.name)] = one.type
                self.names.setdefault(one.span, one.type)

    def define(self, one: t.Def) -> None:
        """Record a function."""
        self.names.setdefault(one.span, head("entry" if one.is_entry else "def", one, full=False))
        self.bind(one.params)

    def written(self, kind: str | Type) -> str:
        """Render a type as source; sizes without a name in scope are left out, as in `[]i32`."""
        if isinstance(kind, str | Arrow):
            return kind if isinstance(kind, str) else show_type(kind)
        return show_type(subst(kind, {}, dict.fromkeys(self.unnamed, Size())))


class Types:
    """The types of a program's definitions."""

    def __init__(self, checked: Checked) -> None:
        self.errors = checked.errors
        self._said = checked.st.said
        self._defs: dict[str, list[t.Def]] = {}
        self._walked: dict[int, _Walked] = {}
        for one in checked.defs:
            self._defs.setdefault(one.span.file, []).append(one)

    def declared(self, span: Span) -> str:
        """Return the type of the binding at a span, or the head of a definition."""
        walked = map(self._walk, self._around(span))
        return next((one.written(one.names[span]) for one in walked if span in one.names), "")

    def used(self, span: Span) -> str:
        """Return the instantiated type of a name in an expression."""
        for walked, exp in self._expressions(span):
            if exp.span == span and isinstance(exp, t.Var):
                return walked.written(exp.type)
        return ""

    def around(self, here: Span) -> tuple[Span, str] | None:
        """Return the smallest expression around a place, and its type."""
        found = [pair for pair in self._expressions(here) if _covers(pair[1].span, here)]
        if not found:
            return None
        walked, exp = min(found, key=lambda pair: _extent(pair[1].span))
        return exp.span, walked.written(exp.type)

    def fields(self, name: str) -> list[tuple[str, str]]:
        """Return the fields of a record variable, with their types."""
        for definition in (d for defs in self._defs.values() for d in defs):
            walked = self._walk(definition)
            found = walked.variables.get(name)
            if isinstance(found, Record):
                return [(field, walked.written(one)) for field, one in found.fields]
        return []

    def labels(self, path: str) -> Iterator[tuple[Span, str, frozenset[str]]]:
        """Yield labels used in a file: span of the expression, label, all labels of the type."""
        for exp in (e for d in self._defs.get(path, ()) for e in self._walk(d).exps):
            match exp:
                case t.Project(exp=record, field=field):
                    yield exp.span, field, _names(record.type)
                case t.RecordUpdate(exp=record, path=steps):
                    inner = record.type
                    for step in steps:
                        yield exp.span, step, _names(inner)
                        inner = dict(inner.fields)[step] if isinstance(inner, Record) else inner
                case t.Constr(name=name):
                    yield exp.span, name, _names(exp.type)
                case t.Match(cases=cases):
                    for case in cases:
                        yield from _constructors(case.pat)

    def _expressions(self, span: Span) -> Iterator[tuple[_Walked, t.Exp]]:
        return ((one, exp) for one in map(self._walk, self._around(span)) for exp in one.exps)

    def _around(self, span: Span) -> list[t.Def]:
        """Return the definition around a span; several for one in a parametric module."""
        before = [d for d in self._defs.get(span.file, ()) if d.span.line <= span.line]
        at = max((d.span[:2] for d in before), default=None)
        return [d for d in before if d.span[:2] == at]

    def _walk(self, top: t.Def) -> _Walked:
        known = self._walked.get(id(top))
        if known is not None:
            return known
        found = self._walked[id(top)] = _Walked()
        found.define(top)
        todo = [top.body]
        while todo:
            exp = todo.pop()
            found.exps.append(exp)
            found.unnamed.update(getattr(exp, "ext", ()))
            found.bind(patterns(exp))
            if isinstance(exp, t.Let):
                found.unnamed.update(n for n in exp.sizes if self._said(n) is None)
            elif isinstance(exp, t.LetFun):
                found.define(exp.fun)
            todo.extend(parts(exp))
        return found


def _names(of: Type) -> frozenset[str]:
    """Return the names of the fields or constructors of a type."""
    fields = of.fields if isinstance(of, Record) else of.variants if isinstance(of, Sum) else ()
    return frozenset(name for name, _ in fields)


def _constructors(pat: t.Pat) -> Iterator[tuple[Span, str, frozenset[str]]]:
    if isinstance(pat, t.PConstr):
        yield pat.span, pat.name, _names(pat.type)
    inner = pat.args if isinstance(pat, t.PConstr) else ()
    for part in (p for _, p in pat.fields) if isinstance(pat, t.PRecord) else inner:
        yield from _constructors(part)


def _covers(span: Span, at: Span) -> bool:
    return span.file == at.file and span[:2] <= at[:2] <= span[2:4]


def _extent(span: Span) -> tuple[int, int]:
    return span.end_line - span.line, span.end_col - span.col


@cache
def _prelude() -> dict[Span, str]:
    return {d.span: head("def", d, full=False) for d in load().defs.values()}


def of_library(symbol: Symbol) -> str:
    """Return the type of a name of the prelude."""
    if symbol.span.line:
        return _prelude().get(symbol.span, "")
    prim = symbol.span.file.removeprefix(PRELUDE)
    built_in = member(prim, symbol.name) if prim else None
    return f"{symbol.name}: {show_type(built_in.type)}" if built_in else ""
