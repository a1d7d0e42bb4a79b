"""Variables as expressions: values, operators in parentheses, and fields after a dot."""

from __future__ import annotations

from compiler.frontend import ast
from compiler.frontend import typed as t
from compiler.frontend.check.expressions.operators import operator_function
from compiler.frontend.check.expressions.records import project
from compiler.frontend.check.scope.names import is_projection, lookup, use, variable_part
from compiler.frontend.check.scope.operator_names import is_operator
from compiler.frontend.check.scope.state import Checker
from compiler.frontend.types import Type


def infer_var(st: Checker, exp: ast.Var, expected: Type | None) -> t.Exp:
    """Infer a name: a variable, an instance of a definition, or a built-in function."""
    if len(exp.name) == 1 and exp.name[0] not in st.scope.values and is_operator(exp.name[0]):
        return operator_function(st, exp.name[0], exp.span)
    if is_projection(st, exp.name):
        return projection(st, exp)
    return use(st, lookup(st, exp.name, exp.span), exp.span)


def projection(st: Checker, exp: ast.Var) -> t.Exp:
    """Infer `m.a.b.c`, where `m.a` is a variable."""
    count = variable_part(st, exp.name)
    record = use(st, lookup(st, exp.name[:count], exp.span), exp.span)
    for field in exp.name[count:]:
        record = project(st, record, field, exp.span)
    return record
