"""Analyse the locality of a C text's loops: cells, cache lines, vector lanes.

The text alone gives the order of accesses. The C compiler's output, and
the contents of the cache, are unknown here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import BYTES
from compiler.base.text import Line, Text
from compiler.codegen.c.types import C_TYPE
from compiler.protocol import accesses as protocol

CACHE_LINE = 64
"""Bytes of a cache line, on the processors that C is compiled for here."""
TURNS = 16
"""Iterations that are analysed."""
_SIZES = {C_TYPE[prim]: size for prim, size in BYTES.items() if prim in C_TYPE}
_FOR = re.compile(r"for \(\w+ (\w+) = (.*?); \1 < (.*?); \1(?:\+\+| \+= (.*?))\) ?")
_ANY_FOR = re.compile(r"(for|while) \(|do \{")
_DEFINED = re.compile(r"(const )?(\w+) (\w+)(?: = (.*))?;")
_POINTER = re.compile(r"\b(\w+) \*(?:restrict )?(\w+)\b")
_CELL = re.compile(r"\b(\w+)\[")
_CAST = re.compile(r"\(u?int\d+_t\)")
_SIMD = "#pragma omp simd"


@dataclass(slots=True)
class _Scope:
    """A scope between braces; for a counting loop, its variable and step."""

    loop: bool = False
    index: Name = ""
    step: Poly | None = None
    simd: bool = False
    means: dict[Name, Poly | None] = field(default_factory=dict)
    """Numbers defined here; None: by other than polynomial arithmetic."""
    changes: set[Name] = field(default_factory=set)
    """Variables that change here."""


def loop_accesses(
    text: Text, called: Callable[[Name], str], sizes: Mapping[str, int]
) -> Iterator[protocol.LoopAccess]:
    """Yield the accesses in counting loops, in the order of the text."""
    scopes, pointers, simd = [_Scope()], dict[str, int](), False
    for number, line in enumerate(text, 1):
        code = line.text.strip()
        if code.startswith("#"):
            simd = code.startswith(_SIMD)
            continue
        if code.startswith("}") and len(scopes) > 1:
            scopes.pop()
        pointers |= {name: _SIZES[kind] for kind, name in _POINTER.findall(code) if kind in _SIZES}
        inner = next((s for s in reversed(scopes) if s.loop), None)
        if line.src and inner is not None and inner.index:
            for cell in _cells(code, pointers):
                yield _access(number, line, cell, inner, scopes, called, sizes)
        _define(code, scopes)
        opened = code.count("{") - code.count("}") + code.startswith("}")
        scopes += [_opened(code, scopes, simd) for _ in range(max(opened, 0))]
        del scopes[max(1, len(scopes) + min(opened, 0)) :]
        simd = False


def _opened(code: str, scopes: list[_Scope], simd: bool) -> _Scope:
    found = _FOR.search(code)
    if found:
        step = Poly.const(1) if found[4] is None else _poly(found[4], scopes)
        return _Scope(True, found[1], step, simd)
    return _Scope(bool(_ANY_FOR.search(code)))


def _define(code: str, scopes: list[_Scope]) -> None:
    """Record the definition or declaration on a line."""
    found = _DEFINED.fullmatch(code)
    if found and found[2] in _SIZES:
        if found[1] and found[4]:
            scopes[-1].means[found[3]] = _poly(found[4], scopes)
        else:
            scopes[-1].changes.add(found[3])


@dataclass(frozen=True, slots=True)
class _Cell:
    array: str
    size: int
    index: str
    at: int
    """the column of the index in the line's code"""
    kind: protocol.AccessKind


def _cells(code: str, pointers: Mapping[str, int]) -> Iterator[_Cell]:
    for found in _CELL.finditer(code):
        array, start, depth = found[1], found.end(), 1
        if array not in pointers:
            continue
        end = start
        while end < len(code) and depth:
            depth += {"[": 1, "]": -1}.get(code[end], 0)
            end += 1
        rest = code[end:].lstrip()
        kind: protocol.AccessKind = "reads"
        if rest.startswith("= ") and found.start() == 0:
            kind = "writes"
        elif re.match(r"(\+|-|\*|&|\||\^)=", rest):
            kind = "both"
        yield _Cell(array, pointers[array], code[start : end - 1], start, kind)


