"""Declare the kinds of fields of core language nodes; `dialect/traversal.py` generates traversals.

A new node in `nodes.py` needs nothing here; a new kind of field needs a line.
"""

from __future__ import annotations

from compiler.algebra.poly import Poly
from compiler.dialect.traversal import Both, Each, Leaf, Part, SubNode, Traversal
from compiler.dialect.traversal import Use as Use
from compiler.ir import nodes

_PARTS: dict[str, Part | None] = {
    **dict.fromkeys("Prim Space Level str int bool int|float|bool str|SE".split()),
    **dict.fromkeys("Exp Type Operand DimIndex KernelResult".split(), SubNode()),
    "SE": Leaf("se"),
    "Name": Leaf("name"),
    "Poly": Leaf("poly"),
    "Num": Leaf("poly"),
    "Prov": Leaf("prov"),
    "tuple[Name,Poly]": Both(Leaf("bind"), Leaf("poly")),
    "tuple[tuple[SE,...],Operand]": Both(Each(Leaf("se")), SubNode()),
}
"""Parts of a message are visited by hand: texts are no names."""
_BY_HAND = """
def rewrite_se(x, r):
    return x if r.se is None else r.se(x)

def rewrite_str(x, r):
    return x if r.name is None else r.name(x)

def rewrite_Poly(x, r):
    return x if r.poly is None else r.poly(x)

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
"""
_TRAVERSAL = Traversal(
    nodes.CORE,
    _PARTS,
    {"Body": "body", "Lambda": "fn", "KernelBody": "kernel"},
    frozenset(nodes.SE_NODES),
    _BY_HAND,
    {"str": str, "Poly": Poly, "tuple": tuple, "NoneType": type(None)},
)
VISIT = _TRAVERSAL.visit
OWN = _TRAVERSAL.own
INSIDE = _TRAVERSAL.inside
CHILDREN = _TRAVERSAL.children
OPERANDS = _TRAVERSAL.operands
MAP_OPERANDS = _TRAVERSAL.map_operands
map_tuple = _TRAVERSAL.map_tuple
NODES = _TRAVERSAL.classes
