"""What each generation of index functions makes of a program, and what it must copy."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compiler.algebra.index_functions import (
    Chain,
    Composition,
    Permute,
    Reshape,
    Rotate,
    RotatedLmad,
    Select,
    Step,
)
from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.base.errors import CompileError
from compiler.driver import explanations
from compiler.driver.api import compilation
from compiler.explain import index_functions as explained
from compiler.ir.source_names import Spelling
from compiler.protocol.kinds import OfProgram
from compiler.protocol.storage import IndexFunctionsRequest, LayoutChange

EXAMPLES = Path(__file__).parents[2] / "app" / "examples"


def of(source: str) -> tuple[list[LayoutChange], dict[str, int]]:
    (fun,) = explanations.index_functions(IndexFunctionsRequest(source))["functions"]
    return fun["changes"], fun["copies"]


def texts(change: LayoutChange) -> list[str]:
    return [("copy: " if form["copies"] else "") + form["text"] for form in change["forms"]]


FLATTENED = """entry main [n][m] (a: [n][m]i32): i32 =
  let f = flatten (transpose a)
  in loop acc = 0 for i < n do acc * 3 + f[i]
"""


def test_a_flattened_transposition_is_a_copy_for_the_single_lmad_only() -> None:
    (turned, flat), copies = of(FLATTENED)
    assert texts(turned) == [
        "RowMajor(n, m) → Transpose",
        "0 + {(m : 1), (n : m)}",
        "0 + {(m : 1), (n : m)}",
    ]
    assert texts(flat) == [
        "RowMajor(n, m) → Transpose → Reshape(m*n)",
        "0 + {(m : 1), (n : m)} ∘ 0 + {(m*n : 1)}",
        "copy: 0 + {(m*n : 1)}",
    ]
    assert flat["forms"][0]["cell"] == flat["forms"][1]["cell"] == "(i % n)*m + (i / n)"
    assert flat["forms"][2]["because"].startswith("No single LMAD: its rows are 1 cells apart")
    assert copies == {"structural": 0, "composed": 0, "single": 1}


ROTATED = """entry main [n] (xs: [n]i32) (k: i64): ([]i32, i32) =
  let s = (rotate k xs)[2:n-1]
  in (s, xs[0])
"""


def test_a_slice_of_a_rotation_is_two_lmads() -> None:
    (turned, cut, result), copies = of(ROTATED)
    assert texts(turned)[:2] == ["RowMajor(n) → Rotate(k)", "0 + {(n : 1 : k)}"]
    assert texts(cut)[:2] == [
        "RowMajor(n) → Rotate(k) → Slice(2:+n - 3)",
        "0 + {(n : 1 : k)} ∘ 2 + {(n - 3 : 1)}",
    ]
    assert cut["forms"][0]["cell"] == cut["forms"][1]["cell"] == "(i + k + 2) % n"
    assert [form["copies"] for form in result["forms"]] == [True, True, False]
    assert [form["copies"] for form in cut["forms"]] == [False, False, True]
    assert (copies["structural"], copies["composed"]) == (1, 1)


def test_what_is_fused_away_is_no_copy() -> None:
    source = (EXAMPLES / "three_generations.fut").read_text("utf-8")
    changes, copies = of(source)
    gone = [one for one in changes if not one["in_memory"]]
    assert [one["does"] for one in gone] == ["gather", "slice"]
    for one in gone:
        assert one["forms"][2]["text"] == ""
        assert "never in memory" in one["forms"][2]["because"]
    assert copies == {"structural": 0, "composed": 0, "single": 1}


def test_a_part_of_what_is_fused_away_is_written_where_it_is() -> None:
    (part, _), copies = of("entry main [n] (xs: [n]i32): []i32 = (map (* 2) xs)[1:]")
    assert texts(part)[0] == "RowMajor(n) → Slice(1:+n - 1)"
    assert part["forms"][2]["text"] == "0 + {(n - 1 : 1)}"
    assert part["forms"][2]["because"].startswith("The array under this view is fused away")
    assert not copies["single"]


def test_what_is_overwritten_is_no_view() -> None:
    source = """entry main [n] (xs: *[n]i32) (k: i64): ([n]i32, i32) =
  let r = #[opaque] (rotate k xs)
  let s = r[0]
  let ys = xs with [0] = 3
  in (ys, s + r[n - 1])
"""
    changes, _ = of(source)
    assert not [one for one in changes if one["does"] == "gather"]


ROWS = """entry main [n] (c: bool) (i: i64) (j: i64) (a: [n][n]f32): f32 =
  let b = if c then a[i] else a[j]
  in loop acc = 0 for q < n do acc * 0.3 + b[q]
"""
TURNED = """entry main [n] (c: bool) (a: [n][n]i32): [n][n]i32 =
  let b = if c then a else transpose a
  in map (map (+ 1)) b
"""


NESTED = """entry main [n][m][p] (a: [n][m][p]i32) (k: i64): [n][m * p]i32 =
  let b = a[::-1, 1:, ::2]
  let c = transpose b
  let d = c[k]
  in map (\\r -> map (+ d[0, 0]) (flatten (transpose r))) a
