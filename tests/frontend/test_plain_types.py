"""Which types walks may skip, and that they do where abstract types mean abstract types."""

from __future__ import annotations

import pytest

from compiler.base.context import Options
from compiler.driver.pipeline import Compilation
from compiler.frontend.check.types import substitute
from compiler.frontend.check.types.metas import I64, MetaT
from compiler.frontend.types import (
    ANY_SIZE,
    UNIT,
    Array,
    Arrow,
    Opaque,
    Record,
    SizeConst,
    SizeVar,
    Sum,
    Type,
    TypeVar,
    acc_of,
    is_plain,
    tuple_type,
)

_T = Opaque("t_1", "m.t", (), (), I64)


@pytest.mark.parametrize(
    ("type_", "plain"),
    [
        (I64, True),
        (UNIT, True),
        (_T, True),
        (tuple_type((I64, _T)), True),
        (Arrow(_T, tuple_type((_T, UNIT))), True),
        (Sum((("a", ()), ("b", (I64, _T)))), True),
        (TypeVar("a"), False),
        (MetaT(0), False),
        (Array((SizeConst(2),), I64), False),
        (Record((("x", I64), ("y", Array((ANY_SIZE,), I64)))), False),
        (Arrow(I64, TypeVar("a")), False),
        (Arrow(I64, I64, ext=("n",)), False),
        (Sum((("a", (I64, MetaT(0))),)), False),
        (Opaque("t_1", "m.t", (), (SizeVar("n"),), I64), False),
        (Opaque("t_1", "m.t", (TypeVar("a"),), (), I64), False),
        (Opaque("t_1", "m.t", (), (), TypeVar("a")), False),
        (acc_of(Array((SizeVar("n"),), I64)), False),
    ],
)
def test_what_is_plain(type_: Type, plain: bool) -> None:
    assert is_plain(type_) is plain
    assert is_plain(type_) is plain, "asked again"


def test_an_unknown_that_is_found_out_is_followed() -> None:
    unknown = MetaT(0)
    pair = tuple_type((unknown, I64))
    assert not is_plain(pair)
    unknown.ref = TypeVar("a")
    assert substitute.subst(pair, {"a": I64}, {}) == tuple_type((I64, I64))


def _looked_at(levels: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """At how many types substitution looks where pairs of abstract types nest so deeply."""
    source = """
        module type t = { type t  val zero: t  val add: t -> t -> t }
        module leaf : t = { type t = i64  def zero = 0i64  def add (x: t) (y: t) = x + y }
        module pair (m: t) : t = {
          type t = (m.t, m.t)
          def zero: t = (m.zero, m.zero)
          def add (x: t) (y: t): t = (m.add x.0 y.0, m.add x.1 y.1)
        }
        module m0 = leaf
    """
    source += "".join(f"module m{k + 1} = pair m{k}\n" for k in range(levels))
    source += f"def main (n: i64) = let x = m{levels}.add m{levels}.zero m{levels}.zero in n\n"
    seen = 0
    subst = substitute.subst

    def counted(*args: object) -> Type:
        nonlocal seen
        seen += 1
        return subst(*args)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(substitute, "subst", counted)
        Compilation(source, Options()).result("typed")
    return seen


def test_types_that_double_are_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (_looked_at(levels, monkeypatch) for levels in (5, 10))
    assert many <= 3 * few, (few, many)
