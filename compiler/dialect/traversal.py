"""Generate traversals of a language from the fields of its nodes.

The functions are written as Python text and compiled once, as in `dataclasses`: much of
compiling is traversal, and a loop over the fields of a node takes twice as long.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Set
from typing import Any, NamedTuple

from compiler.base.errors import CompilerBug
from compiler.base.names import Name
from compiler.dialect.table import Dialect, FieldSpec, NodeSpec

Use = Callable[[Name], object]
Visitor = Callable[[Any, Use, Use], object]
"""Calls the first function on uses of names, the second on bindings."""


class Leaf(NamedTuple):
    """A name, polynomial or scalar expression; `hook` is the rewriter's method for it."""

    hook: str


class SubNode(NamedTuple):
    """A node of the named class, or of any class if the name is empty."""

    cls: str = ""


class Each(NamedTuple):
    """A tuple of parts of one kind."""

    part: Part


class Both(NamedTuple):
    """A tuple of two parts."""

    first: Part
    second: Part


Part = Leaf | SubNode | Each | Both


class Traversal:
    """Visitors and rewriters of a language, by node class.

    `parts` maps kinds of fields to their parts, None for plain data; a node's class needs no
    entry. `bodies` are the classes that a rewriter has a function for, by its name. Nodes of
    `leaves` are handed whole to the rewriter's function `se`. `by_hand` is the text of functions
    `visit_X`, `own_X` and `rewrite_X` that take the place of those that would be made, and of those
    for values of the classes `others`.
    """

    def __init__(
        self,
        dialect: Dialect,
        parts: Mapping[str, Part | None],
        bodies: Mapping[str, str],
        leaves: Set[type],
        by_hand: str,
        others: Mapping[str, type],
    ) -> None:
        self._dialect = dialect
        self._parts = parts
        self.bodies = bodies
        self.classes = {cls.__name__: cls for cls in dialect.nodes}
        """All classes of nodes by name."""
        found = self._compiled(leaves, _BY_HAND + by_hand, others)
        every = self.classes | dict(others)
        self.visit: dict[type, Visitor] = {c: found[f"visit_{n}"] for n, c in every.items()}
        """By class: visits all names in a node."""
        self.own: dict[type, Visitor] = {
            cls: found.get(f"own_{name}") or found[f"visit_{name}"] for name, cls in every.items()
        }
        """By class: visits the names of a node outside its bodies."""
        self.rewrite: dict[type, Callable[[Any, Any], Any]] = {
            cls: found["rewrite_se" if cls in leaves else f"rewrite_{name}"]
            for name, cls in every.items()
        }
        """By class: applies a rewriter to a node."""
        inside = {self.classes[name]: found[f"inside_{name}"] for name in bodies}
        self.inside: dict[type, Callable[[Any, Any], Any]] = self.rewrite | inside
        """By class: applies a rewriter to the parts of a node, not to the node itself."""
        self.children: dict[type, Callable[[Any, Callable[[Any], object]], object]] = {
            cls: found[f"bodies_{name}"]
            for name, cls in self.classes.items()
            if f"bodies_{name}" in found
        }
        """By class with bodies: calls a function on each of them, in order."""
        self.operands: dict[type, Callable[[Any], tuple[Any, ...]]] = {
            cls: found[f"operands_{cls.__name__}"] for cls in leaves
        }
        """By leaf class: returns the leaves directly inside."""
        self.map_operands: dict[type, Callable[[Any, Callable[[Any], Any]], Any]] = {
            cls: found[f"map_{cls.__name__}"] for cls in leaves
        }
        """By leaf class: applies a function to these; the same object if nothing changes."""
        self.map_tuple: Callable[[Any, Callable[[Any], Any]], Any] = found["map_tuple"]
        """Apply a function to the items of a tuple; return the same tuple if nothing changes."""
        found.update(VISIT=self.visit, OWN=self.own, REWRITE=self.rewrite)

    def _compiled(
        self, leaves: Set[type], by_hand: str, others: Mapping[str, type]
    ) -> dict[str, Any]:
        """Compile all functions: `visit_X`, `own_X`, `bodies_X`, `rewrite_X` for a class X."""
        rewriters = _Rewriters(self)
        lines: list[str] = []
        for name, cls in self.classes.items():
            node = self._dialect.find(cls)
            lines += self._visitor(node, own=False)
            lines += self._visitor(node, own=True)
            inside = [] if name in self.bodies else self._bodies_in(node)
            if inside:
                lines += [f"def bodies_{name}(x, keep):", *_indented(inside)]
            if cls in leaves:
                lines += self._operands(node)
            else:
                rewriters.node(node)
        source = "\n".join((*lines, *rewriters.lines, by_hand))
        found: dict[str, Any] = {**self.classes, **others}
        exec(compile(source, f"{__file__} ({self._dialect.name})", "exec"), found)
        return found

    def fields(self, node: NodeSpec) -> Iterator[tuple[str, Part | None]]:
        """Yield the fields of a node with their parts; None for plain data."""
        for name, spec in node.fields.items():
            yield name, self._part(node, spec)

    def _part(self, node: NodeSpec, spec: FieldSpec) -> Part | None:
        kind = "".join(spec.kind.split())
        found: Part | None
        if spec.name in (node.traits.binds or {}):
            found = Leaf("bind")
        elif kind in self._parts:
            found = self._parts[kind]
        elif kind.split("[")[0] in self.classes:
            found = SubNode(kind.split("[")[0])
        elif "|" in kind:
            found = SubNode()
        else:
            raise CompilerBug(f"{node.cls.__name__}: nobody goes over a `{spec.kind}`")
        return Each(found) if spec.many and found is not None else found

    # --- visiting ------------------------------------------------------------------------------

    def _visitor(self, node: NodeSpec, own: bool) -> list[str]:
        lines = [
            line
            for name, part in self.fields(node)
            if part is not None
            for line in self._visit(part, f"x.{name}", 0, own)
        ]
        name = "own" if own else "visit"
        return [f"def {name}_{node.cls.__name__}(x, use, bind):", *_indented(lines or ["pass"])]

    def _visit(self, part: Part, x: str, depth: int, own: bool) -> list[str]:
        """Return statements that visit a part `x`; `own`: without entering bodies."""
        table, name = ("OWN", "own") if own else ("VISIT", "visit")
        item = f"x{depth}"
        match part:
            case Leaf("name"):
                return [f"use({x})"]
            case Leaf("bind"):
                return [f"bind({x})"]
            case Leaf("prov"):
                return []
            case Leaf("poly"):
                names = [f"for {item} in {x}.terms:", f"    for name, _ in {item}:"]
                return [*names, "        use(name)"]
            case Each(inner):
                inside = self._visit(inner, item, depth + 1, own)
                return [f"for {item} in {x}:", *_indented(inside)] if inside else []
            case Both(first, second):
                found = self._visit(first, f"{x}[0]", depth + 1, own)
                return [*found, *self._visit(second, f"{x}[1]", depth + 1, own)]
            case SubNode(cls) if own and cls in self.bodies:
                return []
            case SubNode(cls) if cls:
                return [f"{name}_{cls}({x}, use, bind)"]
        return [f"{item} = {x}", f"{table}[type({item})]({item}, use, bind)"]

    def _operands(self, node: NodeSpec) -> list[str]:
        """Return functions that list the leaves directly inside a leaf, and map them."""
        name, inner = node.cls.__name__, Leaf("se")
        found = {f: part for f, part in self.fields(node) if part in (inner, Each(inner))}
        ones = ("*" * (part != inner) + f"x.{field}" for field, part in found.items())
        listed = "".join(f"{one}, " for one in ones)
        lines = [f"def operands_{name}(x):", f"    return ({listed})"]
        values = [
            f"{field} = f(x.{field})" if part == inner else f"{field} = map_tuple(x.{field}, f)"
            for field, part in found.items()
        ]
        made = _rebuilt(node, found)
        return [*lines, f"def map_{name}(x, f):", *_indented([*values, made])]

    # --- bodies --------------------------------------------------------------------------------

    def _bodies_in(self, node: NodeSpec) -> list[str]:
        """Return statements that call `keep` on the bodies of a node `x`, in order."""
        lines: list[str] = []
        for name, part in self.fields(node):
            one, x = (part.part, "item") if isinstance(part, Each) else (part, f"x.{name}")
            if not isinstance(one, SubNode) or not one.cls:
                continue
            if one.cls in self.bodies:
                call = f"keep({x})"
            elif self._has_bodies(one.cls):
                call = f"bodies_{one.cls}({x}, keep)"
            else:
                continue
            lines += [f"for item in x.{name}:", f"    {call}"] if x == "item" else [call]
        return lines

    def _has_bodies(self, name: str, above: Set[str] = frozenset()) -> bool:
        """Return True if a class is a body, or has one in fields of known classes."""
        if name in self.bodies or name in above:
            return name in self.bodies
        parts = (part for _, part in self.fields(self._dialect.find(self.classes[name])))
        ones = (part.part if isinstance(part, Each) else part for part in parts)
        inner = [one.cls for one in ones if isinstance(one, SubNode) and one.cls]
        return any(self._has_bodies(one, above | {name}) for one in inner)