"""


def test_branches_return_the_numbers_in_which_they_differ() -> None:
    changes, copies = of(ROWS)
    assert [one["does"] for one in changes] == ["index", "index", "branches"]
    structural, composed, single = changes[-1]["forms"]
    assert structural["text"] == "RowMajor(n, n) → Index(l)"
    assert structural["because"] == "The branches return l = i or j."
    assert composed["text"] == single["text"] == "l₂ + {(n : 1)}"
    assert single["because"] == "The branches return l₂ = i*n or j*n."
    assert not any(copies.values())


def test_branches_of_other_structure_are_copied_in_the_first_generation_only() -> None:
    changes, copies = of(TURNED)
    structural, composed, single = changes[-1]["forms"]
    assert structural["because"] == (
        "The branches differ in structure: RowMajor(n, n) and RowMajor(n, n) → Transpose."
    )
    assert composed["text"] == single["text"] == "0 + {(n : l), (n : l₂)}"
    assert copies == {"structural": 1, "composed": 0, "single": 0}


def test_a_loop_carries_strides_where_a_chain_has_to_be_copied() -> None:
    source = """entry main [n] (a: [n][n]i32) (k: i64): [n][n]i32 =
  let b = loop b = a for _i < k do transpose b :> [n][n]i32
  in map (map (+ 1)) b
"""
    changes, copies = of(source)
    assert changes[-1]["does"] == "loop"
    assert "The loop carries l = n or 1, l₂ = 1 or n." in changes[-1]["forms"][1]["because"]
    assert changes[-1]["forms"][2]["text"] == "0 + {(n : b_stride), (n : b_stride₂)}"
    assert copies == {"structural": 1, "composed": 0, "single": 0}


def test_results_are_row_major() -> None:
    changes, copies = of("entry main [n] (a: [n][n]i32): [n][n]i32 = transpose a")
    assert [one["does"] for one in changes] == ["transpose", "result"]
    assert copies == dict.fromkeys(explained.WAYS, 1)


def test_a_view_says_how_it_tiles_its_block() -> None:
    changes, _ = of(ROWS)
    assert changes[0]["tiles"] == "-i*n + {(n : n)}"


def test_errors_of_the_program_are_raised() -> None:
    with pytest.raises(CompileError):
        of("entry main = x")


# --- all generations agree on all examples ---


def evaluated(value: Any, env: dict[str, int]) -> Any:
    """An index function over ints."""
    match value:
        case Poly():
            return value.evaluate({name: env.get(name, 1) for name in value.names()})
        case tuple():
            return tuple(evaluated(one, env) for one in value)
        case Lmad(offset, dims):
            pairs = [Dim(evaluated(d.size, env), evaluated(d.stride, env)) for d in dims]
            return Lmad(evaluated(offset, env), tuple(pairs))
        case Chain(base, steps):
            return Chain(evaluated(base, env), evaluated(steps, env))
        case Composition(parts):
            return Composition(evaluated(parts, env))
        case RotatedLmad(lmad, by):
            return RotatedLmad(evaluated(lmad, env), evaluated(by, env))
        case Permute():
            return value
        case Rotate(by):
            return Rotate(evaluated(by, env))
        case Select(parts):
            return Select(evaluated(parts, env))
        case Reshape(shape):
            return Reshape(evaluated(shape, env))
    raise AssertionError(value)


def fits(chain: Chain[int]) -> bool:
    """Whether the numbers are such that no step leaves its array: sizes came from nowhere."""
    shapes = chain.shapes()
    for step, before in zip(chain.steps, shapes, strict=False):
        if not fits_step(step, before):
            return False
    return all(0 <= size <= 64 for size in itertools.chain(*shapes))


def fits_step(step: Step[int], before: tuple[int, ...]) -> bool:
    match step:
        case Select(parts):
            inside = zip(parts, before, strict=True)
            return all(
                min(dim.size for dim in (*part.dims, Dim(0, 0))) >= 0
                and all(0 <= at < size for at in part.points())
                for part, size in inside
            )
        case Reshape(shape):
            return Lmad.row_major(shape, 0).size == Lmad.row_major(before, 0).size
    return True


NAMES = "three_generations anti_diagonal blocked_rows radix_sort stencil strided_update wavefront"


def walks() -> Iterator[Any]:
    own = (FLATTENED, ROTATED, ROWS, TURNED, NESTED)
    for source in (
        *own,
        *((EXAMPLES / f"{name}.fut").read_text("utf-8") for name in NAMES.split()),
    ):
        work = compilation(OfProgram(source))
        written, flat = work.result("simplified").prog, work.result("flat").prog
        kept = {fun.name: fun for fun in work.result("funmem").prog.funs}
        for fun in written.funs:
            spell = Spelling.of(fun, work.names().said)
            walk = explained._Walk(written, fun, explained._Memory(flat, kept[fun.name]), spell)
            yield walk, walk.told()


def test_the_generations_agree_on_every_array_that_none_of_them_copies() -> None:
    compared = 0
    for walk, told in walks():
        copied = {
            form["generation"]
            for change in told["changes"]
            for form in change["forms"]
            if form["copies"] and change["does"] != "result"
        }
        if copied - {"single"}:
            continue
        for name, forms in walk.forms.items():
            env = {param.name: 4 for param in walk.fun.params[: walk.fun.implicit]}
            chain, composed, single = (evaluated(forms[way], env) for way in explained.WAYS)
            if not chain.steps or not fits(chain) or forms["single"].names() & walk.varied.keys():
                continue
            points = list(itertools.product(*map(range, chain.shapes()[-1])))
            cells = [chain.index(at, divmod) for at in points]
            assert cells == [composed.index(at, divmod) for at in points], name
            if "single" not in copied and name not in walk.computed:
                assert cells == [single.index(*at) for at in points], name
            compared += 1
    assert compared >= 10


def test_an_array_of_the_highest_rank_has_an_index_for_each_dimension() -> None:
    changes, _ = of(f"entry main [n][m] (a: [n]{'[m]' * 31}i64) = transpose a")
    cell = changes[-1]["forms"][-1]["cell"]
    assert cell.startswith("j*m**31 + i*m**30 + k*m**29")
    assert len(cell.split(" + ")) == 32
