# ruff: noqa: E501
"""The reference interpreter on small programs, whole and point by point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.base.deadline import within
from compiler.base.errors import CompilerBug, RuntimeError_, TimeoutError_, UsageError
from compiler.base.spans import Span
from compiler.driver.pipeline import verify
from compiler.ir import nodes, values
from compiler.ir.parser import parse
from compiler.semantics import interp, value
from compiler.semantics import levels as interp_levels
from tests.ir.programs import KERNELS, MEMORY, SOACS


def run(text: str, data: str, stage: str = "soa", **more: Any) -> list[str]:
    prog = parse(text)
    verify(prog, stage)
    return [values.show(v) for v in interp.run(prog, "main", values.parse(data), **more)]


CHUNKS = {"whole": None, "one at a time": 1, "three at a time": 3, "by the letter": 0}


@pytest.fixture(params=list(CHUNKS.values()), ids=list(CHUNKS))
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is also run in small pieces, and by `value`, which must not change any result."""
    if request.param == 0:
        monkeypatch.setattr(interp, "run", value.run)
    elif request.param is not None:
        monkeypatch.setattr(interp_levels, "CHUNK", request.param)


@pytest.mark.usefixtures("chunk")
def test_soacs() -> None:
    assert run(SOACS, "[1,2,3,14] [[1f32,2f32],[3f32,4f32],[5f32,6f32],[7f32,8f32]] 2i64") == [
        "[3i32, 5i32, 7i32, 29i32]",
        "44i32",
        "[29i32, 7i32, 5i32, 3i32]",
        "[[1.0f32, 2.0f32], [3.0f32, 4.0f32], [5.0f32, 6.0f32], [7.0f32, 8.0f32]]",
        "[5i32, 5i32, 4i32, 6i32, 4i32, 0i32, 0i32, 0i32, 0i32, 0i32]",
        "3.3166249f32",
    ]


@pytest.mark.usefixtures("chunk")
def test_kernels() -> None:
    xs = np.array([[1, 2], [3, 4], [5, 6], [7, 8]], np.float32)
    found = interp.run(parse(KERNELS), "main", [xs, np.zeros(4, np.float32)])
    scanned = np.cumsum(-2 * xs, axis=1)
    hist = np.stack([np.bincount(row.astype(int) % 5, minlength=5) for row in xs])
    wanted = [scanned, (2 * xs).sum(1), (2 * xs).sum(1)[::-1], scanned, hist]
    assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))


@pytest.mark.usefixtures("chunk")
def test_memory_is_erased() -> None:
    assert run(MEMORY, "[1f32, 2f32, 5f32]", "funmem") == ["[6.0f32, 3.0f32, 2.0f32]"]


NESTED = r"""
entry main [n_1, m_2] (xss_3: [n_1][m_2]i32, ks_4: [n_1]i32) : (r_5: [n_1]i32, s_6: [n_1][m_2]i32, t_7: [n_1][m_2]i32) =
  let (tot_8: [n_1]i32, sc_9: [n_1][m_2]i32, up_10: [n_1][m_2]i32) =
    map [n_1] (xss_3, ks_4)
      \(xs_11: [m_2]i32, k_12: i32) : (i32, [m_2]i32, [m_2]i32) ->
        let (a_13: i32) =
          reduce [m_2] (xs_11)
            op (0i32) \(a_14: i32, b_15: i32) : (i32) -> (a_14 + b_15)
            map \(x_16: i32) : (i32) -> (x_16 * k_12)
        let (q_17: [m_2]i32) =
          scan [m_2] (xs_11)
            op (1i32) \(a_18: i32, b_19: i32) : (i32) ->
              let (c_20: i32) = a_18 * b_19
              let (d_21: i32) = c_20 + 0i32
              in (d_21)
            map \(x_22: i32) : (i32) -> (x_22)
        let (z_23: [m_2]i32) = replicate([m_2], 0i32)
        let (w_24: [m_2]i32, g_25: i32) =
          loop (acc_26: *[m_2]i32, e_27: i32) = (z_23, 0i32)
          for i_28: i32 < k_12 do
            let (j_29: i64) = i64.i32(i_28) % m_2
            let (new_30: [m_2]i32) = acc_26 with [j_29] = i_28 + a_13
            in (new_30, e_27 + i_28)
        let (h_31: i32) =
          if k_12 % 2i32 == 0i32
          then
            let (y_32: i32) = xs_11[0]
            in (a_13 / k_12 + y_32)
          else (a_13)
        in (h_31 + g_25, q_17, w_24)
  in (tot_8, sc_9, up_10)
"""


