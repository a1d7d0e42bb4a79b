"""One version per instance, nothing higher-order left, places kept."""

from __future__ import annotations

import re

import numpy as np
import pytest

from compiler.base.context import Ctx, Options
from compiler.base.errors import Limitation, RuntimeError_, UsageError
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.frontend import typed as ty
from compiler.frontend.check import check
from compiler.frontend.parser import parse
from compiler.frontend.parts import parts
from compiler.frontend.show_typed import show
from compiler.frontend.types import Arrow, Record, Type
from compiler.lower.monomorphise import monomorphise
from compiler.semantics import interp


def mono(source: str, entry: str = "") -> ty.TypedProg:
    ctx = Ctx(Options(entry=entry))
    return monomorphise(check(parse(source), ctx), ctx)


def everything(e: ty.Exp) -> list[ty.Exp]:
    found, work = [], [e]
    while work:
        found.append(work.pop())
        work.extend(parts(found[-1]))
    return found


def versions(prog: ty.TypedProg, name: str) -> int:
    return sum(1 for d in prog.defs if d.source_name == name)


def holds_function(t: Type) -> bool:
    if isinstance(t, Record):
        return any(holds_function(ft) for _, ft in t.fields)
    return isinstance(t, Arrow)


PAIR = "def pair 't (x: t): (t, t) = (x, x)\n"


def test_one_version_per_type() -> None:
    prog = mono(PAIR + "entry main (x: i32) (y: f64) = (pair x, pair (x + 1), pair y)")
    assert versions(prog, "pair") == 2


def test_a_size_with_a_function_in_it_is_shown_alike_in_each_compilation() -> None:
    source = """
def rep [n] (reps: [n]i64): [i64.sum reps]i64 = tabulate (i64.sum reps) id
entry main [n] (reps: [n]i64) = let xs: [i64.sum reps]i64 = rep reps in map (+ 1) xs
"""
    shown = [plain(Compilation(source).result("mono").text) for _ in range(2)]
    assert shown[0] == shown[1]
    assert re.search(r"\[\(@ intrinsics\.reduce_comm\[n_\d+\] _ 0 reps_\d+\)\]i64", shown[0])
    assert "?" not in shown[0]


def test_sizes_make_no_versions() -> None:
    prog = mono(PAIR + "entry main [n] [m] (x: [n]i32) (y: [m]i32) = (pair x, pair y)")
    (pair,) = [d for d in prog.defs if d.source_name == "pair"]
    assert len(pair.size_params) == 1


def test_only_what_is_reached() -> None:
    source = "def unused (x: i32) = x\nentry a (x: i32) = x\nentry b (x: i32) = x"
    assert [d.source_name for d in mono(source).defs] == ["a", "b"]
    assert [d.source_name for d in mono(source, "b").defs] == ["b"]


def test_unknown_entry_lists_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        mono("entry a (x: i32) = x\nentry b (x: i32) = x", "c")
    assert "a, b" in caught.value.hint


def test_a_program_without_entry_points_is_refused() -> None:
    with pytest.raises(RuntimeError_):
        mono("def f (x: i32) = x")


HIGHER = """
def twice 't (f: t -> t) (x: t): t = f (f x)
def compose 'a 'b 'c (f: b -> c) (g: a -> b) (x: a): c = f (g x)
def choose (k: i32) = {f = \\x -> x + k, g = \\x -> x * k}
entry main [n] (xs: [n]i32) (k: i32) =
  let {f, g} = choose k
  let other 'a (x: a) (h: a -> i32): i32 = h x + k
  in (map (twice (compose f g)) xs, other xs[0] f, other (k, k) (\\(a, b) -> a + b),
      xs |> map2 (\\x y -> x * y + k) xs |> filter (> k) |> map g >-> id)
"""


