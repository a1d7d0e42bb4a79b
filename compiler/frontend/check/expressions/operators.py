"""Operators: overloaded arithmetic, comparison, logic, pipes and negation."""

from __future__ import annotations

from compiler import codes
from compiler.base.errors import Related, TypeError_
from compiler.base.spans import Span
from compiler.frontend import ast
from compiler.frontend import typed as t
from compiler.frontend.check.definitions.literals import literal
from compiler.frontend.check.expressions.apply import apply
from compiler.frontend.check.scope.hints import (
    PLACE,
    UPDATES,
    by_fields,
    conditions,
    no_null,
    operand_is_function,
)
from compiler.frontend.check.scope.names import lookup, use
from compiler.frontend.check.scope.operator_names import (
    ALL,
    ARITH,
    EQUALITY,
    INTEGRAL,
    LOGIC,
    ORDER,
)
from compiler.frontend.check.scope.scope import Scheme
from compiler.frontend.check.scope.state import INT_SET, NUMBER_SET, Checker
from compiler.frontend.check.types.metas import BOOL, MetaT, resolve
from compiler.frontend.check.types.size_exps import Overloaded
from compiler.frontend.check.types.unify import Mismatch, require_data
from compiler.frontend.check.types.wording import describe, mismatch, tuple_taken_apart
from compiler.frontend.types import Array, Arrow, PrimT, Record, Sum, Type

_OPERANDS: dict[str, frozenset[str]] = {
    **dict.fromkeys(ARITH, NUMBER_SET),
    **dict.fromkeys(ORDER, NUMBER_SET | {"bool"}),
    **dict.fromkeys(INTEGRAL, INT_SET),
}
NOT_SET = INT_SET | {"bool"}


def infer_binop(st: Checker, exp: ast.BinOp, expected: Type | None) -> t.Exp:
    """Infer `a op b`: a built-in operation, a pipe, or an application."""
    op = exp.op[0]
    value = st.scope.values.get(op) if len(exp.op) == 1 else None
    if len(exp.op) == 1 and value is None:
        if op in LOGIC:
            return _logic(st, op, exp)
        if op in ALL:
            return _overloaded(st, op, exp, expected)
    if isinstance(value, Scheme) and _is_pipe(value):
        fn, arg = (exp.rhs, exp.lhs) if op == "|>" else (exp.lhs, exp.rhs)
        if op == "<|":
            st.left_first.add(exp.span)
        return _pipe(st, fn, arg, exp.span)
    try:
        found = lookup(st, exp.op, exp.op_span)
    except TypeError_ as error:
        if op in UPDATES and isinstance(exp.lhs, ast.Index):
            error.hint = PLACE
        raise
    what = f"`{'.'.join(exp.op)}`"
    return apply(st, use(st, found, exp.op_span), (exp.lhs, exp.rhs), exp.span, what)


def _is_pipe(value: Scheme) -> bool:
    return value.name.startswith(("op_bar_gt_0", "op_lt_bar_0"))


def _pipe(st: Checker, fn: ast.Exp, arg: ast.Exp, span: Span) -> t.Exp:
    """Infer `x |> f` and `f <| x` as `f x`; a partial application gets one more argument."""
    while isinstance(fn, ast.Parens):
        fn = fn.exp
    if isinstance(fn, ast.Apply):
        return st.infer(ast.Apply(span, fn.fn, (*fn.args, arg)))
    return st.infer(ast.Apply(span, fn, (arg,)))


def _logic(st: Checker, op: str, exp: ast.BinOp) -> t.Exp:
    lhs = st.check(exp.lhs, BOOL, f"The left side of `{op}`")
    rhs = st.check(exp.rhs, BOOL, f"The right side of `{op}`")
    return logic(op, lhs, rhs, exp.span)


def logic(op: str, lhs: t.Exp, rhs: t.Exp, span: Span) -> t.Exp:
    """Build a conjunction or disjunction as `if`."""
    if op == "&&":
        return t.If(BOOL, span, lhs, rhs, t.Const(BOOL, span, False))
    return t.If(BOOL, span, lhs, t.Const(BOOL, span, True), rhs)


def _overloaded(st: Checker, op: str, exp: ast.BinOp, expected: Type | None) -> t.Exp:
    hint = expected if op in ARITH or op in INTEGRAL else None
    lhs = st.infer(exp.lhs, hint)
    if isinstance(resolve(lhs.type), Arrow) and op not in EQUALITY:
        raise TypeError_(
            codes.types.NOT_A_FUNCTION,
            f"The left side of `{op}` is a function, {describe(lhs.type)}.",
            exp.lhs.span,
            operand_is_function(op, exp.lhs, lhs.type),
        )
    if op not in EQUALITY and isinstance(resolve(lhs.type), Array | Record | Sum):
        constrain(st, lhs.type, op, exp.lhs.span, by_fields(op, exp, resolve(lhs.type)))
    if op in EQUALITY:
        constrain(st, lhs.type, op, exp.lhs.span)
    rhs = st.infer(exp.rhs, lhs.type)
    left = Related(exp.lhs.span, "This is the left side.")
    hint_ = no_null(exp.lhs, exp.rhs) or conditions(op, exp.lhs, (lhs.type, rhs.type))
    st.unify(lhs.type, rhs.type, exp.rhs.span, f"The right side of `{op}`", hint_, left)
    operand = constrain(st, lhs.type, op, exp.lhs.span)
    result = BOOL if op in ORDER or op in EQUALITY else operand
    return primitive(op, operand, (lhs, rhs), result, exp.span)


