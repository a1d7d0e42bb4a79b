"""Every node of the languages, made at random from its fields, is written and read back."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, get_args

import pytest

from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.base.prim import PRIMS
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp import printer as imp_printer
from compiler.codegen.imp.parser import ImpParser
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels import printer as kernel_printer
from compiler.codegen.kernels.parser import KernelParser
from compiler.dialect.format import Option, Pairs, Slot
from compiler.dialect.parsing import FormatParser
from compiler.dialect.printing import Printer, TextLines
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


BLOCKS = ["m_1", "b_2"]
IMP_NAMES = {
    "m_1": ir.Mem("i32"),
    "b_2": ir.Mem("f32", "shared"),
    "n_3": ir.I64,
    "i_4": ir.I64,
    "x_5": ir.Scalar("f32"),
}


def lmad(rng: random.Random) -> Lmad[Poly]:
    return Lmad(poly(rng), tuple(Dim(poly(rng), poly(rng)) for _ in range(rng.randrange(3))))


def stms(rng: random.Random) -> imp.Stms:
    free, define = imp.Free("m_1"), imp.Define(f"d_{rng.randrange(100)}", "i64", scalar(rng))
    return rng.choice([(), (free,), (free, define)])


def combine(rng: random.Random) -> imp.Combine:
    given = (("f32",), ("p_1",), ("q_2",), stms(rng), (scalar(rng),), (scalar(rng),))
    return imp.Combine(*given, commutative=rng.random() < 0.5)


IMP: Mapping[str, Make] = {
    **{kind: CORE[kind] for kind in "function Prim Space Level SE index message bool".split()},
    "Name": lambda rng: rng.choice(BLOCKS),
    "step": lambda rng: rng.choice("+*"),
    "bin": scalar,
    "Operand": lambda rng: rng.choice([scalar(rng), rng.choice(BLOCKS)]),
    "Scalar | Mem": lambda rng: rng.choice([ir.I64, ir.Mem("f32", "shared")]),
    "Scalar | Array": lambda rng: ir.Array("f32", (poly(rng), poly(rng))),
    "lmad": lmad,
    "point": lambda rng: (f"j_{rng.randrange(100)}", scalar(rng)),
    "place": lambda rng: rng.choice(["n_3", imp.Cell("m_1", scalar(rng))]),
    "dest": lambda rng: (rng.choice(BLOCKS), lmad(rng)),
    "Stms": stms,
    "Combine": combine,
}


class Language(NamedTuple):
    """How a test makes, prints and reads nodes of a language, and what is in scope."""

    dialect: Dialect
    makes: Mapping[str, Make]
    printer: Printer
    parser: Callable[[str], Any]
    forms: FormatParser
    names: Mapping[str, ir.Type]


LANGUAGES = (
    Language(ir.CORE, CORE, ir_printer.PRINTER, ir_parser.Parser, ir_parser.FORMS, NAMES),
    Language(imp.IMP, IMP, imp_printer.PRINTER, ImpParser, ImpParser.forms, IMP_NAMES),
    Language(k.KERNELS, IMP, kernel_printer.PRINTER, KernelParser, KernelParser.forms, IMP_NAMES),
)
FOUND: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "prim_of start": lambda given: "i64",
    "element block": lambda given: IMP_NAMES[given["block"]].prim,
    "prim_of_name name": lambda given: IMP_NAMES[given["name"]].prim,
}
"""What a parser finds, of fields that are not written."""
WHOLE = "shape params message".split()
SCALARS = {k.Fetch, k.Shuffle}
"""Their `name` is a variable that is declared before."""


def random_node(language: Language, cls: type, rng: random.Random) -> Any:
    """A node with random fields, those that are not written as the parser finds them."""
    node = language.dialect.find(cls)
    given: dict[str, Any] = {}
    for piece in node.pieces():
        if isinstance(piece, Slot | Option):
            given[piece.field] = _field(language, node, piece, rng)
        elif isinstance(piece, Pairs):
            length = rng.randrange(3)
            for number, slot in enumerate((piece.first, piece.second)):
                is_new = slot.field in (node.traits.binds or {})
                kind = slot.kind or node.field(slot.field).kind
                made = [language.makes[kind](rng) for _ in range(length)]
                given[slot.field] = tuple(f"new_{number}" if is_new else one for one in made)
    for field, question in (node.traits.finds or {}).items():
        if field not in given:
            given[field] = FOUND[question](given)
    return cls(**given)


def _field(language: Language, node: NodeSpec, slot: Slot | Option, rng: random.Random) -> Any:
    spec = node.field(slot.field)
    if isinstance(slot, Option) and rng.random() < 0.5 and node.cls is not imp.External:
        return spec.default
    if slot.field in (node.traits.binds or {}):
        return f"new_{rng.randrange(100)}"
    if node.cls in SCALARS and slot.field == "name":
        return rng.choice(["n_3", "x_5"])
    kind = slot.kind or spec.kind
    classes = language.dialect.classes(kind)

    def one() -> Any:
        if kind in language.makes:
            return language.makes[kind](rng)
        return random_node(language, rng.choice(classes), rng)

    if not spec.many or kind in WHOLE:
        return one()
    return tuple(one() for _ in range(rng.randrange(1 if node.cls is ir.Push else 0, 3)))


WRITTEN = [
    (language, cls)
    for language in LANGUAGES
    for cls, node in language.dialect.nodes.items()
    if node.rows
]


@pytest.mark.parametrize(
    ("language", "cls"), WRITTEN, ids=[f"{one.dialect.name}-{c.__name__}" for one, c in WRITTEN]
)
def test_nodes_read_back(language: Language, cls: type) -> None:
    rng = random.Random(cls.__name__)
    for _ in range(20):
        node = random_node(language, cls, rng)
        out = TextLines()
        rest = language.printer.nested[cls](out, 0, "", node, ())
        text = "\n".join([line.text for line in out.lines] + ([rest] if rest else []))
        flat = language.printer.flat[cls]
        assert flat is None or flat(node) == text
        parser = language.parser(text)
        parser.types |= language.names
        assert language.forms.read(parser, cls) == node, text
        assert parser.tokens.kind == "end", text


def test_every_expression_and_statement_has_a_text() -> None:
    written = {cls for _, cls in WRITTEN} | {imp.Kernel, k.Launch} | set(ir.SE_NODES)
    assert set(get_args(ir.Exp)) <= written
    for home in (imp, k):
        classes = [one for one in vars(home).values() if isinstance(one, type)]
        assert {c for c in classes if issubclass(c, imp.Stm)} - {imp.Stm} <= written