def test_lambdas_are_arguments_of_intrinsics_and_nothing_else_is_a_function() -> None:
    prog = mono(HIGHER.replace(" >-> id", ""))
    for definition in prog.defs:
        assert definition.type_params == ()
        assert not any(holds_function(p.type) for p in definition.params)
        assert not holds_function(definition.ret)
        for e in everything(definition.body):
            if isinstance(e, ty.Apply):
                assert isinstance(e.fn, ty.Var)
                lambdas = [a for a in e.args if isinstance(a, ty.Lambda)]
                assert not lambdas or e.fn.name.startswith("intrinsics.")
            assert not isinstance(e, ty.LetFun)
            if isinstance(e, ty.Let):
                assert not holds_function(e.pat.type)


def test_every_place_is_the_users() -> None:
    for definition in mono(HIGHER.replace(" >-> id", "")).defs:
        for e in everything(definition.body):
            assert e.span.line > 0
            assert e.span.file == ""


def test_names_are_bound_once() -> None:
    bound: list[str] = []
    for definition in mono(HIGHER.replace(" >-> id", "")).defs:
        bound += [*definition.size_params, *(n for p in definition.params for n in names(p))]
        for e in everything(definition.body):
            if isinstance(e, ty.Let):
                bound += names(e.pat)
            if isinstance(e, ty.Lambda):
                bound += [n for p in e.params for n in names(p)]
    assert len(bound) == len(set(bound))


def names(p: ty.Pat) -> list[str]:
    if isinstance(p, ty.PRecord):
        return [n for _, q in p.fields for n in names(q)]
    return [p.name] if isinstance(p, ty.PVar) else []


def test_a_large_lambda_is_put_in_place_once_and_then_called() -> None:
    steps = "\n".join(
        f"    let a{k + 1} = if a{k} > {k} then a{k} - 1 else a{k}" for k in range(12)
    )
    calls = " + ".join(f"f {k}" for k in range(6))
    source = f"entry main (k: i32) =\n  let f (a0: i32) =\n{steps}\n    in a12 + k\n  in {calls}"
    prog = mono(source)
    (lifted,) = prog.defs[:-1]
    assert lifted.source_name == "f"
    assert len(lifted.params) == 2, "what it captures, and its own parameter"
    assert plain(show(prog)).count("> 11i32") == 2


def test_nested_local_functions_do_not_explode() -> None:
    depth = 9
    lines = ["entry main (x: i32) ="]
    for k in range(depth):
        inner = f"f{k - 1} (a + 1) + f{k - 1} (a - 1)" if k else "a"
        pad = " + ".join(f"a % {j + 2}" for j in range(18))
        lines.append(f"  let f{k} (a: i32) = {inner} + {pad}")
    lines.append(f"  in f{depth - 1} x")
    prog = mono("\n".join(lines))
    assert sum(len(everything(d.body)) for d in prog.defs) < 200 * 2 * depth


@pytest.mark.parametrize(
    "source",
    [
        "entry main (c: bool) (x: i32) = (if c then (+ 1) else (+ 2)) x",
        "entry main (x: i32) = (loop f = (+ 1) for i < 3 do \\y -> f (f y)) x",
    ],
)
def test_functions_that_are_chosen_at_run_time_are_a_limitation(source: str) -> None:
    from compiler.base.errors import CompileError

    with pytest.raises(CompileError) as caught:
        mono(source)
    assert isinstance(caught.value, Limitation) or caught.value.kind == "type"
    assert caught.value.span.line == 1


def test_a_pattern_of_a_constructor_takes_a_value_that_has_a_name() -> None:
    source = """
    type one = #c i32
    entry main (a: i32): i32 =
      let v = loop (v: one) = #c a for i < 3 do (match v case #c y -> #c (y + i))
      let f = \\(#c x: one) (g: i32 -> i32) -> g x
      in f v (+ 1)
    """
    prog = Compilation(source).result("soa").prog
    assert interp.run(prog, "main", [np.int32(5)]) == [9]
