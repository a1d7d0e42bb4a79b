r"""The core language as text, which `parser.py` reads back.

    entry main [n_1] (xs_2: [n_1]f32) : (r_3: f32) =
      let (s_4: f32) =
        reduce [n_1] (xs_2)
          op (0.0f32) comm \(a_5: f32, b_6: f32) : (f32) -> (a_5 + b_6)
          map \(x_7: f32) : (f32) -> (x_7 * x_7)
      in (s_4)

A body is statements and `in (results)`, or just `(results)`. Every name is `base_tag`; a literal
carries its type, but for i64 inside `[..]`, so that every operator's type can be told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler.base.spans import Prov
from compiler.base.text import Line, Text, plain
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
"""Columns that a line should not exceed where there is a choice."""


def show(prog: ir.Prog) -> Text:
    """The program as lines, each with its provenance and the number of its statement."""
    return tuple(_printed(prog).lines)


def numbered(prog: ir.Prog) -> list[ir.Stm]:
    """The statements by the numbers that the lines of `show` have."""
    return _printed(prog).stms


def _printed(prog: ir.Prog) -> _Out:
    out = _Out()
    for k, fun in enumerate(prog.funs):
        if k:
            out.lines.append(Line(""))
        _function(out, fun)
    return out


def show_text(prog: ir.Prog) -> str:
    """The program as one string."""
    return plain(show(prog))


def show_stm(stm: ir.Stm) -> str:
    """A statement, without a newline at the end."""
    out = _Out()
    _stm(out, 0, stm)
    return plain(tuple(out.lines)).rstrip("\n")


def show_exp(exp: ir.Exp) -> str:
    """An expression, without a newline at the end."""
    flat = flat_exp(exp)
    if flat is not None:
        return flat
    out = _Out()
    _NESTED[type(exp)](out, 0, exp)
    return plain(tuple(out.lines)).rstrip("\n")


class _Out:
    """The lines so far, and the statement that the next ones belong to."""

    __slots__ = ("lines", "node", "src", "stms")

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.stms: list[ir.Stm] = []
        self.node = -1
        self.src: Prov = ()

    def line(self, indent: int, text: str) -> None:
        self.lines.append(Line(" " * indent + text, self.src, self.node))

    def params(self, indent: int, head: str, params: Sequence[ir.Param], tail: str) -> None:
        """Parameters in parentheses on one line, or below each other if that is too long."""
        text = f"{head}{show_params(params)}{tail}"
        if indent + len(text) <= WIDTH or len(params) < 2:
            self.line(indent, text)
            return
        *first, last = map(show_param, params)
        lead = f"{head}("
        for param in first:
            self.line(indent, f"{lead}{param},")
            lead = " " * len(lead)
        self.line(indent, f"{lead}{last}){tail}")


def _function(out: _Out, fun: ir.Function) -> None:
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
            out.params(4, "", params, "")
        out.params(2, ": ", fun.results, " =")
    _body(out, 2, fun.body)


def _body(out: _Out, indent: int, body: ir.Body) -> None:
    src, node = out.src, out.node
    for stm in body.stms:
        _stm(out, indent, stm)
    out.src, out.node = src, node
    _results(out, indent, f"in {show_operands(body.results)}", body)


def _results(out: _Out, indent: int, text: str, body: ir.Body | ir.KernelBody) -> None:
    """The line with a body's results, which says where they came from."""
    src = out.src
    out.src = body.prov or src
    out.line(indent, text)
    out.src = src


def _stm(out: _Out, indent: int, stm: ir.Stm) -> None:
    out.src, out.node = stm.prov, len(out.stms)
    out.stms.append(stm)
    exp = stm.exp
    flat = flat_exp(exp)
    if type(exp) is ir.Assert and not stm.pat and flat is not None:
        out.line(indent, flat)
        return
    if type(exp) is ir.Push:
        _push(out, indent, exp)
        return
    if flat is None:
        out.params(indent, "let ", stm.pat, " =")
        _NESTED[type(exp)](out, indent + 2, exp)
        return
    short = f"let {show_params(stm.pat)} = {flat}"
    if indent + len(short) <= WIDTH:
        out.line(indent, short)
    else:
        out.params(indent, "let ", stm.pat, " =")
        out.line(indent + 2, flat)


# --- expressions on one line -----------------------------------------------------------------


def flat_exp(exp: ir.Exp) -> str | None:
    """Give an expression without bodies inside on one line; None for others."""
    show_flat = _FLAT.get(type(exp))
    return None if show_flat is None else show_flat(exp)


def show_dims(dims: tuple[ir.DimIndex, ...]) -> str:
    """Indices and slices in brackets.

    A slice is `start:+count:stride`, where a stride of 1 is left out, and one by an LMAD
    `start:+(count:stride, ..)`.
    """
    return f"[{', '.join(map(_dim, dims))}]"


