"""The tuning forest of a flattened program, as plain data for the page (thesis, figure 7.1).

A node is one of

    branch  threshold, amount (text), default, also (text of further conditions), then, orelse
    kernel  number (V1, V2, .. in order of text), operator, level, space, points, results
    loop    times (text), body: the kernels in it may run with other sizes each time
    choice  condition (text), then, orelse: an `if` of the program itself

each with `kind` and the source `spans` as `[line, col, end_line, end_col]`; `then`, `orelse` and
`body` are lists of nodes. Only trees with a threshold are part of the forest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from compiler.algebra.poly import Poly
from compiler.base.names import Name, base_of
from compiler.base.spans import user_spans
from compiler.ir.build import conjunction
from compiler.ir.nodes import (
    SE,
    Bin,
    ForLoop,
    If,
    Loop,
    Prog,
    SegMap,
    SegOp,
    Stm,
    Threshold,
    Var,
)
from compiler.ir.show_scalar import show_se
from compiler.ir.walk import map_se, map_stms

Node = dict[str, Any]

_I64 = re.compile(r"(?<=\d)i64\b")
"""The type after a literal, which goes without saying in sizes."""


def tree(prog: Prog) -> list[Node]:
    """For each function with thresholds: its name, and its tuning trees in order of text."""
    forest: list[Node] = []
    for fun in prog.funs:
        nodes = _Reader().nodes(fun.body.stms)
        trees = [node for node in nodes if _has_threshold(node)]
        if trees:
            forest.append({"function": fun.name, "trees": trees})
    return forest


def names(prog: Prog) -> list[str]:
    """The names of all thresholds of a flattened program, in order of text."""
    found: list[str] = []

    def visit(stms: tuple[Stm, ...]) -> tuple[Stm, ...]:
        for stm in stms:
            if isinstance(stm.exp, Threshold):
                found.append(stm.exp.name)
            else:
                map_stms(stm.exp, visit)
        return stms

    for fun in prog.funs:
        visit(fun.body.stms)
    return list(dict.fromkeys(found))


def _has_threshold(node: Node) -> bool:
    if node["kind"] == "branch":
        return True
    inside = (*node.get("then", ()), *node.get("orelse", ()), *node.get("body", ()))
    return any(_has_threshold(child) for child in inside)


class _Reader:
    """Reads statements into nodes and numbers the kernels."""

    def __init__(self) -> None:
        self.thresholds: dict[Name, Threshold] = {}
        self.kernels = 0

    def nodes(self, stms: Iterable[Stm]) -> list[Node]:
        """The nodes of statements in order."""
        found: list[Node] = []
        for stm in stms:
            node = self.node(stm)
            if node is not None:
                node["spans"] = user_spans(stm.prov)
                found.append(node)
        return found

    def node(self, stm: Stm) -> Node | None:
        """The node of a statement; None if it launches no kernel."""
        match stm.exp:
            case Threshold():
                self.thresholds[stm.pat[0].name] = stm.exp
                return None
            case If(cond, then, orelse):
                head = self.condition(cond)
                sides = {"then": self.nodes(then.stms), "orelse": self.nodes(orelse.stms)}
                wanted = head["kind"] == "branch" or sides["then"] or sides["orelse"]
                return {**head, **sides} if wanted else None
            case Loop(_, _, form, body):
                inside = self.nodes(body.stms)
                times = _text(form.bound) if isinstance(form, ForLoop) else "while"
                return {"kind": "loop", "times": times, "body": inside} if inside else None
            case exp if isinstance(exp, SegOp):
                return self.kernel(stm, exp)
        return None

    def condition(self, cond: SE) -> Node:
        """What an `if` asks: a threshold (with what must hold besides), or something else."""
        parts = _conjuncts(cond)
        for part in parts:
            made = self.thresholds.get(part.name) if isinstance(part, Var) else None
            if made is not None:
                rest = [other for other in parts if other is not part]
                return {
                    "kind": "branch",
                    "threshold": made.name,
                    "amount": _text(made.amount),
                    "default": made.default,
                    "also": _text(conjunction(rest)) if rest else "",
                }
        return {"kind": "choice", "condition": _text(cond)}

    def kernel(self, stm: Stm, exp: SegOp) -> Node:
        """A leaf: what kernel, over which points."""
        self.kernels += 1
        return {
            "kind": "kernel",
            "number": self.kernels,
            "operator": type(exp).__name__.lower(),
            "level": exp.level,
            "per_block": isinstance(exp, SegMap) and exp.per_block,
            "space": [[base_of(index), _size(width)] for index, width in exp.space.dims],
            "points": _size(Poly.product(width for _, width in exp.space.dims)),
            "results": [base_of(param.name) for param in stm.pat],
            "loops": sum(isinstance(inner.exp, Loop) for inner in exp.body.stms),
        }


def _conjuncts(cond: SE) -> list[SE]:
    if isinstance(cond, Bin) and cond.op == "&&":
        return _conjuncts(cond.lhs) + _conjuncts(cond.rhs)
    return [cond]


def _text(se: SE) -> str:
    return _I64.sub("", show_se(map_se(se, lambda v: Var(base_of(v.name), v.prim)), suffix=False))


def _size(size: Poly) -> str:
    return str(size.subst({name: Poly.var(base_of(name)) for name in size.names()}))
