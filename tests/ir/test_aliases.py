"""What bodies consume, and what their names may be views of."""

from __future__ import annotations

import pytest

from compiler.algebra.poly import Poly
from compiler.ir import aliases
from compiler.ir.aliases import consumed_params, of_body, roots_of
from compiler.ir.build import full_slices
from compiler.ir.nodes import (
    ONE,
    TRUE,
    Array,
    Body,
    Copy,
    DimFix,
    Exp,
    If,
    Lambda,
    Param,
    Slice,
    Stm,
    Update,
    Var,
)

N = Poly.var("n_1")
KIND = Array("i64", (N,))


def let(name: str, exp: object) -> Stm:
    return Stm((Param(name, KIND),), exp)  # type: ignore[arg-type]


VIEW = let("view_2", Slice("xs_1", full_slices((N,))))
AGAIN = let("again_3", Slice("view_2", full_slices((N,))))
FRESH = let("copy_4", Copy("again_3"))
WRITE = let("new_5", Update("again_3", (DimFix(ONE),), ONE))


def test_a_body_consumes_what_its_views_look_at() -> None:
    taken, ends = of_body((VIEW, AGAIN, WRITE), ("new_5", "again_3", Var("k_6", "i64")))
    assert taken == ("xs_1",)
    assert ends == (frozenset(), frozenset(("xs_1",)), frozenset())


def test_two_names_may_share_memory_if_their_roots_do() -> None:
    roots, gone = roots_of((VIEW, AGAIN, FRESH, WRITE))
    assert roots["again_3"] == {"again_3", "view_2", "xs_1"}
    assert roots["copy_4"] == {"copy_4"}
    assert gone == roots["again_3"]
    assert not roots["copy_4"] & gone
    assert roots["new_5"] == {"new_5"}


def test_a_branch_returns_views_of_either_side() -> None:
    body = Body((VIEW,), ("view_2",))
    chosen = let("either_7", If(TRUE, body, Body((), ("ys_8",))))
    roots, gone = roots_of((chosen,))
    assert roots["either_7"] == {"either_7", "xs_1", "ys_8"}
    assert not gone


def test_parameters_that_a_lambda_overwrites() -> None:
    params = (Param("xs_1", KIND), Param("ys_8", KIND))
    fn = Lambda(params, Body((VIEW, AGAIN, WRITE), ("new_5",)), (KIND,))
    assert consumed_params(fn) == {"xs_1"}
    assert consumed_params(Lambda(params, Body((VIEW, FRESH), ("copy_4",)), (KIND,))) == set()


def test_each_body_is_looked_at_once_however_deep_it_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checker asks at every level; looked at anew each time, `n` levels would be `n * n`."""
    depth, looked = 40, 0
    exp: Exp = Slice("xs", full_slices((N,)))
    for k in range(depth):
        inner = Body((let(f"a{k}", exp),), (f"a{k}",))
        exp = If(TRUE, inner, Body((), ("xs",)))
    once = aliases._effects

    def counted(exp: Exp, effects: aliases.Effects) -> aliases.Effect:
        nonlocal looked
        looked += 1
        return once(exp, effects)

    monkeypatch.setattr(aliases, "_effects", counted)
    effects = aliases.Effects()
    while isinstance(exp, If):
        assert effects.aliases(let("ys", exp)) == (frozenset(("xs",)),)
        exp = exp.then.stms[0].exp
    assert looked == depth + 1
