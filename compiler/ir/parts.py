"""The parts of every node: functions that go over them, made from the nodes' field annotations.

What a field of type `SE`, `Name`, `Poly`, `Body`, .. is stands in one table. The functions are
written as Python text and compiled once, as `dataclasses` does it: much of compiling is going over
programs, and a loop over the fields of a node takes twice as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import Field, dataclass, fields
from typing import Any

from compiler.algebra.poly import Poly
from compiler.base.errors import CompilerBug
from compiler.base.names import Name
from compiler.ir import nodes
from compiler.protocol.kinds import Json

Use = Callable[[Name], object]
Visitor = Callable[[Any, Use, Use], object]
"""Calls the first function on uses of names, the second on bindings."""

NODES: dict[str, type] = {cls.__name__: cls for cls in nodes.CORE.nodes}
BODIES = {"Body": "body", "Lambda": "fn", "KernelBody": "kernel"}
"""Classes that `Rewrite` has a function for, by its name."""
_LEAVES = {"SE": "se", "Name": "name", "Poly": "poly", "Num": "poly", "Prov": "prov"}
"""Annotations of leaves, and what `Rewrite` calls the function for them."""
_PLAIN = frozenset(("Prim", "Space", "Level", "str", "int", "bool", "int|float|bool"))
_BINDERS = frozenset((("Param", "name"), ("ForLoop", "index")))
_ANY = frozenset(("Exp", "Type", "Operand", "DimIndex", "KernelResult"))


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A name, polynomial or scalar expression; `hook` is what `Rewrite` calls it."""

    hook: str


@dataclass(frozen=True, slots=True)
class _Node:
    """A node of the class of that name, or of any class if it is empty."""

    cls: str = ""


@dataclass(frozen=True, slots=True)
class _Each:
    """A tuple of parts of one kind."""

    part: _Part


@dataclass(frozen=True, slots=True)
class _Pair:
    """A tuple of two parts."""

    first: _Part
    second: _Part


_Part = _Leaf | _Node | _Each | _Pair


def _part(annotation: str) -> _Part | None:
    """How to treat a field of that annotation; None for plain data."""
    text = annotation.replace(" ", "")
    if text in _PLAIN:
        return None
    if text in _LEAVES:
        return _Leaf(_LEAVES[text])
    if text.startswith("tuple[") and text.endswith(",...]"):
        inner = _part(text[len("tuple[") : -len(",...]")])
        return None if inner is None else _Each(inner)
    if text == "tuple[Name,Poly]":
        return _Pair(_Leaf("bind"), _Leaf("poly"))
    if text == "tuple[tuple[SE,...],Operand]":
        return _Pair(_Each(_Leaf("se")), _Node())
    if text in _ANY or "|" in text:
        return _Node()
    if text.split("[")[0] in NODES:
        return _Node(text.split("[")[0])
    raise CompilerBug(f"parts.py does not know parts of type {annotation}")


def _fields(cls: type) -> Iterator[tuple[str, _Part | None]]:
    for field in fields(cls):
        yield field.name, _of(cls, field)


def _of(cls: type, field: Field[Any]) -> _Part | None:
    if (cls.__name__, field.name) in _BINDERS:
        return _Leaf("bind")
    if (cls.__name__, field.name) == ("Assert", "message"):
        return None  # Texts are no names; see `visit_Assert`.
    return _part(str(field.type))


# --- visiting --------------------------------------------------------------------------------


def _visit(part: _Part, x: str, depth: int, own: bool) -> list[str]:
    """Statements that visit a part `x`; `own`: without going into bodies."""
    table, name = ("OWN", "own") if own else ("VISIT", "visit")
    item = f"x{depth}"
    match part:
        case _Leaf("name"):
            return [f"use({x})"]
        case _Leaf("bind"):
            return [f"bind({x})"]
        case _Leaf("prov"):
            return []
        case _Leaf("poly"):
            return [f"for {item} in {x}.terms:", f"    for name, _ in {item}:", "        use(name)"]
        case _Each(inner):
            inside = _visit(inner, item, depth + 1, own)
            return [f"for {item} in {x}:", *_indented(inside)] if inside else []
        case _Pair(first, second):
            found = _visit(first, f"{x}[0]", depth + 1, own)
            return [*found, *_visit(second, f"{x}[1]", depth + 1, own)]
        case _Node(cls) if own and cls in BODIES:
            return []
        case _Node(cls) if cls:
            return [f"{name}_{cls}({x}, use, bind)"]
    return [f"{item} = {x}", f"{table}[type({item})]({item}, use, bind)"]


