"""Index arithmetic agrees with LMADs on all points."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.codegen.index import cell, poly_exp, quotient, row_major
from compiler.codegen.py_runtime import i64
from compiler.codegen.py_scalar import show
from compiler.ir.nodes import Lit, Var

NAMES = ("n_1", "m_2", "k_3")
polys = st.dictionaries(
    st.lists(st.sampled_from(NAMES), max_size=3).map(
        lambda names: tuple(sorted((n, names.count(n)) for n in set(names)))
    ),
    st.integers(-4, 4).filter(bool),
    max_size=4,
).map(Poly)
values = st.fixed_dictionaries({name: st.integers(-3, 5) for name in NAMES})


def value(se: object, env: dict[str, int]) -> int:
    return int(eval(show(se), {**env, "i64": i64}))  # type: ignore[arg-type]


@settings(deadline=None)
@given(polys, values)
def test_a_polynomial_as_an_expression_has_its_value(poly: Poly, env: dict[str, int]) -> None:
    assert value(poly_exp(poly), env) == poly.evaluate(env)


@settings(deadline=None)
@given(polys, polys, values)
def test_quotients_multiply_back(poly: Poly, by: Poly, env: dict[str, int]) -> None:
    found = quotient(poly * by, by)
    if found is not None and by.terms:
        assert (found * by) == poly * by
    if len(by.terms) == 1:
        assert found == poly


@settings(deadline=None)
@given(polys, st.lists(st.tuples(polys, polys), min_size=1, max_size=3), values, st.data())
def test_cells_lie_where_the_lmad_says(
    offset: Poly, dims: list[tuple[Poly, Poly]], env: dict[str, int], data: st.DataObject
) -> None:
    lmad = Lmad(offset, tuple(Dim(size, stride) for size, stride in dims))
    at = data.draw(st.lists(st.integers(0, 6), min_size=len(dims), max_size=len(dims)))
    names = {f"i_{k}": i for k, i in enumerate(at)}
    points = [Var(name, "i64") if i % 2 else Lit(i, "i64") for name, i in names.items()]
    expected = offset.evaluate(env) + sum(
        i * stride.evaluate(env) for i, (_, stride) in zip(at, dims, strict=True)
    )
    assert value(cell(lmad, points), {**env, **names}) == expected


def test_rows_and_columns_can_be_read_off() -> None:
    n, m, k = (Poly.var(x) for x in NAMES)
    lmad = Lmad(Poly.const(0), (Dim(n, m * k), Dim(m, k), Dim(k, Poly.const(1))))
    point = [Var(x, "i64") for x in ("a_4", "b_5", "c_6")]
    from compiler.ir.show_scalar import show_se

    assert show_se(cell(lmad, point)) == "(a_4 * m_2 + b_5) * k_3 + c_6"
    sizes = [Var(x, "i64") for x in NAMES]
    assert show_se(row_major(point, sizes)) == "(a_4 * m_2 + b_5) * k_3 + c_6"
