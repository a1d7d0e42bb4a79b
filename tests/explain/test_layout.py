"""The data behind the memory pane: blocks, arrays, cells, and which thread touches which cell."""

import pytest

from compiler.base.errors import UsageError
from compiler.explain import layout
from compiler.ir.parser import parse
from tests.storage.helpers import ALL, expanded, with_memory


def test_blocks_arrays_and_kernels_are_listed() -> None:
    (fun,) = layout.describe(with_memory(ALL["STENCIL"]))
    assert [(b["kind"], b["bytes"]) for b in fun["blocks"]] == [
        ("parameter", None),
        ("carried", None),
        ("carried", None),
        ("alloc", [[4, "n_1"]]),
    ]
    assert [array["base"] for array in fun["arrays"]] == ["xs", "ys", "zs", "ws"]
    (kernel,) = fun["kernels"]
    assert kernel["kind"] == "segmap"
    assert kernel["space"] == [{"index": "i_9", "bound": [[1, "n_1"]]}]


def test_cells_of_a_transposed_array() -> None:
    prog = with_memory(ALL["TRANSPOSED"])
    data = layout.cells(prog, "ys_5", {"n_1": 2, "m_2": 3})
    assert data["shape"] == [3, 2]
    assert [pair["cell"] for pair in data["cells"]] == [0, 3, 1, 4, 2, 5]
    assert data["cells"][1]["index"] == [0, 1]
    assert (data["first"], data["last"], data["complete"]) == (0, 5, True)


def test_cells_of_a_reversed_array_begin_at_its_end() -> None:
    prog = with_memory(ALL["CONCAT"])
    data = layout.cells(prog, "rev_6", {"n_1": 4})
    assert [pair["cell"] for pair in data["cells"]] == [3, 2, 1, 0]
    assert (data["first"], data["last"]) == (0, 3)


def test_long_lists_are_cut_and_say_so() -> None:
    data = layout.cells(with_memory(ALL["MAP"]), "ys_4", {"n_1": 10**9}, limit=5)
    assert len(data["cells"]) == 5
    assert not data["complete"]
    assert data["last"] == 10**9 - 1


def test_threads_of_an_expanded_block_interleave_on_the_gpu() -> None:
    values = {"n_1": 2, "m_2": 3}
    for target, first in (("c", [0, 1, 2]), ("cuda", [0, 2, 4])):
        prog = expanded(ALL["ROWS"], target)
        (fun,) = layout.describe(prog)
        array = next(a for a in fun["arrays"] if a["base"] == "tmp")
        data = layout.cells(prog, array["name"], {**values, "i_6": 0})
        assert [pair["cell"] for pair in data["cells"]] == first


def test_threads_write_their_rows_and_read_their_cells() -> None:
    prog = with_memory(ALL["IF_TRANSPOSED"])
    data = layout.threads(prog, "s_7", {"n_1": 2, "b_stride_1002": 1, "b_stride_1003": 2})
    read, written = data["accesses"]
    assert (read["array"], read["block"], read["writes"]) == ("b_5", "a_mem_1001", False)
    assert [pair["cells"] for pair in read["points"]] == [[0], [2], [1], [3]]
    assert written["writes"]
    assert [pair["cells"] for pair in written["points"]] == [[0], [0], [1], [1]]


def test_what_depends_on_data_or_is_missing_says_so() -> None:
    prog = with_memory(ALL["SCATTER"])
    data = layout.threads(prog, "e_8", {"n_1": 2, "m_2": 3})
    scattered = next(a for a in data["accesses"] if a["array"] == "e_8")
    assert scattered["because"] == "computed at run time"
    data = layout.threads(prog, "e_8", {})
    assert data["accesses"][0]["because"] == "values are needed for n_1"


@pytest.mark.parametrize(
    ("array", "values", "message"),
    [
        ("zs_4", {}, "There is no array `zs_4`"),
        ("ys_4", {}, "Give values for n_1"),
        ("ys_4", {"n_1": -1}, "These values make a size negative: -1"),
    ],
)
def test_wrong_questions(array: str, values: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        layout.cells(with_memory(ALL["MAP"]), array, values)


def test_names_defined_as_polynomials_need_no_values() -> None:
    text = """
entry main [n_1, m_2] (xs_3: [n_1][m_2]i32) : (r_5: i32) =
  let (k_6: i64) = n_1 * m_2
  let (f_7: [k_6]i32) = reshape([k_6], xs_3)
  let (x_8: i32) = f_7[0]
  in (x_8)
"""
    prog = with_memory(text)
    (fun,) = layout.describe(prog)
    assert fun["arrays"][1]["symbols"] == ["m_2", "n_1"]
    assert layout.cells(prog, "f_7", {"n_1": 2, "m_2": 2})["last"] == 3
    assert parse(text) is not None