def _visitor(cls: type, own: bool) -> list[str]:
    lines = [
        line
        for name, part in _fields(cls)
        if part is not None
        for line in _visit(part, f"x.{name}", 0, own)
    ]
    name = "own" if own else "visit"
    return [f"def {name}_{cls.__name__}(x, use, bind):", *_indented(lines or ["pass"])]


# --- bodies ----------------------------------------------------------------------------------


def _bodies(cls: type) -> list[str]:
    """Statements that call `keep` on the bodies of a node `x`, in order; none if it has none."""
    lines: list[str] = []
    for name, part in _fields(cls):
        match part:
            case _Node(inner) if inner in BODIES:
                lines.append(f"keep(x.{name})")
            case _Node(inner) if inner and _bodies(NODES[inner]) and inner not in BODIES:
                lines.append(f"bodies_{inner}(x.{name}, keep)")
            case _Each(_Node(inner)) if inner in BODIES:
                lines += [f"for item in x.{name}:", "    keep(item)"]
            case _Each(_Node(inner)) if inner and inner != "Stm" and _bodies(NODES[inner]):
                lines += [f"for item in x.{name}:", f"    bodies_{inner}(item, keep)"]
    return lines


# --- rewriting -------------------------------------------------------------------------------


class _Rewriters:
    """Functions `f(x, r)` for parts, as they are needed."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._named: dict[_Part, str] = {}

    def name(self, part: _Part) -> str:
        """What the function for a part is called."""
        found = self._named.get(part)
        if found is None:
            found = self._named[part] = self._define(part)
        return found

    def _define(self, part: _Part) -> str:
        if isinstance(part, _Node):
            return f"rewrite_{part.cls}" if part.cls else "rewrite_any"
        name = f"rewrite_{len(self._named)}"
        self.lines += [f"def {name}(x, r):", *_indented(self._body(part))]
        return name

    def _body(self, part: _Part) -> list[str]:
        match part:
            case _Pair(first, second):
                a, b = self.value(first, "a"), self.value(second, "b")
                return [
                    "a, b = x",
                    f"c, d = {a}, {b}",
                    "return x if c is a and d is b else (c, d)",
                ]
        return [f"return {self.value(part, 'x')}"]

    def value(self, part: _Part, x: str) -> str:
        """An expression for what becomes of a part `x`."""
        match part:
            case _Leaf("prov"):
                return f"({x} if r.prov is None or not {x} else r.prov({x}))"
            case _Leaf(hook):
                return f"({x} if r.{hook} is None else r.{hook}({x}))"
            case _Each(_Leaf(hook)):
                return f"({x} if r.{hook} is None else map_tuple({x}, r.{hook}))"
            case _Each(inner):
                return f"each({x}, {self.name(inner)}, r)"
        return f"{self.name(part)}({x}, r)"

    def node(self, cls: type) -> None:
        """The function for one class of nodes."""
        name = cls.__name__
        parts = {field: part for field, part in _fields(cls) if part is not None}
        lines = [f"{field} = {self.value(part, f'x.{field}')}" for field, part in parts.items()]
        same = " and ".join(f"{field} is x.{field}" for field in parts)
        args = ", ".join(f if f in parts else f"x.{f}" for f, _ in _fields(cls))
        lines.append(f"return x if {same} else {name}({args})" if parts else "return x")
        inside = f"inside_{name}" if name in BODIES else f"rewrite_{name}"
        self.lines += [f"def {inside}(x, r):", *_indented(lines)]
        if name in BODIES:
            hook = f"r.{BODIES[name]}"
            line = f"return inside_{name}(x, r) if {hook} is None else {hook}(x)"
            self.lines += [f"def rewrite_{name}(x, r):", *_indented([line])]


_BY_HAND = """
def each(items, f, r):
    for at, item in enumerate(items):
        new = f(item, r)
        if new is not item:
            return (*items[:at], new, *[f(rest, r) for rest in items[at + 1 :]])
    return items

def map_tuple(items, f):
    for at, item in enumerate(items):
        new = f(item)
        if new is not item:
            return (*items[:at], new, *[f(rest) for rest in items[at + 1 :]])
    return items

def rewrite_any(x, r):
    return REWRITE[type(x)](x, r)

