"""Traverse programs: subnodes, free names, uses, bindings, substitution, renaming.

`parts.py` derives the fields to visit from annotations: a new node in `nodes.py` needs nothing
here. `aliases.py` says what an expression consumes and what its results alias.

All bindings of a program are unique, so a name is free in a node if it is used and not bound
anywhere inside it, and substitution never captures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar, get_args

from compiler.algebra.poly import Poly
from compiler.base.errors import CompilerBug
from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.ir import nodes
from compiler.ir import nodes as ir
from compiler.ir.parts import CHILDREN, INSIDE, MAP_OPERANDS, OPERANDS, OWN, VISIT, Use
from compiler.ir.sizes import poly_of, se_of

Node = TypeVar("Node")


class Rewrite:
    """Functions that `rewrite` applies to the parts of a node.

    A part whose function is not given stays.

    `var` gets scalar variables inside scalar expressions, `se` whole scalar expressions (then `var`
    is not used), `name` uses of arrays and blocks, `poly` sizes and LMAD parts, `bind` names where
    they are bound, `exp` a statement's expression instead of going into it. `body`, `fn`, `kernel`
    get nested bodies instead of going into them. `prov` gets that of statements and results.
    """

    __slots__ = (
        *("bind", "body", "exp", "fn", "kernel", "name", "poly", "prov", "se", "skips", "var"),
    )

    def __init__(
        self,
        *,
        var: Callable[[ir.Var], ir.SE] | None = None,
        se: Callable[[ir.SE], ir.SE] | None = None,
        name: Callable[[Name], Name] | None = None,
        poly: Callable[[Poly], Poly] | None = None,
        bind: Callable[[Name], Name] | None = None,
        exp: Callable[[ir.Exp], ir.Exp] | None = None,
        body: Callable[[ir.Body], ir.Body] | None = None,
        fn: Callable[[ir.Lambda], ir.Lambda] | None = None,
        kernel: Callable[[ir.KernelBody], ir.KernelBody] | None = None,
        prov: Callable[[Prov], Prov] | None = None,
    ) -> None:
        self.se = se if se is not None or var is None else lambda e: map_se(e, var)
        self.var = var
        self.name = name
        self.poly = poly
        self.bind = bind
        self.exp = exp
        self.body = body
        self.fn = fn
        self.kernel = kernel
        self.prov = prov
        self.skips: Callable[[ir.Stm], bool] | None = None
        """Statements to leave alone, with everything inside."""


def _ignore(name: Name) -> None:
    """Do nothing."""


# --- scalar expressions ----------------------------------------------------------------------


def map_se(se: ir.SE, var: Callable[[ir.Var], ir.SE]) -> ir.SE:
    """Replace every variable of a scalar expression; the same object if nothing changes."""
    if type(se) is ir.Var:
        return var(se)
    if type(se) is ir.Lit:
        return se
    if type(se) is ir.Bin:
        a, b = map_se(se.lhs, var), map_se(se.rhs, var)
        return se if a is se.lhs and b is se.rhs else ir.Bin(se.op, se.at, a, b)
    return map_subexpressions(se, lambda part: map_se(part, var))


def map_subexpressions(se: ir.SE, f: Callable[[ir.SE], ir.SE]) -> ir.SE:
    """Apply `f` to the operands of a scalar expression; the same object if nothing changes."""
    result: ir.SE = MAP_OPERANDS[type(se)](se, f)
    return result


def se_parts(se: ir.SE) -> tuple[ir.SE, ...]:
    """Return the operands of a scalar expression."""
    return OPERANDS[type(se)](se)


def se_uses(se: ir.SE, use: Use) -> None:
    """Call `use` on every occurrence of a variable."""
    VISIT[type(se)](se, use, _ignore)


# --- what passes call ------------------------------------------------------------------------


def rewrite(node: Node, r: Rewrite) -> Node:
    """Apply `r` to the parts of any node, or tuple of nodes; the same object if nothing changes.

    A function that `r` has for the node itself (`fn` for a `Lambda`, ..) is not applied to it, only
    to what is nested inside.
    """
    result: Node = INSIDE[type(node)](node, r)
    return result


def map_stms(exp: ir.Exp, f: Callable[[tuple[ir.Stm, ...]], tuple[ir.Stm, ...]]) -> ir.Exp:
    """Replace the statements of every body directly inside `exp` (lambdas and kernels included)."""
    if type(exp) not in NESTED:
        return exp

    def body(x: ir.Body) -> ir.Body:
        stms = f(x.stms)
        return x if stms is x.stms else ir.Body(stms, x.results, x.prov)

    def fn(x: ir.Lambda) -> ir.Lambda:
        inner = body(x.body)
        return x if inner is x.body else ir.Lambda(x.params, inner, x.returns)

    def kernel(x: ir.KernelBody) -> ir.KernelBody:
        stms = f(x.stms)
        return x if stms is x.stms else ir.KernelBody(stms, x.results, x.returns, x.prov)

    return rewrite(exp, Rewrite(body=body, fn=fn, kernel=kernel))


NESTED = frozenset(cls for cls in get_args(nodes.Exp) if cls in CHILDREN)
"""Expression classes with bodies inside."""


def children(exp: ir.Exp) -> tuple[ir.Body | ir.Lambda | ir.KernelBody, ...]:
    """Return the bodies, lambdas and kernel bodies directly inside an expression, in order."""
    if type(exp) not in NESTED:
        return ()
    found: list[ir.Body | ir.Lambda | ir.KernelBody] = []
    CHILDREN[type(exp)](exp, found.append)
    return tuple(found)


def stms_of(node: ir.Body | ir.Lambda | ir.KernelBody) -> tuple[ir.Stm, ...]:
    """Return the statements of any kind of body."""
    return node.body.stms if isinstance(node, ir.Lambda) else node.stms


def all_stms(stms: Iterable[ir.Stm]) -> Iterator[ir.Stm]:
    """Yield every statement, outer before inner, in order of text."""
    pending = [iter(stms)]
    while pending:
        for stm in pending[-1]:
            yield stm
            if type(stm.exp) in NESTED:
                inside = [iter(stms_of(child)) for child in reversed(children(stm.exp))]
                if inside:
                    pending += inside
                    break
        else:
            pending.pop()


def visit(node: object, use: Use, bind: Use) -> None:
    """Call `use` on every use of a name inside a node (or tuple of nodes), `bind` on bindings."""
    VISIT[type(node)](node, use, bind)


def visit_own(node: object, use: Use, bind: Use) -> None:
    """Visit a node without its nested bodies; parameters of lambdas belong to the bodies."""
    OWN[type(node)](node, use, bind)


def free(node: object) -> set[Name]:
    """Return the names that a node (or tuple of nodes) uses and does not bind, in types as well.

    A statement's own pattern counts as bound: `free(stm)` is what the statement needs.
    """
    used: set[Name] = set()
    bound_names: set[Name] = set()
    VISIT[type(node)](node, used.add, bound_names.add)
    used -= bound_names
    return used


def mentioned(stm: ir.Stm) -> frozenset[Name]:
    """Return all names that a statement uses, also inside and in types; cached on the statement.

    For passes that ask for the statements of each nested body.
    """
    try:
        return stm.mentioned
    except AttributeError:
        used: set[Name] = set()
        visit_own(stm, used.add, _ignore)
        for child in children(stm.exp):
            if isinstance(child, ir.Lambda):
                visit(child.params, used.add, _ignore)
                visit(child.returns, used.add, _ignore)
                child = child.body
            elif isinstance(child, ir.KernelBody):
                visit(child.returns, used.add, _ignore)
            visit(child.results, used.add, _ignore)
            used.update(*map(mentioned, child.stms))
        found = frozenset(used)
        object.__setattr__(stm, "mentioned", found)
        return found


def bound(node: object) -> list[Name]:
    """Return the names bound anywhere inside, in order of text."""
    found: list[Name] = []
    VISIT[type(node)](node, _ignore, found.append)
    return found


def count_uses(node: object, into: dict[Name, int] | None = None) -> dict[Name, int]:
    """Count the uses of each name; added to `into` if given."""
    counts = {} if into is None else into

    def use(name: Name) -> None:
        counts[name] = counts.get(name, 0) + 1

    VISIT[type(node)](node, use, _ignore)
    return counts


def without_prov(prog: nodes.Prog) -> nodes.Prog:
    """Return the program without provenance, as its text form reads back."""

    def bare(stms: tuple[ir.Stm, ...]) -> tuple[ir.Stm, ...]:
        return tuple(ir.Stm(stm.pat, map_stms(stm.exp, bare)) for stm in stms)

    return nodes.Prog(
        tuple(
            replace(fun, body=ir.Body(bare(fun.body.stms), fun.body.results), prov=())
            for fun in prog.funs
        )
    )


# --- substitution and renaming ---------------------------------------------------------------

Replacement = ir.Operand | Poly


def subst(node: Node, mapping: Mapping[Name, Replacement]) -> Node:
    """Replace uses of names, also in types. Bindings stay.

    A name stands for an array, a block or a variable of the same type; a scalar expression for a
    scalar, which must be a polynomial where the name occurs in a size; a `Poly` for an i64.
    """
    return rewrite(node, _substitution(mapping)) if mapping else node


def subst_mentioned(node: Node, mapping: Mapping[Name, Replacement]) -> Node:
    """Substitute like `subst`, but skip statements that mention none of the names.

    For passes that use `mentioned`: nothing is entered needlessly, however deep it nests.
    """
    if not mapping:
        return node
    made = _substitution(mapping)
    made.skips = lambda stm: mapping.keys().isdisjoint(mentioned(stm))
    return rewrite(node, made)


def _substitution(
    mapping: Mapping[Name, Replacement],
    bind: Callable[[Name], Name] | None = None,
    prov: Callable[[Prov], Prov] | None = None,
) -> Rewrite:
    made: dict[int, tuple[Poly, Poly]] = {}
    """Cache by `id`, before and after: types of one array share their sizes."""

    def var(x: ir.Var) -> ir.SE:
        new = mapping.get(x.name)
        if new is None:
            return x
        if type(new) is str:
            return ir.Var(new, x.prim)
        return se_of(new) if type(new) is Poly else new  # type: ignore[return-value]

    def name(x: Name) -> Name:
        new = mapping.get(x)
        if new is None:
            return x
        found = new if type(new) is str else new.name if type(new) is ir.Var else None
        if found is None:
            raise CompilerBug(f"`{x}` is an array or a block and cannot become {new}")
        return found

    def poly(x: Poly) -> Poly:
        found = made.get(id(x))
        if found is None:
            found = made[id(x)] = x, changed(x)
        return found[1]

    def changed(x: Poly) -> Poly:
        polys: dict[Name, Poly] = {}
        for mono in x.terms:
            for used, _ in mono:
                if used in mapping:
                    size = _as_poly(mapping[used])
                    if size is None:
                        raise CompilerBug(f"the size `{used}` cannot become {mapping[used]}")
                    polys[used] = size
        return x.subst(polys) if polys else x

    return Rewrite(var=var, name=name, poly=poly, bind=bind, prov=prov)


def _as_poly(new: Replacement) -> Poly | None:
    if isinstance(new, str):
        return Poly.var(new)
    return new if isinstance(new, Poly) else poly_of(new)


def rename(
    node: Node,
    fresh: Callable[[str], Name],
    mapping: Mapping[Name, Replacement] | None = None,
    prov: Callable[[Prov], Prov] | None = None,
) -> Node:
    """Return a copy with fresh names for everything bound inside (lambda parameters included).

    `fresh` is `ctx.fresh`. `mapping` is substituted at the same time; it may give the new names of
    some bindings itself. `prov` maps the provenance of statements and results.
    """
    table: dict[Name, Replacement] = dict(mapping) if mapping else {}
    for old in bound(node):
        if old not in table:
            table[old] = fresh(old)

    def bind(x: Name) -> Name:
        new = table[x]
        return new if isinstance(new, str) else x

    return rewrite(node, _substitution(table, bind, prov)) if table or prov else node