def _access(
    number: int,
    line: Line,
    cell: _Cell,
    loop: _Scope,
    scopes: list[_Scope],
    called: Callable[[Name], str],
    sizes: Mapping[str, int],
) -> protocol.LoopAccess:
    """Describe the cells that the next iterations touch, as far as the text determines them."""
    found: protocol.LoopAccess = {
        "line": number,
        "text": line.text.strip(),
        "src": [list(span) for span in line.src],
        "kind": cell.kind,
        "array": cell.array,
        "cell": cell.index,
        "size": cell.size,
        "index": loop.index,
        "simd": loop.simd,
        "says": "the cells of the next iterations cannot be determined statically",
        "touched": [],
    }
    poly = _poly(cell.index, scopes)
    if poly is None or loop.step is None:
        return found
    step = poly.subst({loop.index: Poly.var(loop.index) + loop.step}) - poly
    elements = step.show(called)
    found["elements"] = elements
    known = {name: sizes[called(name)] for name in step.names() if called(name) in sizes}
    ahead = step.evaluate(known) if step.names() <= known.keys() else None
    if ahead is None:
        found["says"] = f"{elements} elements further on with each iteration{_vector(step)}"
        return found
    first = max(0, -ahead * (TURNS - 1)) * cell.size
    touched = [first + turn * ahead * cell.size for turn in range(TURNS)]
    found["touched"] = touched
    lines = touched_lines(found)
    used = len(set(touched)) * cell.size
    fewest = -(-used // CACHE_LINE)
    would = f"; {fewest} would do" if fewest < lines else ""
    count = f"{lines} line{'s' if lines > 1 else ''} of {CACHE_LINE} bytes"
    share = round(100 * used / (CACHE_LINE * lines))
    found["says"] = f"{TURNS} iterations touch {count}, {share} % used{would}{_vector(step)}"
    return found


def touched_lines(one: protocol.LoopAccess) -> int:
    """Count the cache lines that the iterations touch, if the first cell begins a line."""
    return len({byte // CACHE_LINE for at in one["touched"] for byte in (at, at + one["size"] - 1)})


def _vector(step: Poly) -> str:
    """Describe how vector code could access such cells."""
    if step == Poly.const(0):
        return "; all lanes of a vector would access the same cell"
    if step.constant in (1, -1):
        reverse = "" if step.constant == 1 else ", in reverse"
        return f"; a vector's lanes are contiguous{reverse}"
    return "; a vector's lanes would be gathered one by one"


# --- expressions of the text -----------------------------------------------------------------


def _poly(text: str, scopes: list[_Scope]) -> Poly | None:
    """Parse index arithmetic, ignoring wrap-around; None for anything else."""
    try:
        tree = ast.parse(_CAST.sub("", text).strip(), mode="eval").body
    except SyntaxError:
        return None
    return _of(tree, scopes)


def _of(node: ast.expr, scopes: list[_Scope]) -> Poly | None:
    match node:
        case ast.Constant(value=int(value)):
            return Poly.const(value)
        case ast.Name(id=name):
            return _value(name, scopes)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            minus = _of(inner, scopes)
            return None if minus is None else -minus
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() as op, right=right):
            a, b = _of(left, scopes), _of(right, scopes)
            if a is None or b is None:
                return None
            return a + b if isinstance(op, ast.Add) else a - b if isinstance(op, ast.Sub) else a * b
    return _same(node, scopes)


def _same(node: ast.expr, scopes: list[_Scope]) -> Poly | None:
    """Return a name for other arithmetic that is invariant in the loop, or None."""
    inside = list(ast.walk(node))
    functions = {id(one.func) for one in inside if isinstance(one, ast.Call)}
    names = [one.id for one in inside if isinstance(one, ast.Name) and id(one) not in functions]
    loop = next((scope for scope in reversed(scopes) if scope.loop), None)
    if any(isinstance(one, ast.Subscript) for one in inside) or (loop and loop.index in names):
        return None
    values = [_value(name, scopes) for name in names]
    if any(value is None or (loop and loop.index in value.names()) for value in values):
        return None
    return Poly.var(ast.unparse(node))


def _value(name: Name, scopes: list[_Scope]) -> Poly | None:
    """Return the value of a name; None if it varies in the innermost loop in an unknown way.

    Names defined outside that loop are invariant.
    """
    innermost = max((k for k, scope in enumerate(scopes) if scope.loop), default=0)
    for k in reversed(range(len(scopes))):
        scope = scopes[k]
        if name in scope.changes:
            return None
        if name in scope.means:
            same = Poly.var(name) if k < innermost else None
            means = scope.means[name]
            return same if means is None else means
        if name == scope.index:
            break
    return Poly.var(name)
