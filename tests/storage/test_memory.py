"""Every program keeps its meaning when memory is introduced, and when it is expanded."""

import numpy as np
import pytest

from compiler.explain import validity
from compiler.ir.parser import parse
from compiler.ir.printer import show_text
from compiler.semantics import heap
from compiler.semantics.trace import Trace
from tests.storage.helpers import ALL, TARGETS, arguments, context, expanded, with_memory


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("seed", range(4))
def test_value_and_heap_semantics_agree(name: str, seed: int) -> None:
    prog = with_memory(ALL[name])
    args = arguments(parse(ALL[name]), seed)
    outcome = validity.check(prog, "main", args)
    assert outcome.verdict == "valid", outcome.because


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("target", TARGETS)
def test_expansion_changes_no_result(name: str, target: str) -> None:
    prog = expanded(ALL[name], target)
    for seed in range(4):
        args = arguments(parse(ALL[name]), seed)
        outcome = validity.check(prog, "main", args)
        assert outcome.verdict == "valid", outcome.because


@pytest.mark.parametrize("name", ALL)
def test_programs_with_memory_read_back(name: str) -> None:
    prog = with_memory(ALL[name])
    assert parse(show_text(prog)) == prog


def count(text: str, form: str) -> int:
    return show_text(with_memory(text)).count(f"{form}(")


def test_if_with_a_transposed_branch_copies_nothing() -> None:
    """Seed program `if c then A else transpose A`: two strides come back, and no copy is made."""
    ctx = context()
    text = show_text(with_memory(ALL["IF_TRANSPOSED"], ctx))
    assert "copy(" not in text
    assert "then (n_1, 1i64, a_3)" in text
    assert "in (1i64, n_1, t_6)" in text
    assert any(r.rule == "memory/if" and "its strides" in r.because for r in ctx.remarks)


def test_if_with_sizes_is_listing_4_2() -> None:
    text = show_text(with_memory(ALL["IF_SIZES"]))
    assert "copy(" not in text
    assert text.count("alloc(") == 2


def test_an_update_in_a_loop_stays_in_the_argument() -> None:
    prog = with_memory(ALL["IN_PLACE_LOOP"])
    assert count(ALL["IN_PLACE_LOOP"], "alloc") == 0
    args = [np.arange(4, dtype=np.int32), np.int64(3)]
    values, trace = heap.run(prog, "main", args)
    assert values[0].tolist() == [1, 2, 3, 3]
    assert trace.allocated == 0


def test_a_loop_that_is_not_in_place_carries_its_block() -> None:
    ctx = context()
    text = show_text(with_memory(ALL["STENCIL"], ctx))
    assert text.count("alloc(") == 1
    assert "copy(" not in text
    assert any(r.rule == "memory/loop" for r in ctx.remarks)


def test_a_loop_that_reverses_carries_offset_and_stride() -> None:
    """The only copy is the one that makes the result row-major."""
    assert count(ALL["REVERSE_LOOP"], "copy") == 1
    assert count(ALL["SWAP_LOOP"], "copy") == 0


def test_results_are_row_major_from_the_start() -> None:
    ctx = context()
    text = show_text(with_memory(ALL["TRANSPOSED"], ctx))
    assert text.count("copy(") == 1
    (remark,) = ctx.remarks
    assert remark.rule == "memory/result"
    assert remark.numbers == (("copied", "4*m*n B"),)
    assert count(ALL["MAP"], "copy") == 0


def test_a_reshape_that_is_no_view_says_why() -> None:
    ctx = context()
    with_memory(ALL["STRIDED_UPDATE"], ctx)
    (remark,) = [r for r in ctx.remarks if r.rule == "memory/reshape"]
    assert "n elements at stride 2 do not fill that distance evenly" in remark.because


# --- expansion ---


def test_small_constant_arrays_stay_with_their_thread() -> None:
    text = show_text(expanded(ALL["KERNEL_SWAP"], "c"))
    assert "alloc(3, i32, private)" in text
    assert text.count("alloc(") == text.count("private)") // 2 + 1