def primitive(op: str, operand: Type, args: tuple[t.Exp, ...], result: Type, span: Span) -> t.Exp:
    """Build an operation whose operand type may still be unknown."""
    if type(operand) is PrimT:
        return t.PrimOp(result, span, op, operand.prim, args)
    return Overloaded(result, span, op, operand, args)


def constrain(st: Checker, type_: Type, op: str, span: Span, hint: str = "") -> Type:
    """Demand that `op` exists at `type_`, and return the resolved type.

    Errors: it does not, with any `hint`.
    """
    type_ = resolve(type_)
    if op in EQUALITY:
        if type(type_) is not PrimT:
            try:
                require_data(type_, equality=True)
            except Mismatch as problem:
                raise TypeError_(
                    codes.types.OPERANDS, f"`{op}` cannot be used here: {problem.reason}", span
                ) from None
            if isinstance(type_, MetaT):
                st.overloaded.append(type_)
        return type_
    return require_prim(st, type_, _OPERANDS[op], span, f"An operand of `{op}`", hint)


def require_prim(
    st: Checker, type_: Type, prims: frozenset[str], span: Span, what: str, hint: str = ""
) -> Type:
    """Demand that a type is one of `prims`. Errors: it is none, with any `hint`."""
    type_ = resolve(type_)
    if type(type_) is PrimT:
        if type_.prim in prims:
            return type_
        way = "Write a power as `a ** b`." if what.endswith("`^`") else ""
        raise mismatch(what, _one_of(prims), type_, span, hint or way, codes.types.OPERANDS)
    if type(type_) is not MetaT:
        way = _over_elements(what) if isinstance(type_, Array) else tuple_taken_apart(type_)
        raise mismatch(what, _one_of(prims), type_, span, hint or way, codes.types.OPERANDS)
    if type(type_) is MetaT and type_.prims is not None and type_.prims <= prims:
        return type_
    wanted = st.prim_meta(prims, span)
    st.unify(wanted, type_, span, what)
    return resolve(wanted)


def _over_elements(what: str) -> str:
    """Hint how an operator, the last word of `what`, applies to arrays; "" if it is none."""
    op = what.split("`")[-2] if "`" in what else ""
    if op not in _OPERANDS:
        return ""
    if what.startswith("The operand"):
        return f"Apply it to an array with `map (\\x -> {op}x) xs`."
    joins = "; concatenate arrays with `++`" if op == "+" else ""
    return f"Apply it to arrays with `map (\\x -> x {op} 1) xs` or `map2 ({op}) xs ys`{joins}."


def _one_of(prims: frozenset[str]) -> Type:
    meta = MetaT(0)
    meta.prims = prims
    return meta


def operator_function(st: Checker, op: str, span: Span) -> t.Exp:
    """Return a built-in operator as a function value: `(+)`."""
    operand: Type
    if op in LOGIC:
        operand = BOOL
    elif op in EQUALITY:
        meta = st.meta(span)
        meta.equality = meta.data = True
        st.overloaded.append(meta)
        operand = meta
    else:
        operand = st.prim_meta(_OPERANDS[op], span)
    result = BOOL if op in ORDER or op in EQUALITY else operand
    x, y = st.fresh("x"), st.fresh("y")
    args = (t.Var(operand, span, x), t.Var(operand, span, y))
    body = operation(op, operand, args, result, span)
    params = (t.PVar(operand, span, x), t.PVar(operand, span, y))
    return t.Lambda(Arrow(operand, Arrow(operand, result)), span, params, body)


def operation(op: str, operand: Type, args: tuple[t.Exp, t.Exp], result: Type, span: Span) -> t.Exp:
    """Apply a built-in operator to two operands."""
    if op in LOGIC:
        return logic(op, args[0], args[1], span)
    return primitive(op, operand, args, result, span)


def infer_negate(st: Checker, exp: ast.Negate, expected: Type | None) -> t.Exp:
    """Infer `-e`; a negated literal is a literal."""
    if isinstance(exp.exp, (ast.IntLit, ast.FloatLit)):
        number = literal(st, exp.exp)
        return t.Const(number.type, exp.span, -number.value)
    inner = st.infer(exp.exp, expected)
    operand = require_prim(st, inner.type, NUMBER_SET, exp.exp.span, "The operand of `-`")
    return primitive("neg", operand, (inner,), operand, exp.span)


def infer_not(st: Checker, exp: ast.Not, expected: Type | None) -> t.Exp:
    """Infer `!e`, on booleans and integers."""
    inner = st.infer(exp.exp, expected)
    operand = require_prim(st, inner.type, NOT_SET, exp.exp.span, "The operand of `!`")
    return primitive("not", operand, (inner,), operand, exp.span)
