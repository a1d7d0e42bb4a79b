"""Build the tuning forest of a flattened program (thesis, figure 7.1), in the protocol's shape.

A node (`protocol/storage.py`) is a threshold with its two sides, a kernel (numbered V1, V2, .. in
order of text), a loop, whose kernels may run with other sizes each time, or an `if` of the program
itself. Only trees with a threshold are part of the forest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from compiler.algebra.poly import Poly
from compiler.base.names import Name, base_of
from compiler.base.spans import user_spans
from compiler.ir import nodes as ir
from compiler.ir.build import conjunction
from compiler.ir.show_scalar import show_se
from compiler.ir.source_names import as_polynomial
from compiler.ir.walk import all_stms, map_se
from compiler.protocol.storage import Forest, TreeNode

_I64 = re.compile(r"(?<=\d)i64\b")
"""The type suffix of a literal, which sizes do not need."""


def forest(prog: ir.Prog) -> list[Forest]:
    """Return name and tuning trees of each function with thresholds, in order of text."""
    found: list[Forest] = []
    for fun in prog.funs:
        trees = [node for node in _Reader().nodes(fun.body.stms) if _has_threshold(node)]
        if trees:
            found.append({"function": fun.name, "trees": trees})
    return found


def names(prog: ir.Prog) -> list[str]:
    """Return the names of all thresholds of a flattened program, in order of text."""
    stms = (stm for fun in prog.funs for stm in all_stms(fun.body.stms))
    return list(dict.fromkeys(s.exp.name for s in stms if isinstance(s.exp, ir.Threshold)))


def _has_threshold(node: TreeNode) -> bool:
    inside = (*node.get("then", ()), *node.get("orelse", ()), *node.get("body", ()))
    return node["kind"] == "branch" or any(map(_has_threshold, inside))


class _Reader:
    """Converts statements to nodes, and numbers the kernels."""

    def __init__(self) -> None:
        self.thresholds: dict[Name, ir.Threshold] = {}
        self.kernels = 0

    def nodes(self, stms: Iterable[ir.Stm]) -> list[TreeNode]:
        """Convert statements to nodes, in order."""
        return [node for stm in stms if (node := self.node(stm)) is not None]

    def node(self, stm: ir.Stm) -> TreeNode | None:
        """Convert a statement; None if it launches no kernel."""
        match stm.exp:
            case ir.Threshold():
                self.thresholds[stm.pat[0].name] = stm.exp
            case ir.If():
                return self.branch(stm, stm.exp)
            case ir.Loop(_, _, form, body):
                inside = self.nodes(body.stms)
                if not inside:
                    return None
                times = _text(form.bound) if isinstance(form, ir.ForLoop) else "while"
                spans = user_spans(stm.prov)
                return {"kind": "loop", "spans": spans, "times": times, "body": inside}
            case exp if isinstance(exp, ir.SegOp):
                return self.kernel(stm, exp)
        return None

    def branch(self, stm: ir.Stm, exp: ir.If) -> TreeNode | None:
        """Convert an `if`: on a threshold (with further conditions), or on another condition."""
        parts, spans = _conjuncts(exp.cond), user_spans(stm.prov)
        node: TreeNode = {"kind": "choice", "spans": spans, "condition": _text(exp.cond)}
        for part in parts:
            by = self.thresholds.get(part.name) if isinstance(part, ir.Var) else None
            if by is not None:
                rest = [other for other in parts if other is not part]
                node = {
                    "kind": "branch",
                    "spans": spans,
                    "threshold": by.name,
                    "amount": _text(by.amount),
                    "work": as_polynomial(_plain(by.amount)),
                    "default": by.default,
                    "also": _text(conjunction(rest)) if rest else "",
                }
                break
        node["then"] = self.nodes(exp.then.stms)
        node["orelse"] = self.nodes(exp.orelse.stms)
        return node if node["kind"] == "branch" or node["then"] or node["orelse"] else None

    def kernel(self, stm: ir.Stm, exp: ir.SegOp) -> TreeNode:
        """Make a leaf: a kernel with its number and space."""
        self.kernels += 1
        return {
            "kind": "kernel",
            "spans": user_spans(stm.prov),
            "number": self.kernels,
            "operator": type(exp).__name__.lower(),
            "level": exp.level,
            "per_block": isinstance(exp, ir.SegMap) and exp.per_block,
            "space": [[base_of(index), _size(width)] for index, width in exp.space.dims],
            "points": _size(Poly.product(width for _, width in exp.space.dims)),
            "results": [base_of(param.name) for param in stm.pat],
            "loops": sum(isinstance(inner.exp, ir.Loop) for inner in exp.body.stms),
        }


def _conjuncts(cond: ir.SE) -> list[ir.SE]:
    if isinstance(cond, ir.Bin) and cond.op == "&&":
        return _conjuncts(cond.lhs) + _conjuncts(cond.rhs)
    return [cond]


def _plain(se: ir.SE) -> ir.SE:
    """Replace names by the author's."""
    return map_se(se, lambda v: ir.Var(base_of(v.name), v.prim))


def _text(se: ir.SE) -> str:
    return _I64.sub("", show_se(_plain(se), suffix=False))


def _size(size: Poly) -> str:
    return str(size.subst({name: Poly.var(base_of(name)) for name in size.names()}))
