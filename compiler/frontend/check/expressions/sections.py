"""Sections: operators, fields and indexes as functions, as in `(+ 1)`, `(.a)` and `(.[0])`."""

from __future__ import annotations

from compiler.frontend import ast
from compiler.frontend import typed as t
from compiler.frontend.check.expressions.apply import apply, wrap_lets
from compiler.frontend.check.expressions.arrays import check_dims, result_of_index
from compiler.frontend.check.expressions.operators import constrain, operation
from compiler.frontend.check.expressions.records import project
from compiler.frontend.check.scope.names import lookup, use
from compiler.frontend.check.scope.operator_names import ALL, EQUALITY, LOGIC, ORDER
from compiler.frontend.check.scope.state import Checker
from compiler.frontend.check.types.metas import BOOL, resolve
from compiler.frontend.types import Arrow, Type


def infer_op_section(st: Checker, exp: ast.OpSection, expected: Type | None) -> t.Exp:
    """`(+)`, `(x +)`, `(+ x)`."""
    if exp.left is None and exp.right is None:
        return st.infer(ast.Var(exp.span, exp.op), expected)
    op = exp.op[0]
    built_in = len(exp.op) == 1 and op not in st.scope.values and op in ALL
    given = exp.left if exp.left is not None else exp.right
    assert given is not None
    known = expected_param(expected)
    value, lets = _named(st, given, known)
    if built_in:
        return wrap_lets(_built_in_section(st, exp, op, value), lets)
    return wrap_lets(_function_section(st, exp, value), lets)


def expected_param(expected: Type | None) -> Type | None:
    """Return the parameter type of an expected function."""
    if expected is not None:
        expected = resolve(expected)
        if isinstance(expected, Arrow):
            return expected.param
    return None


def _named(
    st: Checker, given: ast.Exp, known: Type | None
) -> tuple[t.Exp, list[tuple[str, t.Exp]]]:
    """Bind the given operand to a name unless it is a constant or variable."""
    typed = st.infer(given, known)
    if isinstance(typed, (t.Const, t.Var)):
        return typed, []
    name = st.fresh("operand")
    return t.Var(typed.type, typed.span, name), [(name, typed)]


def _built_in_section(st: Checker, exp: ast.OpSection, op: str, value: t.Exp) -> t.Exp:
    if op in LOGIC:
        st.unify(BOOL, value.type, value.span, f"The operand of `{op}`")
    operand: Type = BOOL if op in LOGIC else constrain(st, value.type, op, value.span)
    result = BOOL if op in ORDER or op in EQUALITY else operand
    name = st.fresh("x")
    var = t.Var(operand, exp.span, name)
    args = (value, var) if exp.left is not None else (var, value)
    body = operation(op, operand, args, result, exp.span)
    return t.Lambda(Arrow(operand, result), exp.span, (t.PVar(operand, exp.span, name),), body)


def _function_section(st: Checker, exp: ast.OpSection, value: t.Exp) -> t.Exp:
    found = lookup(st, exp.op, exp.span)
    fn = use(st, found, exp.span)
    what = f"`{'.'.join(exp.op)}`"
    if exp.left is not None:
        st.left_first.add(exp.span)
        return apply(st, fn, (value,), exp.span, what)
    name = st.fresh("x")
    param = st.meta(exp.span)
    body = apply(st, fn, (t.Var(param, exp.span, name), value), exp.span, what)
    return t.Lambda(Arrow(param, body.type), exp.span, (t.PVar(param, exp.span, name),), body)


def infer_proj_section(st: Checker, exp: ast.ProjSection, expected: Type | None) -> t.Exp:
    """`(.a.b)`."""
    param = expected_param(expected) or st.meta(exp.span)
    name = st.fresh("x")
    body: t.Exp = t.Var(param, exp.span, name)
    for field in exp.path:
        body = project(st, body, field, exp.span)
    return t.Lambda(Arrow(param, body.type), exp.span, (t.PVar(param, exp.span, name),), body)


def infer_index_section(st: Checker, exp: ast.IndexSection, expected: Type | None) -> t.Exp:
    """`(.[i, j])`."""
    param = expected_param(expected) or st.meta(exp.span)
    name = st.fresh("x")
    dims = check_dims(st, exp.dims)
    body = result_of_index(st, t.Var(param, exp.span, name), dims, exp.span)
    section = t.Lambda(Arrow(param, body.type), exp.span, (t.PVar(param, exp.span, name),), body)
    return wrap_lets(section, dims.lets)
