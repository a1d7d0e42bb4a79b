"""Going over statements: what a class asks for it gets, through all that leads there."""

from __future__ import annotations

import pytest

from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.codegen.c.stms import Statements
from compiler.codegen.cuda.kernels import DeviceCode
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.nodes import IMP, Stm
from compiler.codegen.imp.parts import (
    StmParts,
    defined_scalars,
    holds_block,
    map_expressions,
    names,
    statements,
)
from compiler.codegen.imp.verify import ImpChecker
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.host import Host
from compiler.codegen.kernels.nodes import KERNELS
from compiler.codegen.kernels.verify import KernelChecker
from compiler.codegen.kernels.walk import free_names
from compiler.codegen.stm_uses import BlockUses, StmUses, cell_access, count_names
from compiler.dialect.visiting import NodeRules
from compiler.ir.nodes import ONE, SE, ZERO, Bin, Mem, Scalar, Var
from compiler.ir.walk import se_uses
from compiler.runtime.imp_interp import PythonText


def number(name: Name) -> SE:
    return Var(name, "i64")


class _Scalars(StmParts):
    def __init__(self) -> None:
        self.found: list[Name] = []

    def se(self, se: SE, node: object = None) -> None:
        se_uses(se, self.found.append)


class _Bound(StmParts):
    def __init__(self) -> None:
        self.found: list[Name] = []

    def bind(self, name: Name, node: object) -> None:
        self.found.append(name)


class _Blocks(StmParts):
    def __init__(self) -> None:
        self.found: list[Name] = []

    def block(self, name: Name, prim: object) -> None:
        self.found.append(name)


LINE = Lmad(Poly.const(0), (Dim(Poly.const(4), Poly.const(1)),))
ADD = imp.Combine(("i64",), ("a",), ("b",), (), (number("sum"),), (number("none"),))
INSIDE: imp.Stms = (
    imp.Apply(("p", "q"), ("i64", "i64"), "f", (number("r"),)),
    imp.Declare("v", Scalar("i64"), number("w")),
    imp.Load("x", "i64", "xs", number("at")),
    imp.Store("ys", "i64", number("to"), number("what")),
    imp.Copy("i64", "dest", LINE, "source", LINE),
    imp.Assert(number("holds"), ("said", number("told"))),
    k.Indices((("i", number("first")), ("j", number("n"))), number("flat")),
    k.Locked("locks", number("one"), ()),
    k.Ticket("ticket", "flags", number("two")),
)
STMS: imp.Stms = (
    imp.For("t", "i64", number("rounds"), INSIDE),
    imp.Kernel(
        "sum_1",
        "grid",
        (("g", number("points")),),
        (),
        imp.ReduceWork((imp.Fold(ADD, (number("input"),), (imp.Cell("zs", number("cell")),)),)),
    ),
    imp.Push(
        imp.Histogram(ADD, (number("s"),), (number("bin"),), (number("value"),), (("bins", LINE),))
    ),
)


def test_expressions_are_reached_through_all_fields() -> None:
    walk = _Scalars()
    walk.stms(STMS)
    assert " ".join(walk.found) == (
        "rounds r w at to what holds told flat n one two "
        "points input none sum cell bin s value none sum"
    )


def test_names_that_are_bound_are_reached() -> None:
    walk = _Bound()
    walk.stms(STMS)
    assert " ".join(walk.found) == "t p q v x i j ticket g a b a b"


def test_blocks_are_reached() -> None:
    walk = _Blocks()
    walk.stms(STMS)
    assert " ".join(walk.found) == "xs ys dest source locks flags zs bins"


def test_names_are_gathered_by_what_is_done_with_them() -> None:
    stms = tuple(stm for stm in INSIDE if not type(stm).__module__.endswith("kernels.nodes"))
    assert names(stms, "writes") == {"ys", "dest"}
    assert names(stms, "reads") == {"xs", "source"}


UPDATES: imp.Stms = (
    k.Atomic("+", "i64", "sums", number("at"), ONE),
    k.Exchange("old", "i64", "cells", number("at"), (imp.Load("y", "i64", "ys", ZERO),)),
    k.Await("flag", "set", ZERO),
    k.Publish("set", ZERO, ONE),
    imp.Assign("held", "other"),
    imp.Call((), "f", ("given",)),
)


def test_blocks_are_read_and_written_as_their_statements_say() -> None:
    uses = BlockUses((*INSIDE, *UPDATES, STMS[-1]))
    assert " ".join(uses.read) == "xs source locks flags sums cells ys set given bins"
    assert " ".join(uses.written) == "ys dest locks flags sums cells set bins"
    assert " ".join(uses.together) == "locks flags sums cells set bins"
    assert [*uses.aliased] == ["other"]