def nested(xss: Any, ks: Any) -> list[Any]:
    """What NESTED computes, the obvious way."""
    totals, scans, updated = [], [], []
    for xs, k in zip(xss, ks, strict=True):
        total = int((xs * k).sum())
        row = np.zeros(len(xs), np.int32)
        for i in range(k):
            row[i % len(xs)] = i + total
        head = total // k + xs[0] if k % 2 == 0 else total
        totals.append(head + sum(range(k)))
        scans.append(np.cumprod(xs))
        updated.append(row)
    return [np.array(totals), np.array(scans), np.array(updated)]


@pytest.mark.usefixtures("chunk")
def test_loops_branches_and_updates_inside_a_map() -> None:
    xss = np.array([[1, 2, 3], [4, -5, 6], [7, 1, -9], [2, 2, 2]], np.int32)
    ks = np.array([3, 2, 7, 4], np.int32)
    verify(parse(NESTED), "soa")
    found = interp.run(parse(NESTED), "main", [xss, ks])
    assert all(np.array_equal(a, b) for a, b in zip(found, nested(xss, ks), strict=True))


def test_no_points_at_all() -> None:
    found = interp.run(parse(NESTED), "main", [np.zeros((0, 3), np.int32), np.zeros(0, np.int32)])
    assert [v.shape for v in found] == [(0,), (0, 3), (0, 3)]


IRREGULAR = r"""
entry main [n_1] (ks_2: [n_1]i64) : (r_3: [n_1]i64) =
  let (r_4: [n_1]i64) =
    map [n_1] (ks_2)
      \(k_5: i64) : (i64) ->
        let (is_6: [k_5]i64) = iota(k_5, 0i64, 1i64)
        let (s_7: i64) =
          reduce [k_5] (is_6)
            op (0i64) \(a_8: i64, b_9: i64) : (i64) -> (a_8 + b_9)
            map \(x_10: i64) : (i64) -> (x_10)
        in (s_7)
  in (r_4)
"""


@pytest.mark.usefixtures("chunk")
def test_rows_of_different_sizes_inside_a_map() -> None:
    assert run(IRREGULAR, "[3i64, 0i64, 5i64, 3i64]") == ["[3i64, 0i64, 10i64, 3i64]"]


@pytest.mark.usefixtures("chunk")
def test_operators_that_do_not_commute_keep_their_order() -> None:
    """The operator composes x -> a*x + b, on pairs; also its use in a histogram."""
    text = r"""
entry main [n_1] (as_2: [n_1]i64, bs_3: [n_1]i64, is_4: [n_1]i64) : (a_5: i64, b_6: i64, c_7: [n_1]i64, d_8: [n_1]i64, e_9: [2]i64, f_10: [2]i64) =
  let (a_11: i64, b_12: i64) =
    reduce [n_1] (as_2, bs_3)
      op (1i64, 0i64) \(a_13: i64, b_14: i64, c_15: i64, d_16: i64) : (i64, i64) -> (a_13 * c_15, b_14 * c_15 + d_16)
      map \(x_17: i64, y_18: i64) : (i64, i64) -> (x_17, y_18)
  let (c_19: [n_1]i64, d_20: [n_1]i64) =
    scan [n_1] (as_2, bs_3)
      op (1i64, 0i64) \(a_21: i64, b_22: i64, c_23: i64, d_24: i64) : (i64, i64) -> (a_21 * c_23, b_22 * c_23 + d_24)
      map \(x_25: i64, y_26: i64) : (i64, i64) -> (x_25, y_26)
  let (e_27: [2]i64) = replicate([2], 1i64)
  let (f_28: [2]i64) = replicate([2], 0i64)
  let (e_29: [2]i64, f_30: [2]i64) =
    hist [n_1] (is_4, as_2, bs_3)
      into (e_27, f_28)[_] op (1i64, 0i64) \(a_31: i64, b_32: i64, c_33: i64, d_34: i64) : (i64, i64) -> (a_31 * c_33, b_32 * c_33 + d_34)
      map \(i_35: i64, x_36: i64, y_37: i64) : (i64, i64, i64) -> (i_35, x_36, y_37)
  in (a_11, b_12, c_19, d_20, e_29, f_30)
"""
    rng = np.random.default_rng(1)
    a, b = rng.integers(-3, 4, (2, 37))
    index = rng.integers(-1, 3, 37)
    verify(parse(text), "soa")
    found = interp.run(parse(text), "main", [a, b, index])

    def fold(keep: Any) -> list[tuple[int, int]]:
        states = [(1, 0)]
        for x, y in zip(a[keep], b[keep], strict=True):
            p, q = states[-1]
            states.append((p * int(x), q * int(x) + int(y)))
        return states

    states = fold(slice(None))
    assert (int(found[0]), int(found[1])) == states[-1]
    assert list(zip(found[2].tolist(), found[3].tolist(), strict=True)) == states[1:]
    bins = [fold(index == k)[-1] for k in range(2)]
    assert list(zip(found[4].tolist(), found[5].tolist(), strict=True)) == bins


