"""Print scalar expressions, types and operands."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.errors import CompilerBug
from compiler.ir import nodes as ir
from compiler.ir.syntax import ATOM, PRECEDENCE, UNARY, literal_text, name_text

Spell = Callable[[str], str]


def show_se(se: ir.SE, suffix: bool = True, spell: Spell = name_text) -> str:
    """Format a scalar expression; `suffix=False` omits the suffix of i64 literals.

    `spell` formats names.
    """
    return _show(se, suffix, spell)[0]


def _show(se: ir.SE, suffix: bool, spell: Spell = name_text) -> tuple[str, int]:
    """Return the text and its precedence."""
    if type(se) is ir.Var:
        return spell(se.name), ATOM
    if type(se) is ir.Lit:
        return literal_text(se.value, se.prim, suffix or se.prim != "i64"), ATOM
    if type(se) is ir.Bin and se.op in PRECEDENCE:
        return _infix(se.op, se.lhs, se.rhs, suffix, spell), PRECEDENCE[se.op]
    return _show_call(se, suffix, spell)


def _show_call(se: ir.SE, suffix: bool, spell: Spell) -> tuple[str, int]:
    """Format anything but a name, literal or infix operator, with its precedence."""

    def inner(part: ir.SE, suffix: bool = suffix) -> str:
        return _show(part, suffix, spell)[0]

    match se:
        case ir.Bin(op, _, a, b):
            return f"{op}({inner(a)}, {inner(b)})", ATOM
        case ir.Un("abs" | "sgn" as op, _, a):
            return f"{op}({inner(a)})", ATOM
        case ir.Un(op, _, a):
            return _prefix("-" if op == "neg" else "!", a, suffix, spell), UNARY
        case ir.Conv(src, dst, a):
            return f"{dst}.{src}({inner(a, True)})", ATOM
        case ir.Fun(fun, _, args):
            return f"{fun}({', '.join(inner(a, True) for a in args)})", ATOM
        case ir.Select(c, a, b):
            return f"select({inner(c, True)}, {inner(a)}, {inner(b)})", ATOM
    raise CompilerBug(f"there is no text for {se}")


def _infix(op: str, a: ir.SE, b: ir.SE, suffix: bool, spell: Spell) -> str:
    level = PRECEDENCE[op]
    comparison = level == PRECEDENCE["<"]
    suffix = suffix or comparison
    left, left_level = _show(a, suffix, spell)
    right, right_level = _show(b, suffix, spell)
    if left_level < level or (comparison and left_level == level) or (op == "**" and _signed(left)):
        left = f"({left})"
    if right_level <= level:
        right = f"({right})"
    return f"{left} {op} {right}"


def _prefix(sign: str, a: ir.SE, suffix: bool, spell: Spell) -> str:
    """Format a sign before an atom; never two minus signs, never before a bare number."""
    text, level = _show(a, suffix, spell)
    atom = level == ATOM and not isinstance(a, ir.Lit) and not _signed(text)
    return f"{sign}{text}" if atom else f"{sign}({text})"


def _signed(text: str) -> bool:
    return text[0] in "-!"


def show_operand(operand: ir.Operand) -> str:
    """Format a scalar expression, or the name of an array or block."""
    return name_text(operand) if isinstance(operand, str) else _show(operand, True)[0]


def show_operands(operands: Iterable[ir.Operand]) -> str:
    """Format operands in parentheses."""
    return f"({', '.join(map(show_operand, operands))})"


def show_shape(shape: Iterable[Poly]) -> str:
    """Format sizes as `[n][m]`; `[]` for none."""
    return "".join(f"[{size}]" for size in shape) or "[]"


def show_lmad(lmad: Lmad[Poly]) -> str:
    """Format an LMAD as in the thesis, figure 4.5: `offset + {(size: stride), ..}`."""
    dims = ", ".join(f"({dim.size}: {dim.stride})" for dim in lmad.dims)
    return f"{lmad.offset} + {{{dims}}}"


def show_binding(mem: ir.MemBind) -> str:
    """Format an array's block and index function."""
    return f"@ {name_text(mem.block)} -> {show_lmad(mem.lmad)}"


def show_type(kind: ir.Type) -> str:
    """Format a type: `f32`, `[n]f32`, `[n]f32 @ xs_mem_3 -> 0 + {(n: 1)}`, `mem(f32, shared)`."""
    match kind:
        case ir.Scalar(prim):
            return prim
        case ir.Array(prim, shape, mem):
            where = "" if mem is None else f" {show_binding(mem)}"
            return f"{''.join(f'[{size}]' for size in shape)}{prim}{where}"
        case ir.Mem(prim, space):
            return f"mem({prim})" if space == "device" else f"mem({prim}, {space})"


def show_types(types: Iterable[ir.Type]) -> str:
    """Format types in parentheses."""
    return f"({', '.join(map(show_type, types))})"


def show_param(param: ir.Param) -> str:
    """Format a name with its type; `*` marks a unique one."""
    star = "*" if param.unique else ""
    return f"{name_text(param.name)}: {star}{show_type(param.type)}"


def show_params(params: Iterable[ir.Param]) -> str:
    """Format parameters or a pattern in parentheses."""
    return f"({', '.join(map(show_param, params))})"