def _dim(dim: ir.DimIndex) -> str:
    if isinstance(dim, ir.DimFix):
        return show_se(dim.at, suffix=False)
    if isinstance(dim, ir.DimLmad):
        pairs = zip(dim.counts, dim.strides, strict=True)
        inner = ", ".join(f"{count}:{show_se(stride, suffix=False)}" for count, stride in pairs)
        return f"{show_se(dim.start, suffix=False)}:+({inner})"
    stride = "" if dim.stride == ir.ONE else f":{show_se(dim.stride, suffix=False)}"
    return f"{show_se(dim.start, suffix=False)}:+{dim.count}{stride}"


def _index(exp: ir.Index) -> str:
    return f"{name_text(exp.array)}[{', '.join(show_se(at, suffix=False) for at in exp.at)}]"


def _update(exp: ir.Update) -> str:
    return f"{name_text(exp.array)} with {show_dims(exp.dims)} = {show_operand(exp.value)}"


def _iota(exp: ir.Iota) -> str:
    return f"iota({exp.count}, {show_se(exp.start)}, {show_se(exp.step)})"


def _assert(exp: ir.Assert) -> str:
    parts = (string_text(m) if isinstance(m, str) else show_se(m) for m in exp.message)
    return f"assert({', '.join((show_se(exp.cond), *parts))})"


def _threshold(exp: ir.Threshold) -> str:
    return f"threshold({string_text(exp.name)}, {show_se(exp.amount)}, {exp.default})"


def _alloc(exp: ir.Alloc) -> str:
    space = "" if exp.space == "device" else f", {exp.space}"
    return f"alloc({exp.count}, {exp.prim}{space})"


_FLAT: dict[type, Callable[[Any], str]] = {
    **dict.fromkeys(ir.SE_NODES, show_se),
    ir.Index: _index,
    ir.Slice: lambda e: f"{name_text(e.array)}{show_dims(e.dims)}",
    ir.Update: _update,
    ir.Rearrange: lambda e: f"rearrange(({', '.join(map(str, e.perm))}), {name_text(e.array)})",
    ir.Reshape: lambda e: f"reshape({show_shape(e.shape)}, {name_text(e.array)})",
    ir.Copy: lambda e: f"copy({name_text(e.array)})",
    ir.Concat: lambda e: f"concat({', '.join(map(name_text, e.arrays))})",
    ir.Iota: _iota,
    ir.Replicate: lambda e: f"replicate({show_shape(e.shape)}, {show_operand(e.value)})",
    ir.Scratch: lambda e: f"scratch({show_shape(e.shape)}{e.prim})",
    ir.ArrayLit: lambda e: f"[{', '.join(map(show_operand, e.elems))}]",
    ir.Apply: lambda e: f"apply {name_text(e.fun)}{show_operands(e.args)}",
    ir.Call: lambda e: f"call {name_text(e.fun)}{show_operands(e.args)}",
    ir.Assert: _assert,
    ir.Threshold: _threshold,
    ir.Alloc: _alloc,
}

# --- expressions with bodies -----------------------------------------------------------------


def _branch(out: _Out, indent: int, word: str, body: ir.Body) -> None:
    if body.stms:
        out.line(indent, word)
        _body(out, indent + 2, body)
    else:
        _results(out, indent, f"{word} {show_operands(body.results)}", body)


def _if(out: _Out, indent: int, exp: ir.If) -> None:
    out.line(indent, f"if {show_se(exp.cond)}")
    _branch(out, indent, "then", exp.then)
    _branch(out, indent, "else", exp.orelse)


def _loop(out: _Out, indent: int, exp: ir.Loop) -> None:
    form = exp.form
    if isinstance(form, ir.ForLoop):
        unroll = f" unroll {form.unroll}" if form.unroll else ""
        how = f"for {name_text(form.index)}: {form.prim} < {show_se(form.bound)}{unroll} do"
    else:
        how = f"while {name_text(form.cond)} do"
    out.params(indent, "loop ", exp.params, f" = {show_operands(exp.init)}")
    _branch(out, indent, how, exp.body)


def _lambda(out: _Out, indent: int, prefix: str, fn: ir.Lambda) -> None:
    head = f"{prefix}\\{show_params(fn.params)} : {show_types(fn.returns)} ->"
    _branch(out, indent, head, fn.body)


def _operator(out: _Out, indent: int, prefix: str, op: ir.Operator) -> None:
    comm = "comm " if op.commutative else ""
    _lambda(out, indent, f"{prefix}op {show_operands(op.neutral)} {comm}", op.fn)


def _soac_head(word: str, exp: ir.Soac) -> str:
    return f"{word} [{exp.width}] ({', '.join(map(name_text, exp.arrays))})"


