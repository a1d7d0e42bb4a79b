"""Records, tuples, projection, record update, and constructors of sum types."""

from __future__ import annotations

import re

from compiler import codes
from compiler.base.errors import TypeError_
from compiler.base.spans import Span
from compiler.frontend import ast
from compiler.frontend import typed as t
from compiler.frontend.check.definitions.patterns import require_variant
from compiler.frontend.check.definitions.type_exps import record_type
from compiler.frontend.check.expressions.spines import replace_node, spine
from compiler.frontend.check.scope.hints import field_of_sum, member_of_value, other_field
from compiler.frontend.check.scope.scope import Local
from compiler.frontend.check.scope.state import Checker
from compiler.frontend.check.types.metas import MetaT, resolve
from compiler.frontend.check.types.substitute import map_sizes
from compiler.frontend.check.types.wording import describe
from compiler.frontend.syntax_hints import points_digits
from compiler.frontend.types import UNIT, Record, Sum, Type, tuple_type


def infer_tuple(st: Checker, exp: ast.TupleExp, expected: Type | None) -> t.Exp:
    """`(a, b)` and `()`."""
    if not exp.elems:
        return t.RecordExp(UNIT, exp.span, ())
    hints = _field_types(expected)
    elems = [st.infer(e, hints.get(str(i))) for i, e in enumerate(exp.elems)]
    fields = tuple([(str(i), e) for i, e in enumerate(elems)])
    return t.RecordExp(tuple_type(tuple([e.type for e in elems])), exp.span, fields)


def infer_record(st: Checker, exp: ast.RecordExp, expected: Type | None) -> t.Exp:
    """`{x = a, y}`.

    Errors: a field that occurs twice.
    """
    hints = _field_types(expected)
    fields: list[tuple[str, t.Exp]] = []
    for name, value in exp.fields:
        if any(name == known for known, _ in fields):
            raise TypeError_(codes.names.BOUND_TWICE, f"The field `{name}` occurs twice.", exp.span)
        fields.append((name, st.infer(value, hints.get(name))))
    type_ = record_type([(name, e.type) for name, e in fields])
    return t.RecordExp(type_, exp.span, tuple(fields))


def _field_types(expected: Type | None) -> dict[str, Type]:
    if expected is not None:
        expected = resolve(expected)
        if isinstance(expected, Record):
            return dict(expected.fields)
    return {}


def infer_project(st: Checker, exp: ast.Project, expected: Type | None) -> t.Exp:
    """`e.field`. Errors: a number has none; those of `field_type`."""
    if isinstance(exp.exp, ast.IntLit | ast.FloatLit):
        raise TypeError_(
            codes.types.NO_FIELD,
            f"A number has no fields, so it has no `{exp.field}`.",
            exp.span,
            _number_with_point(exp.exp, exp.field),
        )
    return project(st, st.infer(exp.exp), exp.field, exp.span)


def _number_with_point(number: ast.IntLit | ast.FloatLit, behind: str) -> str:
    """Hint how to write `5.f32`, `1.e3`, `0x1.p3` and `0x1.8`."""
    if isinstance(number, ast.FloatLit):
        return ""
    if behind[0].isdigit():
        written = f"{number.value:#x}.{behind}p0"
        return f"A hexadecimal number with a point needs a binary exponent: `{written}`."
    if re.fullmatch("[pP][0-9]+", behind):
        return points_digits(f"{number.value:#x}.0{behind}")
    if re.fullmatch("f16|f32|f64|[eE][0-9]+", behind):
        return points_digits(f"{number.value}.0{behind}")
    return ""


def project(st: Checker, record: t.Exp, field: str, span: Span) -> t.Exp:
    """Project a field of a typed expression; an unknown type gets a field constraint."""
    return t.Project(field_type(st, record.type, field, span), span, record, field)


def _no_record(st: Checker, field: str, span: Span) -> str:
    """Hint what to write instead of a field of a value that is no record."""
    if field[0].isdigit():
        return points_digits(f"0.{field}")
    return member_of_value(st, field, span)


def field_type(st: Checker, record: Type, field: str, span: Span) -> Type:
    """Return the type of a field.

    Errors: no record, or none with that field.
    """
    type_ = resolve(record)
    if isinstance(type_, Record):
        for name, u in type_.fields:
            if name == field:
                return u
        message = f"There is no field `{field}` in {describe(type_)}."
        raise TypeError_(codes.types.NO_FIELD, message, span, other_field(type_, field))
    if not isinstance(type_, MetaT):
        raise TypeError_(
            codes.types.NO_FIELD,
            f"Only records have fields, but this is {describe(type_)}; it has no `{field}`.",
            span,
            field_of_sum(type_, field) if isinstance(type_, Sum) else _no_record(st, field, span),
        )
    if type_.fields is not None and field in type_.fields:
        return type_.fields[field]
    meta, result = st.meta(span), st.meta(span)
    meta.fields = {field: result}
    st.overloaded.append(meta)
    st.unify(meta, type_, span, "The record")
    return result


def infer_record_update(st: Checker, exp: ast.RecordUpdate, expected: Type | None) -> t.Exp:
    """Infer `e with a.b = v`; the sizes of the field may change.

    Errors: the type of `e` is not known down to the field; the value's type differs.
    """
    if not isinstance(exp.src, ast.Var) and spine(exp.value) is spine(exp.src):
        return _update_named(st, exp)
    src = st.infer(exp.src)
    old: Type = resolve(src.type)
    for field in exp.path:
        if not isinstance(old, Record):
            raise TypeError_(
                codes.types.UNKNOWN,
                f"An updated record must have a known type, not {describe(old)}.",
                exp.src.span,
                "Write its type where it is bound.",
            )
        old = resolve(field_type(st, old, field, exp.span))
    value = st.infer(exp.value, old)
    path = ".".join(exp.path)
    what = f"The new value of `{path}`"
    st.unify(map_sizes(old, lambda _: st.size_meta()), value.type, exp.value.span, what)
    type_ = _with_field(resolve(src.type), exp.path, value.type)
    return t.RecordUpdate(type_, exp.span, src, exp.path, value)


def _update_named(st: Checker, exp: ast.RecordUpdate) -> t.Exp:
    """Bind `e` of `e with a[i] = v`, which mentions it twice, to a name."""
    src = st.infer(exp.src)
    name = st.fresh("record")
    mark = st.scope.mark()
    st.scope.bind(name, Local(name, src.type, exp.src.span))
    var = ast.Var(exp.src.span, (name,))
    value = replace_node(exp.value, exp.src, name)
    made = infer_record_update(st, ast.RecordUpdate(exp.span, var, exp.path, value), None)
    st.scope.leave(mark)
    pat = t.PVar(src.type, exp.src.span, name)
    return t.Let(made.type, exp.span, (), pat, src, made)


def _with_field(record: Type, path: tuple[str, ...], new: Type) -> Type:
    if not path:
        return new
    assert isinstance(record, Record)
    fields = [
        (f, _with_field(resolve(u), path[1:], new) if f == path[0] else u) for f, u in record.fields
    ]
    return Record(tuple(fields))


def infer_constr(st: Checker, exp: ast.Constr, expected: Type | None) -> t.Exp:
    """`#name a b`."""
    args = tuple([st.infer(a) for a in exp.args])
    meta = st.meta(exp.span)
    require_variant(st, meta, exp.name, tuple(a.type for a in args), exp.span, "This value")
    return t.Constr(meta, exp.span, exp.name, args)