@pytest.mark.usefixtures("chunk")
def test_an_operator_on_rows() -> None:
    text = r"""
entry main [n_1, m_2] (xss_3: [n_1][m_2]i32) : (r_4: [m_2]i32, s_5: [n_1][m_2]i32) =
  let (z_6: [m_2]i32) = replicate([m_2], 0i32)
  let (r_7: [m_2]i32) =
    reduce [n_1] (xss_3)
      op (z_6) \(a_8: [m_2]i32, b_9: [m_2]i32) : ([m_2]i32) ->
        let (c_10: [m_2]i32) =
          map [m_2] (a_8, b_9)
            \(x_11: i32, y_12: i32) : (i32) -> (x_11 + y_12)
        in (c_10)
      map \(xs_13: [m_2]i32) : ([m_2]i32) -> (xs_13)
  let (s_14: [n_1][m_2]i32) =
    scan [n_1] (xss_3)
      op (z_6) \(a_15: [m_2]i32, b_16: [m_2]i32) : ([m_2]i32) ->
        let (c_17: [m_2]i32) =
          map [m_2] (a_15, b_16)
            \(x_18: i32, y_19: i32) : (i32) -> (x_18 + y_19)
        in (c_17)
      map \(xs_20: [m_2]i32) : ([m_2]i32) -> (xs_20)
  in (r_7, s_14)
"""
    xss = np.arange(21, dtype=np.int32).reshape(7, 3)
    found = interp.run(parse(text), "main", [xss])
    assert found[0].tolist() == xss.sum(0).tolist()
    assert found[1].tolist() == np.cumsum(xss, 0).tolist()


@pytest.mark.usefixtures("chunk")
def test_a_while_loop_per_point() -> None:
    text = r"""
entry main [n_1] (xs_2: [n_1]i64) : (r_3: [n_1]i64) =
  let (r_4: [n_1]i64) =
    map [n_1] (xs_2)
      \(x_5: i64) : (i64) ->
        let (c_6: bool, y_7: i64, k_8: i64) =
          loop (go_9: bool, v_10: i64, k_11: i64) = (x_5 > 1i64, x_5, 0i64)
          while go_9 do
            let (w_12: i64) = select(v_10 % 2i64 == 0i64, v_10 / 2i64, 3i64 * v_10 + 1i64)
            in (w_12 > 1i64, w_12, k_11 + 1i64)
        in (k_8)
  in (r_4)
"""
    assert run(text, "[1i64, 6i64, 7i64, 27i64]") == ["[0i64, 8i64, 16i64, 111i64]"]


def test_places_outside_are_ignored() -> None:
    text = r"""
entry main [n_1, k_2] (d_3: *[k_2]i32, is_4: [n_1]i64) : (r_5: [k_2]i32) =
  let (r_6: [k_2]i32) =
    scatter [n_1] (is_4)
      into d_3[_]
      map \(i_7: i64) : (i64, i32) -> (i_7, i32.i64(i_7) + 10i32)
  in (r_6)
"""
    assert run(text, "[0, 0, 0] [-1i64, 1i64, 3i64, 2i64]") == ["[0i32, 11i32, 12i32]"]


FAILING = """
entry main [n_1] (xs_2: [n_1]i32, i_3: i64) : (r_4: i32) =
  assert(i_3 >= 0i64 && i_3 < n_1, "Index [", i_3, "] out of bounds for array of shape [", n_1, "].")
  let (r_5: i32) = xs_2[i_3]
  in (r_5)
"""


def test_a_failed_assertion_has_message_and_place() -> None:
    (fun,) = parse(FAILING).funs
    span = Span(7, 3, 7, 9)
    stms = tuple(nodes.Stm(s.pat, s.exp, (span,)) for s in fun.body.stms)
    body = nodes.Body(stms, fun.body.results)
    prog = nodes.Prog((nodes.Function("main", fun.params, fun.results, body, True, 1),))
    with pytest.raises(RuntimeError_) as error:
        interp.run(prog, "main", values.parse("[1,2] 5i64"))
    assert error.value.message == "Index [5] out of bounds for array of shape [2]."
    assert error.value.span == span
    assert error.value.kind == "runtime"


@pytest.mark.usefixtures("chunk")
def test_an_assertion_names_the_point_that_fails_and_masked_points_do_not() -> None:
    text = r"""
entry main [n_1] (xs_2: [n_1]i32) : (r_3: [n_1]i32) =
  let (r_4: [n_1]i32) =
    map [n_1] (xs_2)
      \(x_5: i32) : (i32) ->
        let (y_6: i32) =
          if x_5 == 0i32
          then (0i32)
          else
            assert(x_5 > 0i32, "negative ", x_5)
            let (q_7: i32) = 100i32 / x_5
            in (q_7)
        in (y_6)
  in (r_4)
"""
    assert run(text, "[4, 0, 3]") == ["[25i32, 0i32, 33i32]"]
    with pytest.raises(RuntimeError_, match="negative -7"):
        run(text, "[4, 0, -7, 3]")


