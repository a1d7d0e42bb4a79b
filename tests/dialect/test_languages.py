"""Every node of the languages, made at random from its fields, is written and read back."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from compiler.algebra.poly import Poly
from compiler.base.prim import PRIMS
from compiler.dialect.format import Option, Pairs, Slot
from compiler.dialect.printing import TextLines
from compiler.dialect.table import Dialect, NodeSpec
from compiler.ir import nodes as ir
from compiler.ir import parser as ir_parser
from compiler.ir import printer as ir_printer

Make = Callable[[random.Random], Any]
NAMES = {
    "xs_1": ir.Array("i32", (Poly.const(2),)),
    "ys_2": ir.Array("f32", (Poly.const(3),)),
    "n_3": ir.I64,
    "i_4": ir.I64,
    "map": ir.Array("f32", (Poly.const(3),)),
}
ARRAYS = [name for name, kind in NAMES.items() if isinstance(kind, ir.Array)]
I64S = [name for name, kind in NAMES.items() if kind == ir.I64]


def scalar(rng: random.Random) -> ir.SE:
    return rng.choice(
        [
            ir.Var(rng.choice(I64S), "i64"),
            ir.Lit(rng.randrange(-9, 9), "i64"),
            ir.Bin(rng.choice("+-*"), "i64", ir.Var("n_3", "i64"), ir.Lit(2, "i64")),
        ]
    )


def poly(rng: random.Random) -> Poly:
    return Poly.var(rng.choice(I64S)) * rng.randrange(1, 4) + rng.randrange(5)


def body(rng: random.Random) -> ir.Body:
    return ir.Body((), (scalar(rng), rng.choice(ARRAYS)))


def fn(rng: random.Random) -> ir.Lambda:
    params = (ir.Param(f"p_{rng.randrange(100)}", ir.Scalar("f32")),)
    return ir.Lambda(params, body(rng), (ir.I64, NAMES["xs_1"]))


def kernel(rng: random.Random) -> ir.KernelBody:
    write = ir.Write("xs_1", (((scalar(rng),), scalar(rng)),))
    returns = (ir.I64, NAMES["xs_1"])
    return ir.KernelBody((), (scalar(rng), rng.choice([write, "xs_1"])), returns)


def dim(rng: random.Random) -> ir.DimIndex:
    two = (poly(rng), poly(rng)), (scalar(rng), scalar(rng))
    return rng.choice(
        [
            ir.DimFix(scalar(rng)),
            ir.DimSlice(scalar(rng), poly(rng), scalar(rng)),
            ir.DimLmad(scalar(rng), *two),
        ]
    )


CORE: Mapping[str, Make] = {
    "Name": lambda rng: rng.choice(ARRAYS),
    "function": lambda rng: rng.choice(["f_1", "map"]),
    "string": lambda rng: rng.choice(["", 'a "text"', "x\n"]),
    "int": lambda rng: rng.randrange(3),
    "bool": lambda rng: rng.random() < 0.5,
    "Prim": lambda rng: rng.choice(PRIMS),
    "Level": lambda rng: rng.choice(["grid", "block", "thread"]),
    "Space": lambda rng: rng.choice(["device", "shared", "private"]),
    "Poly": poly,
    "SE": scalar,
    "index": scalar,
    "Operand": lambda rng: rng.choice([scalar(rng), rng.choice(ARRAYS)]),
    "DimIndex": dim,
    "dim": lambda rng: (f"j_{rng.randrange(100)}", poly(rng)),
    "write": lambda rng: ((scalar(rng), scalar(rng)), scalar(rng)),
    "shape": lambda rng: tuple(poly(rng) for _ in range(rng.randrange(3))),
    "params": lambda rng: (ir.Param("q_1", NAMES["xs_1"], True), ir.Param("r_2", ir.I64)),
    "message": lambda rng: ("is ", scalar(rng))[: rng.randrange(3)],
    "rank": lambda rng: rng.randrange(3),
    "Body": body,
    "Lambda": fn,
    "KernelBody": kernel,
}
"""A value of each kind that a field may have."""


def random_node(dialect: Dialect, makes: Mapping[str, Make], cls: type, rng: random.Random) -> Any:
    """A node with random fields, those that are not written as the parser finds them."""
    node = dialect.find(cls)
    given: dict[str, Any] = {}
    for piece in node.pieces():
        if isinstance(piece, Slot | Option):
            given[piece.field] = _field(dialect, makes, node, piece, rng)
        elif isinstance(piece, Pairs):
            length = rng.randrange(3)
            for slot in (piece.first, piece.second):
                kind = slot.kind or node.field(slot.field).kind
                given[slot.field] = tuple(makes[kind](rng) for _ in range(length))
    for field, question in (node.traits.finds or {}).items():
        assert question == "prim_of start"
        given[field] = "i64"
    return cls(**given)


def _field(
    dialect: Dialect,
    makes: Mapping[str, Make],
    node: NodeSpec,
    slot: Slot | Option,
    rng: random.Random,
) -> Any:
    spec = node.field(slot.field)
    if isinstance(slot, Option) and rng.random() < 0.5:
        return spec.default
    if slot.field in (node.traits.binds or {}):
        return f"new_{rng.randrange(100)}"
    kind = slot.kind or spec.kind
    classes = dialect.classes(kind)

    def one() -> Any:
        if kind in makes:
            return makes[kind](rng)
        return random_node(dialect, makes, rng.choice(classes), rng)

    if not spec.many or kind in ("shape", "params", "message"):
        return one()
    return tuple(one() for _ in range(rng.randrange(1 if node.cls is ir.Push else 0, 3)))


WRITTEN = [cls for cls, node in ir.CORE.nodes.items() if node.rows]


@pytest.mark.parametrize("cls", WRITTEN, ids=lambda cls: cls.__name__)
def test_nodes_of_the_core_language_read_back(cls: type) -> None:
    rng = random.Random(cls.__name__)
    for _ in range(20):
        node = random_node(ir.CORE, CORE, cls, rng)
        out = TextLines()
        ir_printer.PRINTER.nested[cls](out, 0, "", node, ())
        text = "\n".join(line.text for line in out.lines)
        flat = ir_printer.PRINTER.flat[cls]
        assert flat is None or flat(node) == text
        parser = ir_parser.Parser(text)
        parser.types |= NAMES
        assert ir_parser.FORMS.read(parser, cls) == node, text
        assert parser.tokens.kind == "end", text


def test_every_expression_has_a_text() -> None:
    scalars = set(ir.SE_NODES)
    assert {cls for cls in ir.Exp.__args__ if cls not in scalars} <= set(WRITTEN)
