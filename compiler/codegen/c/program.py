"""Translate IMP to C with OpenMP: a single file that needs only a C compiler.

The file contains helpers, one function per entry point, and a description of the entry points and
checks (JSON in a string), so that a compiled program can be run without its source. An entry point
takes and fills arrays of 64-bit slots, one per scalar or block, in order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import chain, count

from compiler.base.context import Ctx
from compiler.base.remarks import Applied
from compiler.base.rules import Pass
from compiler.base.spans import Prov, merge_prov
from compiler.base.target import Target
from compiler.base.text import Line, Text, lines
from compiler.codegen.c import copies
from compiler.codegen.c import runtime as c_runtime
from compiler.codegen.c.choices import Choices
from compiler.codegen.c.folds import ONE_PASS
from compiler.codegen.c.functions import FAST
from compiler.codegen.c.hists import ROWS, Kernels
from compiler.codegen.c.interchange import INTERCHANGE
from compiler.codegen.c.kernels import MapKernels
from compiler.codegen.c.lane_scans import LANE_SCANS
from compiler.codegen.c.scalar import Scalars
from compiler.codegen.c.squares import SQUARES
from compiler.codegen.c.stms import Sites
from compiler.codegen.c.tiles import ROW_TILES, WIDTH
from compiler.codegen.c.types import C_TYPE, c_name, typed
from compiler.codegen.c.vector import SHORT_ROWS
from compiler.codegen.imp.nodes import Call, Formal, ImpFun, ImpProg
from compiler.codegen.imp.parts import called_functions
from compiler.codegen.interior import INTERIOR
from compiler.codegen.signature import Plain, signatures, symbol
from compiler.ir.nodes import SE, Mem, Operand, Var
from compiler.ir.sizes import prim_of

Printer = Callable[[Scalars, Sites, Iterator[int]], MapKernels]


def emit(prog: ImpProg, ctx: Ctx, printer: Printer = Kernels) -> Text:
    """Return the C file of a program; `printer` prints its kernels."""
    scalars, choices = Scalars(), Choices(ctx)
    text = _emitted(prog, choices, printer, scalars)
    prov = merge_prov(*(fun.prov for fun in prog.funs))
    because = "Functions of f32 and f64 are those of the vector library: up to four units off."
    if scalars.functions.seen and ctx.commit(FAST, prov, Applied(True, because)):
        choices.again()
        return _emitted(prog, choices, printer, Scalars(fast=True))
    return text


def _emitted(prog: ImpProg, choices: Choices, printer: Printer, scalars: Scalars) -> Text:
    """Print the file with the functions that `scalars` uses."""
    sites: list[tuple[Prov, tuple[str | SE, ...]]] = []
    bodies: list[Line] = []
    numbers = count()
    for applied in prog.applied:
        out = printer(scalars, sites, numbers)
        out.scalar_function(applied)
        bodies.extend(out.lines)
    called = called_functions(prog)
    for fun in prog.funs:
        out = printer(scalars, sites, numbers)
        out.choices = choices
        if fun.name in called:
            _called(out, fun)
        if fun.entry:
            _function(out, fun, fun.name in called)
        bodies.extend(out.functions)
        bodies.extend(out.lines)
    body_text = "\n".join(line.text for line in bodies)
    head = [c_runtime.HEAD, c_runtime.FAILURE, c_runtime.MEMORY]
    for word, text in (
        ("ss_bits(", c_runtime.BITS),
        ("ss_copy", copies.BLOCK),
        ("ss_copy_lmads(", copies.LMADS),
        ("ss_move(", copies.MOVE),
        ("ss_parts(", c_runtime.PARTS),
        ("ss_scratch(", c_runtime.SCRATCH),
        ("ss_spent(", c_runtime.PROFILE),
        ("SS_REGISTER", WIDTH),
        ("ss_reached(", c_runtime.TUNED),
    ):
        if word in body_text:
            head.append(text)
    head.extend(scalars.functions.head())
    if any("trunc" in text for text in scalars.helpers.values()):
        head.append(c_runtime.TRUNC)
    if scalars.helpers:
        head.append("".join(f"static inline {text}\n" for text in scalars.helpers.values()))
    choices.ctx.records["c"] = [prov for prov, _ in sites]
    return (*chain.from_iterable(map(lines, head)), *bodies, *_about(prog, sites))


def _called(out: MapKernels, fun: ImpFun) -> None:
    """Print a function called by others: results by pointers, returns 1 on failure.

    A function that is no entry point frees the blocks that it is given.
    """
    out.src = fun.prov
    out.line("")
    params = [typed(param) for param in fun.params]
    params += [typed(result, "*") for result in fun.results]
    out.open(f"static int {c_name(fun.name)}({', '.join(params) or 'void'}) {{")
    out.stms(fun.body)
    for formal, value in zip(fun.results, fun.values, strict=True):
        shown = f"ss_hold({c_name(value)})" if isinstance(value, str) else out.show(value)
        out.line(f"*{c_name(formal.name)} = {shown};")
    given = [param.name for param in fun.params if isinstance(param.type, Mem) and fun.entry]
    for name in (*dict.fromkeys(value for value in fun.values if isinstance(value, str)), *given):
        out.line(f"ss_drop({c_name(name)});")
    out.line("return 0;")
    out.close()


def _function(out: MapKernels, fun: ImpFun, called: bool) -> None:
    """Print an entry point; one that is `called` as well wraps the called function."""
    out.src = fun.prov
    out.line("")
    out.open(f"int {symbol(fun.name)}(const int64_t *in, int64_t *out) {{")
    for k, param in enumerate(fun.params):
        out.line(f"{_taken(param, k)};")
    values: tuple[Operand, ...] = fun.values
    if called:
        args = tuple(_operand(param) for param in fun.params)
        out.stms((Call(fun.results, fun.name, args, prov=fun.prov),))
        values = tuple(_operand(result) for result in fun.results)
    else:
        out.stms(fun.body)
    for k, (formal, value) in enumerate(zip(fun.results, values, strict=True)):
        out.line(f"out[{k}] = {_given(out, formal, value)};")
    held = [p.name for p in fun.params if isinstance(p.type, Mem)]
    held += [v for v in dict.fromkeys(values) if isinstance(v, str) and v not in held]
    for name in held:
        out.line(f"ss_drop({c_name(name)});")
    out.line("return 0;")
    out.close()


def _operand(formal: Formal) -> Operand:
    """Return a parameter or result as an operand."""
    kind = formal.type
    return formal.name if isinstance(kind, Mem) else Var(formal.name, kind.prim)


def _taken(param: Formal, k: int) -> str:
    name = c_name(param.name)
    kind = C_TYPE[param.type.prim]
    if isinstance(param.type, Mem):
        return f"{kind} *{name} = ss_hold(({kind} *)in[{k}])"
    if param.type.prim[0] == "f":
        return f"{kind} {name}; memcpy(&{name}, in + {k}, sizeof {name})"
    return f"const {kind} {name} = ({kind})in[{k}]"


def _given(out: MapKernels, formal: Formal, value: Operand) -> str:
    if isinstance(value, str):
        return f"(int64_t)ss_hold({c_name(value)})"
    if prim_of(value)[0] == "f":
        return f"ss_bits({out.show(value)})"
    return f"(int64_t){out.scalars.atom(value)}"


def description(prog: ImpProg, sites: list[tuple[Prov, tuple[str | SE, ...]]]) -> Plain:
    """Return entry points and checks as plain data."""
    return {
        "entries": signatures(prog),
        "sites": [
            {
                "span": list(prov[0]) if prov else None,
                "parts": [p if isinstance(p, str) else {"prim": prim_of(p)} for p in message],
            }
            for prov, message in sites
        ],
    }


def _about(prog: ImpProg, sites: list[tuple[Prov, tuple[str | SE, ...]]]) -> Text:
    text = json.dumps(description(prog, sites))
    pieces = [text[at : at + 90] for at in range(0, len(text), 90)]
    quoted = "\n".join(f"    {_quoted(piece)}" for piece in pieces)
    said = "// What the runner reads: entry points, and checks with their places."
    return tuple(map(Line, f"\n{said}\nconst char ss_about[] =\n{quoted};".split("\n")))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?") + '"'


TARGET = Target("c", "C", "C with OpenMP, as it is compiled for this machine.", "CPU")
PASSES = (
    Pass(
        "c",
        "Writes C.",
        emit,
        (FAST, INTERCHANGE, INTERIOR, LANE_SCANS, ONE_PASS, ROWS, ROW_TILES, SHORT_ROWS, SQUARES),
    ),
)
