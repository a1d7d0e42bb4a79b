r"""The core language as text, which `parser.py` reads back.

    entry main [n_1] (xs_2: [n_1]f32) : (r_3: f32) =
      let (s_4: f32) =
        reduce [n_1] (xs_2)
          op (0.0f32) comm \(a_5: f32, b_6: f32) : (f32) -> (a_5 + b_6)
          map \(x_7: f32) : (f32) -> (x_7 * x_7)
      in (s_4)

A body is statements and `in (results)`, or just `(results)`. Every name is `base_tag`; a literal
carries its type, but for i64 inside `[..]`, so that every operator's type can be told.

How an expression looks says its format line, beside its class. Here stands what these have in
common: how fields of each kind are written, and functions, bodies and statements.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.base.text import Line, Text, plain
from compiler.dialect.printing import Printer, TextLines
from compiler.ir import nodes as ir
from compiler.ir.show_scalar import (
    show_operand,
    show_operands,
    show_param,
    show_params,
    show_se,
    show_shape,
    show_types,
)
from compiler.ir.syntax import name_text, string_text

WIDTH = 96
"""Preferred maximum line width."""


def show(prog: ir.Prog) -> Text:
    """Format the program as lines, each with its provenance and statement number."""
    return tuple(_printed(prog).lines)


def numbered(prog: ir.Prog) -> list[ir.Stm]:
    """Return the statements by the numbers in the lines of `show`."""
    return _printed(prog).stms


def _printed(prog: ir.Prog) -> TextLines:
    out = TextLines()
    for k, fun in enumerate(prog.funs):
        if k:
            out.lines.append(Line(""))
        _function(out, fun)
    return out


def show_text(prog: ir.Prog) -> str:
    """Format the program as one string."""
    return plain(show(prog))


def show_stm(stm: ir.Stm) -> str:
    """Format a statement, without a final newline."""
    out = TextLines()
    _stm(out, 0, stm)
    return plain(tuple(out.lines)).rstrip("\n")


def show_exp(exp: ir.Exp) -> str:
    """Format an expression, without a final newline."""
    flat = flat_exp(exp)
    if flat is not None:
        return flat
    out = TextLines()
    PRINTER.nested[type(exp)](out, 0, "", exp, ())
    return plain(tuple(out.lines)).rstrip("\n")


def flat_exp(exp: ir.Exp) -> str | None:
    """Format an expression without bodies on one line; None for others."""
    show_flat = PRINTER.flat[type(exp)]
    return None if show_flat is None else show_flat(exp)


# --- functions, bodies and statements --------------------------------------------------------


def _params(out: TextLines, indent: int, head: str, params: Sequence[ir.Param], tail: str) -> None:
    """Print parameters in parentheses on one line, or one per line if too long."""
    text = f"{head}{show_params(params)}{tail}"
    if indent + len(text) <= WIDTH or len(params) < 2:
        out.line(indent, text)
        return
    *first, last = map(show_param, params)
    lead = f"{head}("
    for param in first:
        out.line(indent, f"{lead}{param},")
        lead = " " * len(lead)
    out.line(indent, f"{lead}{last}){tail}")


def _function(out: TextLines, fun: ir.Function) -> None:
    out.src, out.node = fun.prov, -1
    sizes = show_params(fun.params[: fun.implicit])[1:-1].replace(": i64", "")
    head = (
        f"{'entry' if fun.entry else 'fun'} {name_text(fun.name)}{f' [{sizes}]' if sizes else ''}"
    )
    params = fun.params[fun.implicit :]
    short = f"{head} {show_params(params)} : {show_params(fun.results)} ="
    if len(short) <= WIDTH:
        out.line(0, short)
    else:
        if len(f"{head} {show_params(params)}") <= WIDTH:
            out.line(0, f"{head} {show_params(params)}")
        else:
            out.line(0, head)
            _params(out, 4, "", params, "")
        _params(out, 2, ": ", fun.results, " =")
    _stms(out, 2, fun.body, show_operands(fun.body.results))


def _stms(out: TextLines, indent: int, body: ir.Body | ir.KernelBody, results: str) -> None:
    """Print statements and the line of results with its provenance."""
    src, node = out.src, out.node
    for stm in body.stms:
        _stm(out, indent, stm)
    out.src, out.node = src, node
    out.line(indent, f"in {results}", body.prov)


def _stm(out: TextLines, indent: int, stm: ir.Stm) -> None:
    out.begin(stm, stm.prov)
    exp = stm.exp
    flat = flat_exp(exp)
    is_bare = not stm.pat and CORE.nodes[type(exp)].traits.bare
    short = None if flat is None else flat if is_bare else f"let {show_params(stm.pat)} = {flat}"
    if short is not None and (is_bare or indent + len(short) <= WIDTH):
        out.line(indent, short)
        return
    if not is_bare:
        _params(out, indent, "let ", stm.pat, " =")
        indent += 2
    if flat is None:
        PRINTER.nested[type(exp)](out, indent, "", exp, ())
    else:
        out.line(indent, flat)


def _body(out: TextLines, at: int, head: str, body: ir.Body, src: Prov) -> None:
    _results(out, at, head, body, show_operands(body.results))


def _results(
    out: TextLines, at: int, head: str, body: ir.Body | ir.KernelBody, results: str
) -> None:
    """Print a body after `head`: below it, or on the same line if it has no statements."""
    if body.stms:
        out.line(at, head.rstrip())
        _stms(out, at + 2, body, results)
    else:
        out.line(at, f"{head}{results}", body.prov)


def _lambda(out: TextLines, at: int, head: str, fn: ir.Lambda, src: Prov) -> None:
    _body(out, at, f"{head}\\{show_params(fn.params)} : {show_types(fn.returns)} -> ", fn.body, src)


def _kernel(out: TextLines, at: int, head: str, body: ir.KernelBody, src: Prov) -> None:
    results = f"({', '.join(map(_result, body.results))})"
    _results(out, at, f"{head}: {show_types(body.returns)} -> ", body, results)


def _result(result: ir.KernelResult) -> str:
    return PRINTER.text(result) if isinstance(result, ir.Write) else show_operand(result)


def _loop(out: TextLines, at: int, head: str, exp: ir.Loop, src: Prov) -> None:
    _params(out, at, "loop ", exp.params, f" = {show_operands(exp.init)}")
    _body(out, at, f"{PRINTER.text(exp.form)} do ", exp.body, src)


# --- fields ----------------------------------------------------------------------------------


def show_index(at: ir.SE) -> str:
    """Format an i64 expression without literal suffixes."""
    return show_se(at, suffix=False)


def _dim(dim: ir.DimIndex) -> str:
    if isinstance(dim, ir.DimFix):
        return show_index(dim.at)
    if isinstance(dim, ir.DimLmad):
        pairs = zip(dim.counts, dim.strides, strict=True)
        inner = ", ".join(f"{count}:{show_index(stride)}" for count, stride in pairs)
        return f"{show_index(dim.start)}:+({inner})"
    stride = "" if dim.stride == ir.ONE else f":{show_index(dim.stride)}"
    return f"{show_index(dim.start)}:+{dim.count}{stride}"


def message_text(message: Sequence[str | ir.SE]) -> str:
    """Format the message of an assertion: texts and values, each after a comma."""
    parts = (string_text(m) if isinstance(m, str) else show_se(m) for m in message)
    return "".join(f", {part}" for part in parts)


def _point(dim: tuple[Name, Poly]) -> str:
    return f"{name_text(dim[0])} < {dim[1]}"


def _write(write: tuple[tuple[ir.SE, ...], ir.Operand]) -> str:
    at, value = write
    return f"[{', '.join(map(show_index, at))}] = {show_operand(value)}"


CORE = ir.CORE
PRINTER = Printer(
    CORE,
    shows={
        "Name": name_text,
        "function": name_text,
        "string": string_text,
        "int": str,
        "Prim": str,
        "Level": str,
        "Space": str,
        "Poly": str,
        "SE": show_se,
        "index": show_index,
        "Operand": show_operand,
        "DimIndex": _dim,
        "dim": _point,
        "write": _write,
    },
    wholes={
        "shape": show_shape,
        "params": show_params,
        "message": message_text,
        "rank": lambda rank: ", ".join("_" * rank),
    },
    blocks={"Body": _body, "Lambda": _lambda, "KernelBody": _kernel},
    by_hand={ir.Loop: _loop},
    flat=dict.fromkeys(ir.SE_NODES, show_se),
)