@pytest.mark.parametrize("stms", [INSIDE, (STMS[0], STMS[2]), UPDATES])
def test_blocks_of_a_list_are_those_of_its_statements(stms: imp.Stms) -> None:
    each = [StmUses(stm) for stm in statements(stms)]
    every = BlockUses(stms)
    assert every.read.keys() == {name for one in each for name in one.read}
    assert every.written.keys() == {name for one in each for name in one.written}
    assert every.together.keys() == {name for one in each for name in one.together}


def test_a_launch_uses_what_it_is_given() -> None:
    given = (k.Param("n", "i64", False), k.Param("xs", "f32", True))
    launch = k.Launch(k.Kernel("fill", given, ()), "points", number("n"))
    assert [*BlockUses((launch,)).written] == ["xs"]
    assert free_names((launch,)).blocks == {"xs": "f32"}
    assert [*StmUses(launch).written] == []


def test_cells_are_accessed_as_the_parts_of_their_statements_say() -> None:
    wide = k.Stores("zs", "f32", number("at"), (number("a"), number("b")))
    found = [cell_access(stm) for stm in (*INSIDE, *UPDATES, wide)]
    told = [(one.block, one.how, one.number, one.is_atomic) for one in found if one]
    assert told == [
        ("xs", "reads", 1, False),
        ("ys", "writes", 1, False),
        ("flags", "both", 1, True),
        ("sums", "both", 1, True),
        ("cells", "both", 1, True),
        ("set", "reads", 1, True),
        ("set", "both", 1, True),
        ("zs", "writes", 2, False),
    ]


def test_scalars_are_defined_with_their_types() -> None:
    more = (imp.Declare("held", Mem("i8")), k.Ranges("b", "c", ONE, ONE, ONE), STMS[0])
    assert [pair for stm in (*INSIDE, *UPDATES, *more) for pair in defined_scalars(stm)] == [
        ("p", "i64"),
        ("q", "i64"),
        ("v", "i64"),
        ("x", "i64"),
        ("ticket", "i64"),
        ("old", "i64"),
        ("flag", "i32"),
        ("b", "i64"),
        ("c", "i64"),
        ("t", "i64"),
    ]


def test_expressions_change_and_what_is_inside_stays() -> None:
    def double(se: SE) -> SE:
        return Bin("+", "i64", se, se)

    for stm in (*INSIDE, *UPDATES, STMS[0]):
        before = StmUses(stm)
        after = StmUses(map_expressions(stm, double))
        assert after.scalars == before.scalars
        assert after.inside == before.inside
        sizes = 1 if isinstance(stm, k.Indices) else 0
        assert sum(isinstance(se, Bin) for se in after.expressions) + sizes == len(
            after.expressions
        )
        assert map_expressions(stm, lambda se: se) is stm


def test_blocks_are_held_by_variables_for_blocks() -> None:
    some = imp.Declare("n", Scalar("i64")), imp.Assign("n", ONE)
    held = imp.Declare("b", Mem("i64")), imp.Assign("b", "c")
    assert [holds_block(stm) for stm in (*some, *held)] == [False, False, True, True]


def test_names_are_counted_in_nested_statements() -> None:
    uses, bound = count_names((*STMS, imp.Define("r", "i64", number("r"))))
    assert uses["r"] == 2
    assert (bound["r"], bound["x"], bound["none"]) == (1, 1, 0)


@pytest.mark.parametrize(
    ("rules", "missing"),
    [
        (ImpChecker, set()),
        (PythonText, set()),
        (Statements, {imp.Call, imp.Push}),  # C calls; `sequential` has no pushes
    ],
    ids=lambda what: getattr(what, "__name__", ""),
)
def test_each_statement_has_its_rule(rules: type[NodeRules], missing: set[type]) -> None:
    """A class of statements that some method is missing for stands in no list that runs into it."""
    statements = {cls for cls in IMP.nodes if issubclass(cls, Stm)}
    assert statements - rules.rules.keys() == missing


def test_each_statement_of_threads_and_hosts_has_its_rule() -> None:
    statements = {cls for cls in KERNELS.own if issubclass(cls, Stm)}
    launched = {k.Launch, k.Ranges, k.Part, k.Zeros}
    assert statements <= KernelChecker.rules.keys()
    assert statements - DeviceCode.rules.keys() == launched
    assert launched <= Host.rules.keys()


def test_a_rule_is_that_of_the_class_itself() -> None:
    class Louder(PythonText):
        def define(self, s: imp.Define) -> None:
            self.line("# louder")

    assert Louder.rules[imp.Define] is Louder.define
    assert Louder.rules[imp.Assign] is PythonText.assign
