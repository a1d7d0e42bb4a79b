"""Dispatch table of inference: one function per kind of expression."""

from __future__ import annotations

from typing import Any

from compiler.frontend import ast
from compiler.frontend.check.definitions import functions, literals
from compiler.frontend.check.expressions import (
    apply,
    arrays,
    control,
    loops,
    operators,
    records,
    sections,
    variables,
)

TABLE: dict[type, Any] = {
    ast.IntLit: literals.infer_literal,
    ast.FloatLit: literals.infer_literal,
    ast.BoolLit: literals.infer_literal,
    ast.StringLit: literals.infer_string,
    ast.Var: variables.infer_var,
    ast.Hole: control.infer_hole,
    ast.Parens: control.infer_parens,
    ast.OpenIn: control.infer_open,
    ast.TupleExp: records.infer_tuple,
    ast.RecordExp: records.infer_record,
    ast.ArrayExp: arrays.infer_array,
    ast.RangeExp: arrays.infer_range,
    ast.Project: records.infer_project,
    ast.Index: arrays.infer_index,
    ast.Apply: apply.infer_apply,
    ast.BinOp: operators.infer_binop,
    ast.Negate: operators.infer_negate,
    ast.Not: operators.infer_not,
    ast.Constr: records.infer_constr,
    ast.Ascript: control.infer_ascript,
    ast.Coerce: control.infer_coerce,
    ast.If: control.infer_if,
    ast.Let: control.infer_let,
    ast.LetFun: functions.infer_let_fun,
    ast.LetWith: arrays.infer_let_with,
    ast.Update: arrays.infer_update,
    ast.RecordUpdate: records.infer_record_update,
    ast.Loop: loops.infer_loop,
    ast.Match: control.infer_match,
    ast.Lambda: functions.infer_lambda,
    ast.OpSection: sections.infer_op_section,
    ast.ProjSection: sections.infer_proj_section,
    ast.IndexSection: sections.infer_index_section,
    ast.Assert: control.infer_assert,
    ast.AttrExp: control.infer_attr,
}
