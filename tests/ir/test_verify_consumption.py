"""One statement may not consume an array and read it, not even by one name: each case refused."""

from __future__ import annotations

import pytest

from compiler.base.errors import CompilerBug
from compiler.driver.pipeline import verify
from compiler.ir.parser import parse

HEAD = (
    "entry main [n_1] (xs_2: *[n_1]i64, xss_3: *[n_1][n_1]i64, ys_4: [n_1]i64, o_5: [n_1][n_1]i64)"
)
ARRAYS = f"{HEAD} : (r_6: [n_1]i64) ="
MATRICES = f"{HEAD} : (r_6: [n_1][n_1]i64) ="
CALLED = """
fun put_90 (n_91: i64, a_92: *[n_91]i64, b_93: [n_91]i64) : (q_94: *[n_91]i64) =
  let (u_95: [n_91]i64) = a_92 with [0:+n_91] = b_93
  in (u_95)
"""

UPDATE = f"""
{ARRAYS}
  let (u_7: [n_1]i64) = xs_2 with [0:+n_1:1] = ys_4
  in (u_7)
"""
SCATTER = f"""
{ARRAYS}
  let (u_7: [n_1]i64) =
    scatter [n_1] (ys_4, ys_4)
      into xs_2[_]
      map \\(i_8: i64, v_9: i64) : (i64, i64) ->
        let (w_10: i64) = ys_4[0]
        in (i_8, v_9 + w_10)
  in (u_7)
"""
HIST = f"""
{ARRAYS}
  let (u_7: [n_1]i64) =
    hist [n_1] (ys_4, ys_4)
      into (xs_2)[_] op (0i64) \\(a_8: i64, b_9: i64) : (i64) ->
        let (w_13: i64) = ys_4[0]
        in (a_8 + b_9 + w_13)
      map \\(i_10: i64, v_11: i64) : (i64, i64) ->
        let (w_12: i64) = ys_4[0]
        in (i_10, v_11 + w_12)
  in (u_7)
"""
MAP = f"""
{MATRICES}
  let (u_7: [n_1][n_1]i64) =
    map [n_1] (xss_3, o_5)
      \\(a_8: [n_1]i64, b_9: [n_1]i64) : ([n_1]i64) ->
        let (x_10: i64) = o_5[0, 0]
        let (y_12: [n_1]i64) = a_8 with [0] = x_10
        in (y_12)
  in (u_7)
"""
LOOP = f"""
{ARRAYS}
  let (u_7: [n_1]i64, v_8: [n_1]i64) =
    loop (a_9: *[n_1]i64, b_10: [n_1]i64) = (xs_2, ys_4)
    for i_11: i64 < n_1 do
      let (x_12: i64) = ys_4[i_11]
      let (c_13: [n_1]i64) = a_9 with [0] = x_12
      in (c_13, b_10)
  in (u_7)
"""
CALL = f"""{CALLED}
{ARRAYS}
  let (u_7: [n_1]i64) = call put_90(n_1, xs_2, ys_4)
  in (u_7)
"""
SEGMAP = f"""
{ARRAYS}
  let (u_7: [n_1]i64) =
    segmap @grid (i_8 < n_1) : ([n_1]i64) ->
      let (v_9: i64) = ys_4[i_8]
      in (xs_2 with {{[i_8] = v_9}})
  in (u_7)
"""
STREAM = f"""
{ARRAYS}
  let (u_7: [n_1]i64) =
    stream [n_1] (ys_4)
      into (xs_2) \\(i_8: i64) : () ->
        let (v_9: i64) = ys_4[0]
        push (xs_2)[i_8] = (v_9)
        in ()
  in (u_7)
"""
PUSHES = f"""
{ARRAYS}
  let (u_7: [n_1]i64) =
    segmap @grid (i_8 < n_1) : ([n_1]i64) ->
      let (v_9: i64) = ys_4[i_8]
      push (xs_2)[v_9] = (v_9)
      in (xs_2 with {{}})
  in (u_7)
"""
SEGHIST = f"""
{ARRAYS}
  let (u_7: [n_1]i64) =
    seghist @grid (i_8 < n_1)
      into (xs_2)[_] op (0i64) \\(a_9: i64, b_10: i64) : (i64) -> (a_9 + b_10)
      body : (i64, i64) ->
        let (v_11: i64) = ys_4[i_8]
        in (v_11, v_11)
  in (u_7)
"""