# --- rewriting -------------------------------------------------------------------------------


class _Rewriters:
    """Generates functions `f(x, r)` for parts on demand."""

    def __init__(self, traversal: Traversal) -> None:
        self.lines: list[str] = []
        self._traversal = traversal
        self._named: dict[str, str] = {}
        """Names of the functions, by the `repr` of the part."""

    def name(self, part: Part) -> str:
        """Return the name of the function for a part, generating it first."""
        key = repr(part)
        if key not in self._named:
            self._named[key] = self._define(part)
        return self._named[key]

    def _define(self, part: Part) -> str:
        if isinstance(part, SubNode):
            return f"rewrite_{part.cls}" if part.cls else "rewrite_any"
        name = f"rewrite_{len(self._named)}"
        self.lines += [f"def {name}(x, r):", *_indented(self._body(part))]
        return name

    def _body(self, part: Part) -> list[str]:
        match part:
            case Both(first, second):
                a, b = self.value(first, "a"), self.value(second, "b")
                return [
                    "a, b = x",
                    f"c, d = {a}, {b}",
                    "return x if c is a and d is b else (c, d)",
                ]
        return [f"return {self.value(part, 'x')}"]

    def value(self, part: Part, x: str) -> str:
        """Return an expression for the rewritten part `x`."""
        match part:
            case Leaf("prov"):
                return f"({x} if r.prov is None or not {x} else r.prov({x}))"
            case Leaf(hook):
                return f"({x} if r.{hook} is None else r.{hook}({x}))"
            case Each(Leaf(hook)):
                return f"({x} if r.{hook} is None else map_tuple({x}, r.{hook}))"
            case Each(inner):
                return f"each({x}, {self.name(inner)}, r)"
        return f"{self.name(part)}({x}, r)"

    def node(self, node: NodeSpec) -> None:
        """Generate the function for one class of nodes."""
        name, bodies = node.cls.__name__, self._traversal.bodies
        parts = {field: part for field, part in self._traversal.fields(node) if part is not None}
        lines = [f"{field} = {self.value(part, f'x.{field}')}" for field, part in parts.items()]
        lines.append(_rebuilt(node, parts))
        inside = f"inside_{name}" if name in bodies else f"rewrite_{name}"
        self.lines += [f"def {inside}(x, r):", *_indented(lines)]
        if name in bodies:
            hook = f"r.{bodies[name]}"
            line = f"return inside_{name}(x, r) if {hook} is None else {hook}(x)"
            self.lines += [f"def rewrite_{name}(x, r):", *_indented([line])]


def _rebuilt(node: NodeSpec, parts: Collection[str]) -> str:
    """Return the statement that returns a node with new fields `parts`, or itself."""
    same = " and ".join(f"{field} is x.{field}" for field in parts)
    args = ", ".join(field if field in parts else f"x.{field}" for field in node.fields)
    return f"return x if {same} else {node.cls.__name__}({args})" if parts else "return x"


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

def rewrite_tuple(x, r):
    return each(x, rewrite_any, r)

def rewrite_NoneType(x, r):
    return x

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