def test_a_block_for_all_threads_is_contiguous_on_the_cpu_and_interleaved_on_the_gpu() -> None:
    text = show_text(expanded(ALL["ROWS"], "c"))
    assert "i_6*m_2 + {(m_2: 1)}" in text
    text = show_text(expanded(ALL["ROWS"], "cuda"))
    assert "i_6 + {(m_2: n_1)}" in text


def test_sizes_known_only_inside_are_bounded_before() -> None:
    assert "alloc(100*n_1**2 - 99*n_1, i64)" in show_text(expanded(ALL["TRIANGLE"], "c"))
    text = show_text(expanded(ALL["READ_SIZES"], "cuda"))
    assert text.index("segred @grid") < text.index("segmap @grid")


def test_a_thread_of_the_cpu_makes_what_only_it_knows_the_size_of() -> None:
    text = show_text(expanded(ALL["READ_SIZES"], "c"))
    assert "segred" not in text
    assert text.index("segmap @grid") < text.index(", private)")


def test_blocks_of_threads_share_what_fits() -> None:
    text = show_text(expanded(ALL["PER_BLOCK"], "c"))
    assert "alloc(8, i32, shared)" in text


# --- the race check ---

RACE = """
entry main [n_1] (xs_mem_2: mem(i32), xs_3: *[n_1]i32 @ xs_mem_2 -> 0 + {(n_1: 1)})
  : (r_mem_4: mem(i32), r_5: [n_1]i32 @ r_mem_4 -> 0 + {(n_1: 1)}) =
  let (ys_6: [n_1]i32 @ xs_mem_2 -> PLACE) =
    segmap @grid (i_7 < n_1) : (i32) ->
      let (x_8: i32) = xs_3[READ]
      in (x_8 + 1i32)
  in (xs_mem_2, ys_6)
"""


def run_race(place: str, read: str) -> tuple[list[int], Trace]:
    prog = parse(RACE.replace("PLACE", place).replace("READ", read))
    values, trace = heap.run(prog, "main", [np.arange(4, dtype=np.int32)])
    return values[0].tolist(), trace


def test_threads_that_keep_to_their_own_cells_are_free_of_races() -> None:
    values, trace = run_race("0 + {(n_1: 1)}", "i_7")
    assert values == [1, 2, 3, 4]
    assert trace.writes == {"xs_mem#1": {0, 1, 2, 3}}
    assert len(trace.kernels[0].accesses) == 8


def test_a_race_names_both_threads_and_the_cell() -> None:
    with pytest.raises(Exception, match=r"Two threads meet") as caught:
        run_race("0 + {(n_1: 1)}", "(i_7 + 1) % n_1")
    assert caught.value.cause == "race"
    assert str(caught.value) == (
        "Two threads meet: (i = 0) reads cell 1 of `xs_mem#1`, and (i = 1) writes it."
    )


def test_two_writers_of_one_cell_meet() -> None:
    with pytest.raises(Exception, match=r"\(i = 0\) writes cell 0 .* \(i = 1\) writes it"):
        run_race("0 + {(n_1: 0)}", "i_7")


def test_a_cell_outside_of_its_block_is_found() -> None:
    with pytest.raises(Exception, match=r"Cell 4 lies outside of `xs_mem#1`, which has 4"):
        run_race("0 + {(n_1: 1)}", "4")


def test_validity_tells_a_wrong_index_function() -> None:
    """Written backwards into the same block, the value semantics and the heap differ."""
    text = ALL["MAP"]
    prog = with_memory(text)
    shown = show_text(prog).replace(
        "(ys_4: [n_1]f32 @ ys_mem_1002 -> 0 + {(n_1: 1)})",
        "(ys_4: [n_1]f32 @ ys_mem_1002 -> n_1 - 1 + {(n_1: -1)})",
    )
    shown = shown.replace("in (ys_mem_1002, ys_4)", "COPY in (ys_mem_1002, zs_9)").replace(
        "COPY", "let (zs_9: [n_1]f32 @ ys_mem_1002 -> 0 + {(n_1: 1)}) = reshape([n_1], ys_4)"
    )
    outcome = validity.check(parse(shown), "main", [np.arange(3, dtype=np.float32)])
    assert outcome.verdict == "invalid"
    assert outcome.because == (
        "Result 0 is [4.0f32, 2.0f32, 0.0f32], but should be [0.0f32, 2.0f32, 4.0f32]."
    )