def test_what_is_not_guarded_is_found_out() -> None:
    with pytest.raises(RuntimeError_, match="out of bounds"):
        run(FAILING.replace("i_3 >= 0i64 && i_3 < n_1", "i_3 >= 0i64"), "[1,2] 5i64")
    with pytest.raises(RuntimeError_, match="Division by zero"):
        run("entry main (x_1: i32) : (r_2: i32) =\n  in (1i32 / x_1)", "0")


def test_limits() -> None:
    endless = """
entry main (x_1: i32) : (r_2: i32) =
  let (c_3: bool, y_4: i32) =
    loop (go_5: bool, y_6: i32) = (true, x_1)
    while go_5 do (y_6 == y_6, y_6 + 1i32)
  in (y_4)
"""
    with pytest.raises(TimeoutError_, match=r"did not finish within 0\.1 s"):
        within(0.1, lambda: run(endless, "0"))
    large = """
entry main (n_1: i64) : (r_2: [n_1]i64) =
  let (r_3: [n_1]i64) = iota(n_1, 0i64, 1i64)
  in (r_3)
"""
    with pytest.raises(RuntimeError_, match="more than"):
        run(large, "100000000000i64")
    with pytest.raises(RuntimeError_, match="negative"):
        run(large, "-5i64")


def test_arguments_are_never_written_to() -> None:
    text = """
entry main [n_1] (xs_2: *[n_1]i32) : (r_3: [n_1]i32) =
  let (ys_4: [n_1]i32) = xs_2 with [0] = 7i32
  in (ys_4)
"""
    given = np.array([1, 2, 3], np.int32)
    (found,) = interp.run(parse(text), "main", [given])
    assert found.tolist() == [7, 2, 3]
    assert given.tolist() == [1, 2, 3]


def test_updates_in_a_loop_are_in_place() -> None:
    text = """
entry main (n_1: i64) : (r_2: [n_1]i64) =
  let (z_3: [n_1]i64) = replicate([n_1], 0i64)
  let (r_4: [n_1]i64) =
    loop (a_5: *[n_1]i64) = (z_3)
    for i_6: i64 < 1000i64 do
      let (b_7: [n_1]i64) = a_5 with [i_6] = i_6
      in (b_7)
  in (r_4)
"""
    prog = parse(text)
    (found,) = within(60.0, lambda: interp.run(prog, "main", [np.int64(5_000_000)]))
    assert np.asarray(found)[:1000].tolist() == list(range(1000))


def test_wrong_uses() -> None:
    prog = parse(FAILING)
    with pytest.raises(UsageError, match="no entry point `f`"):
        interp.run(prog, "f", [])
    bad = parse(FAILING.replace("xs_2[i_3]", "xs_9[i_3]"))
    with pytest.raises(CompilerBug, match="has no value"):
        interp.run(bad, "main", values.parse("[1,2] 1i64"))
    thresholds = """
entry main (n_1: i64) : (r_2: bool) =
  let (c_3: bool) = threshold("outer", n_1, 100)
  in (c_3)
"""
    assert run(thresholds, "50i64", "flat") == ["false"]
    assert run(thresholds, "50i64", "flat", thresholds={"outer": 10}) == ["true"]


def test_updates_of_rows_inside_a_map_are_in_place() -> None:
    text = r"""
entry main (n_1: i64, k_2: i64) : (r_3: [k_2][n_1]i64) =
  let (is_4: [k_2]i64) = iota(k_2, 0i64, 1i64)
  let (r_5: [k_2][n_1]i64) =
    map [k_2] (is_4)
      \(i_6: i64) : ([n_1]i64) ->
        let (z_7: [n_1]i64) = replicate([n_1], 0i64)
        let (a_8: [n_1]i64) =
          loop (b_9: *[n_1]i64) = (z_7)
          for j_10: i64 < 3000i64 do
            let (c_11: [n_1]i64) = b_9 with [j_10] = i_6 + j_10
            in (c_11)
        in (a_8)
  in (r_5)
"""
    verify(parse(text), "soa")
    args: list[values.Value] = [np.int64(100_000), np.int64(64)]
    (found,) = within(60.0, lambda: interp.run(parse(text), "main", args))
    assert (
        np.asarray(found)[:, :3000].tolist() == (np.arange(64)[:, None] + np.arange(3000)).tolist()
    )