def rewrite_se(x, r):
    return x if r.se is None else r.se(x)

def rewrite_str(x, r):
    return x if r.name is None else r.name(x)

def rewrite_Poly(x, r):
    return x if r.poly is None else r.poly(x)

def rewrite_tuple(x, r):
    return each(x, rewrite_any, r)

def rewrite_NoneType(x, r):
    return x

def rewrite_Stm(x, r):
    if r.skips is not None and r.skips(x):
        return x
    pat = each(x.pat, rewrite_Param, r)
    exp = REWRITE[type(x.exp)](x.exp, r) if r.exp is None else r.exp(x.exp)
    prov = x.prov if r.prov is None else r.prov(x.prov)
    same = pat is x.pat and exp is x.exp and prov is x.prov
    return x if same else Stm(pat, exp, prov)

def rewrite_Assert(x, r):
    if r.se is None:
        return x
    cond = r.se(x.cond)
    message = map_tuple(x.message, lambda m: m if type(m) is str else r.se(m))
    return x if cond is x.cond and message is x.message else Assert(cond, message)

def visit_Assert(x, use, bind):
    VISIT[type(x.cond)](x.cond, use, bind)
    for part in x.message:
        if type(part) is not str:
            VISIT[type(part)](part, use, bind)

def own_Assert(x, use, bind):
    visit_Assert(x, use, bind)

def visit_str(x, use, bind):
    use(x)

def visit_Poly(x, use, bind):
    for mono in x.terms:
        for name, _ in mono:
            use(name)

def visit_tuple(x, use, bind):
    for item in x:
        VISIT[type(item)](item, use, bind)

def own_tuple(x, use, bind):
    for item in x:
        OWN[type(item)](item, use, bind)

def visit_NoneType(x, use, bind):
    pass
"""


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _compiled() -> Json:
    """All functions, by name: `visit_X`, `own_X`, `bodies_X`, `rewrite_X` for a class X."""
    scalars = {cls.__name__ for cls in nodes.SE_NODES}
    rewriters = _Rewriters()
    lines: list[str] = []
    for name, cls in NODES.items():
        lines += _visitor(cls, False)
        lines += _visitor(cls, True)
        inside = _bodies(cls) if name not in BODIES else []
        if inside:
            lines += [f"def bodies_{name}(x, keep):", *_indented(inside)]
        if name not in scalars:
            rewriters.node(cls)
    source = "\n".join((*lines, *rewriters.lines, _BY_HAND))
    found: Json = dict(NODES)
    exec(compile(source, __file__ + " (compiled)", "exec"), found)
    others: dict[str, type] = {"str": str, "Poly": Poly, "tuple": tuple, "NoneType": type(None)}
    classes = NODES | others
    found["VISIT"] = {cls: found[f"visit_{name}"] for name, cls in classes.items()}
    found["OWN"] = {cls: found[f"own_{name}"] for name, cls in NODES.items()}
    found["OWN"] |= {cls: found[f"visit_{name}"] for name, cls in others.items()}
    found["OWN"][tuple] = found["own_tuple"]
    found["REWRITE"] = {
        cls: found["rewrite_se" if name in scalars else f"rewrite_{name}"]
        for name, cls in classes.items()
    }
    return found


_FUNCTIONS = _compiled()
VISIT: dict[type, Visitor] = _FUNCTIONS["VISIT"]
"""For each class what goes over all names in a node."""
OWN: dict[type, Visitor] = _FUNCTIONS["OWN"]
"""The same without going into bodies."""
REWRITE: dict[type, Callable[[Any, Any], Any]] = _FUNCTIONS["REWRITE"]
"""For each class what applies a `Rewrite` to a node."""
INSIDE: dict[type, Callable[[Any, Any], Any]] = {
    **REWRITE,
    **{NODES[name]: _FUNCTIONS[f"inside_{name}"] for name in BODIES},
}
"""The same for the parts of a node, whatever the `Rewrite` does to the node itself."""
CHILDREN: dict[type, Callable[[Any, Callable[[Any], object]], object]] = {
    cls: _FUNCTIONS[f"bodies_{name}"]
    for name, cls in NODES.items()
    if f"bodies_{name}" in _FUNCTIONS
}
"""For classes with bodies what calls a function on each of them, in order."""
map_tuple: Callable[[Any, Callable[[Any], Any]], Any] = _FUNCTIONS["map_tuple"]