CASES = {
    "an update": (UPDATE, "soa", [("= ys_4", "= xs_2")]),
    "a scatter": (
        SCATTER,
        "soa",
        [("(ys_4, ys_4)", "(ys_4, xs_2)"), ("= ys_4[0]", "= xs_2[0]")],
    ),
    "a histogram": (
        HIST,
        "soa",
        [
            ("(ys_4, ys_4)", "(xs_2, ys_4)"),
            ("(w_12: i64) = ys_4", "(w_12: i64) = xs_2"),
            ("(w_13: i64) = ys_4", "(w_13: i64) = xs_2"),
        ],
    ),
    "a map of rows that it overwrites": (
        MAP,
        "soa",
        [("(xss_3, o_5)", "(xss_3, xss_3)"), ("= o_5[0, 0]", "= xss_3[0, 0]")],
    ),
    "a loop": (LOOP, "soa", [("(xs_2, ys_4)", "(xs_2, xs_2)"), ("= ys_4[i_11]", "= xs_2[i_11]")]),
    "a call": (CALL, "soa", [("xs_2, ys_4)", "xs_2, xs_2)")]),
    "a kernel": (SEGMAP, "flat", [("= ys_4[i_8]", "= xs_2[i_8]")]),
    "a stream": (STREAM, "soa", [("(ys_4)", "(xs_2)"), ("= ys_4[0]", "= xs_2[0]")]),
    "a kernel that pushes": (PUSHES, "flat", [("= ys_4[i_8]", "= xs_2[i_8]")]),
    "a kernel's histogram": (SEGHIST, "flat", [("= ys_4[i_8]", "= xs_2[i_8]")]),
}
MUTATED = [(name, k) for name, (_, _, changes) in CASES.items() for k in range(len(changes))]


@pytest.mark.parametrize("name", CASES)
def test_what_consumes_one_array_and_reads_another_passes(name: str) -> None:
    text, stage, _ = CASES[name]
    verify(parse(text), stage)


@pytest.mark.parametrize(("name", "number"), MUTATED)
def test_what_consumes_an_array_and_reads_it_is_refused(name: str, number: int) -> None:
    text, stage, changes = CASES[name]
    old, new = changes[number]
    assert text.count(old) == 1
    with pytest.raises(CompilerBug, match=r"memory that it shares is consumed|used after"):
        verify(parse(text.replace(old, new)), stage)


@pytest.mark.parametrize(("name", "number"), MUTATED)
def test_so_it_is_by_another_name(name: str, number: int) -> None:
    text, stage, changes = CASES[name]
    old, new = changes[number]
    array = "xss_3" if "xss_3" in new.replace(old, "") else "xs_2"
    at = "0:+n_1, 0:+n_1" if array == "xss_3" else "0:+n_1"
    kind = "[n_1][n_1]i64" if array == "xss_3" else "[n_1]i64"
    view = f"  let (view_80: {kind}) = {array}[{at}]\n"
    renamed = new.replace(array, "view_80") if new.count(array) == 1 else _last(new, array)
    mutated = text.replace(old, renamed)
    head, _, body = mutated.rpartition(" =\n  let (u_7")
    mutated = f"{head} =\n{view}  let (u_7{body}"
    with pytest.raises(CompilerBug, match=r"memory that it shares is consumed|used after"):
        verify(parse(mutated), stage)


def _last(text: str, name: str) -> str:
    before, _, after = text.rpartition(name)
    return f"{before}view_80{after}"


def test_two_parameters_of_a_loop_may_not_both_begin_as_what_is_consumed() -> None:
    text = LOOP.replace("b_10: [n_1]", "b_10: *[n_1]").replace("(xs_2, ys_4)", "(xs_2, xs_2)")
    with pytest.raises(CompilerBug, match="consumed twice"):
        verify(parse(text), "soa")


def test_branches_may_do_one_or_the_other() -> None:
    text = f"""
{ARRAYS}
  let (u_7: [n_1]i64) =
    if n_1 > 1i64
    then
      let (a_8: [n_1]i64) = xs_2 with [0:+n_1:1] = ys_4
      in (a_8)
    else
      let (b_9: [n_1]i64) = copy(xs_2)
      in (b_9)
  in (u_7)
"""
    verify(parse(text), "soa")
    with pytest.raises(CompilerBug, match="memory that it shares"):
        verify(parse(text.replace("= ys_4", "= xs_2")), "soa")