def _map(out: _Out, indent: int, exp: ir.Map) -> None:
    out.line(indent, _soac_head("map", exp))
    _lambda(out, indent + 2, "", exp.fn)


def _reduce(out: _Out, indent: int, exp: ir.Reduce | ir.Scan) -> None:
    out.line(indent, _soac_head("reduce" if isinstance(exp, ir.Reduce) else "scan", exp))
    for op in exp.ops:
        _operator(out, indent + 2, "", op)
    _lambda(out, indent + 2, "map ", exp.fn)


def _scatter(out: _Out, indent: int, exp: ir.Scatter) -> None:
    out.line(indent, _soac_head("scatter", exp))
    out.line(indent + 2, f"into {', '.join(map(_dest, exp.dests))}")
    _lambda(out, indent + 2, "map ", exp.fn)


def _dest(dest: ir.Dest) -> str:
    times = f" * {dest.times}" if dest.times > 1 else ""
    return f"{name_text(dest.array)}{_indexed_dims(dest.rank)}{times}"


def _indexed_dims(rank: int) -> str:
    return f"[{', '.join('_' * rank)}]"


def _hist_op(out: _Out, indent: int, op: ir.HistOp) -> None:
    dests = ", ".join(map(name_text, op.dests))
    _operator(out, indent, f"into ({dests}){_indexed_dims(op.rank)} ", op.op)


def _stream(out: _Out, indent: int, exp: ir.Stream) -> None:
    out.line(indent, _soac_head("stream", exp))
    _lambda(out, indent + 2, f"into ({', '.join(map(name_text, exp.dests))}) ", exp.fn)


def _push(out: _Out, indent: int, exp: ir.Push) -> None:
    place = ", ".join(show_se(i, suffix=False) for i in exp.at)
    dests = ", ".join(map(name_text, exp.dests))
    out.line(indent, f"push ({dests})[{place}] = {show_operands(exp.values)}")
    for op in exp.op:
        _lambda(out, indent + 2, "op ", op)


def _hist(out: _Out, indent: int, exp: ir.Hist) -> None:
    out.line(indent, _soac_head("hist", exp))
    for op in exp.ops:
        _hist_op(out, indent + 2, op)
    _lambda(out, indent + 2, "map ", exp.fn)


def _seg_head(word: str, exp: ir.SegOp) -> str:
    dims = ", ".join(f"{name_text(index)} < {bound}" for index, bound in exp.space.dims)
    return f"{word} @{exp.level} ({dims})"


def _kernel(out: _Out, indent: int, prefix: str, body: ir.KernelBody) -> None:
    results = f"({', '.join(map(_result, body.results))})"
    head = f"{prefix}: {show_types(body.returns)} ->"
    if not body.stms:
        _results(out, indent, f"{head} {results}", body)
        return
    src, node = out.src, out.node
    out.line(indent, head)
    for stm in body.stms:
        _stm(out, indent + 2, stm)
    out.src, out.node = src, node
    _results(out, indent + 2, f"in {results}", body)


def _result(result: ir.KernelResult) -> str:
    if not isinstance(result, ir.Write):
        return show_operand(result)
    writes = (
        f"[{', '.join(show_se(i, suffix=False) for i in at)}] = {show_operand(value)}"
        for at, value in result.writes
    )
    return f"{name_text(result.dest)} with {{{', '.join(writes)}}}"


def _segmap(out: _Out, indent: int, exp: ir.SegMap) -> None:
    per_block = "per_block " if exp.per_block else ""
    _kernel(out, indent, f"{_seg_head('segmap', exp)} {per_block}", exp.body)


def _segred(out: _Out, indent: int, exp: ir.SegRed | ir.SegScan) -> None:
    out.line(indent, _seg_head("segred" if isinstance(exp, ir.SegRed) else "segscan", exp))
    for op in exp.ops:
        _operator(out, indent + 2, "", op)
    _kernel(out, indent + 2, "body ", exp.body)


def _seghist(out: _Out, indent: int, exp: ir.SegHist) -> None:
    out.line(indent, _seg_head("seghist", exp))
    for op in exp.ops:
        _hist_op(out, indent + 2, op)
    _kernel(out, indent + 2, "body ", exp.body)


_NESTED: dict[type, Callable[[_Out, int, Any], None]] = {
    ir.If: _if,
    ir.Loop: _loop,
    ir.Map: _map,
    ir.Reduce: _reduce,
    ir.Scan: _reduce,
    ir.Scatter: _scatter,
    ir.Hist: _hist,
    ir.Stream: _stream,
    ir.Push: _push,
    ir.SegMap: _segmap,
    ir.SegRed: _segred,
    ir.SegScan: _segred,
    ir.SegHist: _seghist,
}
