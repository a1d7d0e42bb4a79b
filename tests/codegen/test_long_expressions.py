"""Every printer of scalar expressions shows each operand once, however deep it lies.

Showing an operand twice at each level takes two to the power of the depth.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from compiler.base.prim import Prim
from compiler.codegen import py_scalar
from compiler.codegen.c import scalar as c_scalar
from compiler.ir import show_scalar
from compiler.ir.nodes import SE, Bin, Conv, Lit, Select, Un, Var

DEPTH = 40
INT_OPS = "+ - * / % // %% ** min max & | ^ << >>".split()
FLOAT_OPS = "+ - * / % ** min max".split()
BOOL_OPS = "&& || & | ^ min max == !=".split()
OPS: dict[Prim, list[str]] = {
    "i64": INT_OPS,
    "i8": INT_OPS,
    "u8": INT_OPS,
    "f16": FLOAT_OPS,
    "f64": FLOAT_OPS,
    "bool": BOOL_OPS,
}
PRINTERS: dict[str, tuple[Callable[[SE], str], ModuleType, str]] = {
    "python": (py_scalar.show, py_scalar, "py_name"),
    "c": (lambda se: c_scalar.Scalars().show(se), c_scalar, "c_name"),
    "ir": (
        lambda se: show_scalar.show_se(se, spell=lambda name: show_scalar.name_text(name)),
        show_scalar,
        "name_text",
    ),
}


def chains(prim: Prim) -> dict[str, SE]:
    """Deep expressions of one type, by what they are made of."""
    first = Var("x_0", prim)
    found: dict[str, SE] = {}
    for op in OPS[prim]:
        for side in ("left", "right"):
            se: SE = first
            for k in range(DEPTH):
                pair = (se, Var(f"x_{k + 1}", prim))
                se = Bin(op, prim, *(pair if side == "left" else pair[::-1]))
            found[f"{op}, {side}"] = se
    for sign in ("not",) if prim == "bool" else ("neg", "abs", "sgn"):
        se = first
        for _ in range(DEPTH):
            se = Un(sign, prim, se)
        found[sign] = se
    for other in OPS:
        se = first
        for _ in range(DEPTH):
            se = Conv(other, prim, Conv(prim, other, se))
        found[f"through {other}"] = se
    se = first
    for k in range(DEPTH):
        se = Select(Var(f"x_{k + 1}", "bool"), se, Lit(1, prim))
    found["select"] = se
    return found


@pytest.mark.parametrize("prim", OPS)
@pytest.mark.parametrize("printer", PRINTERS)
def test_each_operand_is_shown_once(
    printer: str, prim: Prim, monkeypatch: pytest.MonkeyPatch
) -> None:
    show, module, name_of = PRINTERS[printer]
    shown: list[str] = []

    def counted(name: str) -> str:
        shown.append(name)
        assert len(shown) <= DEPTH + 1, "an operand is shown again"
        return name

    monkeypatch.setattr(module, name_of, counted)
    for what, se in chains(prim).items():
        shown.clear()
        show(se)
        assert len(shown) == len(set(shown)) > 0, what


def test_operands_that_bind_less_tightly_get_parentheses() -> None:
    a, b, c = (Var(name, "bool") for name in ("a_1", "b_2", "c_3"))
    both = Bin("&&", "bool", Bin("||", "bool", a, b), c)
    assert py_scalar.show(both) == "(a_1 or b_2) and c_3"
    bits = Bin("&", "i64", Bin("|", "i64", Lit(1, "i64"), Lit(6, "i64")), Lit(3, "i64"))
    assert eval(py_scalar.show(bits)) == 3
