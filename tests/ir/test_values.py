"""Values in Futhark's text and binary notation."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from compiler.base.dtypes import DTYPE
from compiler.base.errors import InputError, UsageError
from compiler.base.prim import Prim
from compiler.ir import values

ARRAYS = st.sampled_from(list(DTYPE.values())).flatmap(
    lambda dtype: hnp.arrays(
        dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
    )
)


def same(a: Any, b: Any) -> bool:
    nan = a.dtype.kind == "f"
    return bool(a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=nan))


@settings(max_examples=300, deadline=None)
@given(st.lists(ARRAYS, max_size=3))
def test_both_notations_read_back(given_values: list[Any]) -> None:
    text = "\n".join(map(values.show, given_values))
    for found in (values.parse(text), values.from_bytes(values.to_binary(given_values))):
        assert len(found) == len(given_values)
        assert all(map(same, found, given_values))


@settings(max_examples=50, deadline=None)
@given(hnp.arrays(np.int32, hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=12)))
def test_numbers_without_type(array: Any) -> None:
    plain = values.show(array).replace("i32", "")
    (found,) = values.parse(plain)
    assert same(found, array)
    (wide,) = values.parse(plain, ("i64",))
    assert same(wide, array.astype(np.int64))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[1,2,3] 4i32", "[1i32, 2i32, 3i32]|4i32"),
        ("-- a comment\n1.5 -- another", "1.5f64"),
        ("-1u8 [-2u32, 1u32]", "255u8|[4294967294u32, 1u32]"),
        ("0x1F 0xffu8 0b101i8 0xfi16", "31i32|255u8|5i8|15i16"),
        ("[32767i8, -129i8, 128i8] 300u8 -257u8", "[-1i8, 127i8, -128i8]|44u8|255u8"),
        (f"[{'1i32, ' * 20}99999999999i32]", f"[{'1i32, ' * 20}1215752191i32]"),
        ("18446744073709551617i64 -9223372036854775809i64 18446744073709551617u64",
         "1i64|9223372036854775807i64|1u64"),
        ("[0x1e, 2] [0xfeu8, 0x1d] [0x1e, 2.5]", "[30i32, 2i32]|[254u8, 29u8]|[30.0f64, 2.5f64]"),
        ("[0b11i8, 0b1] [1E3, 2]", "[3i8, 1i8]|[1000.0f64, 2.0f64]"),
        ("0x10f32 [0x10f32] 0x1.8p3f32 0x1p-2", "69426i32|[69426i32]|12.0f32|0.25f64"),
        ("[1,2 , ] [[1,2,],[3,4],] ", "[1i32, 2i32]|[[1i32, 2i32], [3i32, 4i32]]"),
        (f"[{'1, ' * 60}]", f"[{', '.join(['1i32'] * 60)}]"),
        (r'"\65\x42;\t\"\\" "\DEL\&a"', "[65u8, 66u8, 59u8, 9u8, 34u8, 92u8]|[127u8, 97u8]"),
        ("1_000i64 1e3f32 2f32", "1000i64|1000.0f32|2.0f32"),
        ("f32.nan -f64.inf f16.inf", "f32.nan|-f64.inf|f16.inf"),
        ("true [false, true]", "true|[false, true]"),
        ('"hi\\n"', "[104u8, 105u8, 10u8]"),
        ("empty([0]i32) empty([2][0]f32)", "empty([0]i32)|empty([2][0]f32)"),
        ("[[1,2],[3,4]]", "[[1i32, 2i32], [3i32, 4i32]]"),
        ("[1, 2.5]", "[1.0f64, 2.5f64]"),
        ("0.1f32 1e-10f32 3.4028235e38f32 0.1f16", "0.1f32|1e-10f32|3.4028235e+38f32|0.1f16"),
        ("-9223372036854775808i64 18446744073709551615u64",
         "-9223372036854775808i64|18446744073709551615u64"),
        ("[-9223372036854775808i64, 9223372036854775807i64, 1i64, 1i64, 1i64, 1i64]",
         "[-9223372036854775808i64, 9223372036854775807i64, 1i64, 1i64, 1i64, 1i64]"),
        ("", ""),
    ],
)  # fmt: skip
def test_notation(text: str, shown: str) -> None:
    assert "|".join(map(values.show, values.parse(text))) == shown


@pytest.mark.parametrize(
    ("prim", "text", "shown"),
    [
        ("i8", "0xff -128", "-1i8|-128i8"),
        ("i8", "256", ""),
        ("i8", "-129", ""),
        ("u8", "255 -255", "255u8|1u8"),
        ("u8", "256", ""),
        ("u8", "-256", ""),
        ("i64", "18446744073709551616", ""),
    ],
)
def test_a_number_without_type_fits_its_parameter(prim: Prim, text: str, shown: str) -> None:
    if shown:
        assert "|".join(map(values.show, values.parse(text, (prim, prim)))) == shown
        return
    with pytest.raises(UsageError, match="out of the range"):
        values.parse(text, (prim,))


LONG = ", ".join(["[1, 2]"] * 40)


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("[[1,2],\n [3]]", "2:2", "not regular"),
        (f"[[1], {LONG}]", "1:7", "not regular"),
        (f"[[[1, 2]], {LONG}]", "1:12", "not regular"),
        ("[1,2", "1:5", "Expected `,` or `]`"),
        ("[]", "1:1", "empty([0]i32)"),
        (f"[{'1, ' * 60}9999999999]", "1:182", "out of the range"),
        ("foo", "1:1", "Expected a value"),
        ("[1i32, 2i64]", "1:8", "different types"),
        ("[1i32 2i32]", "1:7", "Expected `,` or `]`"),
        (f"[{'1 2, ' * 30}3]", "1:4", "Expected `,` or `]`"),
        ("1.5i32", "1:1", "no integer"),
        ("[1,,2]", "1:4", "Expected a value"),
        ("[,]", "1:2", "Expected a value"),
        (f"[{'1, ' * 60},]", "1:182", "Expected a value"),
        (f"[{'1, ' * 60}, 1]", "1:182", "Expected a value"),
        (f"[, {'1, ' * 60} 1]", "1:2", "Expected a value"),
        ('1 "\\u0041"', "1:3", "`\\u` is not an escape sequence."),
        ("empty([2]i32)", "1:1", "size of 0"),
        ("empty([0]int)", "1:1", "no primitive type"),
        ("empty([9223372036854775808]i64)", "1:1", "size of 0"),
        ("empty([0][9223372036854775808]i64)", "1:1", "too large"),
        ("empty([0][4294967296][4294967296]i8)", "1:1", "too large"),
        (f"empty([0][{'9' * 5000}]i64)", "1:1", "too large"),
        (f"empty({'[0]' * 65}i64)", "1:1", "64 dimensions"),
        (f"{'[' * 65}1", "1:65", "64 dimensions"),
        ("[" * 100_000, "1:65", "64 dimensions"),
        ("9" * 5000, "1:1", "5000 digits"),
        (f"0x{'f' * 5000}u8", "1:1", "5000 digits"),
        (f"[{'1, ' * 60}{'9' * 5000}]", "1:182", "5000 digits"),
        ("9" * 500, "1:1", "out of the range"),
        ('1 "\\xd800"', "1:3", "surrogate"),
        ("0x", "1:1", "Expected a value"),
        ("0x_", "1:1", "Expected a value"),
        ("\u0663", "1:1", "Expected a value"),
        (f"[{'1, ' * 60}1i323]", "1:182", "Expected a value"),
        (f"[{'1, ' * 60}1 2i32]", "1:184", "Expected `,` or `]`"),
        (f"[{'true, ' * 60}1]", "1:362", "different types"),
        (f"[{'1.5, ' * 60}.5]", "1:302", "Expected a value"),
        (f"[{'1.5, ' * 60}1f64.5]", "1:302", "Expected a value"),
        (f"[{'1.5, ' * 60}nan]", "1:302", "Expected a value"),
    ],
)
def test_errors_have_a_place(text: str, place: str, says: str) -> None:
    with pytest.raises(UsageError) as error:
        values.parse(text)
    assert error.value.span.position == f"input:{place}"
    assert says in error.value.message


@pytest.mark.parametrize(
    "data",
    [
        b"b",
        b"b\x02\x01 i32",
        b"b\x02\x01 i32" + b"\x09" + b"\0" * 9,
        b"b\x07\x00 i32\0\0\0\0",
        b"b\x02\x01 i99" + b"\0" * 8,
    ],
)
def test_bad_binary_is_refused(data: bytes) -> None:
    with pytest.raises(UsageError):
        values.from_bytes(data)


LARGE = [[0, 2**63], [0, 2**64 - 1], [2**32, 0, 2**32], [0, 2**60], [0] * 65]


@pytest.mark.parametrize("shape", LARGE)
def test_large_sizes_beside_a_zero_are_refused_in_both_notations(shape: list[int]) -> None:
    text = f"empty({''.join(f'[{size}]' for size in shape)}i64)"
    data = (
        b"b\x02" + bytes([len(shape)]) + b" i64" + b"".join(n.to_bytes(8, "little") for n in shape)
    )
    for read, given_input in ((values.parse, text), (values.from_bytes, data)):
        with pytest.raises(InputError, match=r"too large|dimensions"):
            read(given_input)


def test_large_sizes_beside_a_zero_that_fit_are_read() -> None:
    text = "empty([0][1152921504606846975]i64)"
    (found,) = values.parse(text)
    assert found.shape == (0, 2**60 - 1)
    (again,) = values.from_bytes(values.to_binary([found]))
    assert values.show(again) == text


def test_a_number_beyond_all_floats_is_infinite() -> None:
    (low, high) = values.parse(f"-{'9' * 500}f64 0x{'f' * 500}", ("f64", "f64"))
    assert values.show(low), values.show(high) == ("-f64.inf", "f64.inf")


def test_leading_zeros_are_no_digits() -> None:
    assert values.show(values.parse("0" * 5000 + "7")[0]) == "7i32"


def test_a_bool_is_zero_or_not() -> None:
    (found,) = values.from_bytes(b"b\x02\x01bool\x03" + b"\0" * 7 + b"\x00\x01\x02")
    assert found.tobytes() == b"\0\1\1"


def test_either_format() -> None:
    given_values = values.parse("[1,2] 3f32")
    for data in (b" [1, 2] 3f32", values.to_binary(given_values)):
        assert all(map(same, values.from_bytes(data), given_values))
    with pytest.raises(UsageError, match="UTF-8"):
        values.from_bytes(b"\xff\xfe")


def test_a_million_elements_take_no_minute() -> None:
    array = np.arange(300_000, dtype=np.int64).reshape(1000, 300) - 1000
    (found,) = values.parse(values.show(array))
    assert same(found, array)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(list(DTYPE.values())).flatmap(
        lambda dtype: hnp.arrays(
            dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=40)
        )
    ),
    st.integers(0, 2000),
)
def test_the_beginning_of_a_value_keeps_its_shape(value: Any, most: int) -> None:
    text = values.beginning(value, most)
    whole = values.show(value)
    if len(whole) <= most:
        assert text == whole
    assert len(text) <= max(most, 80 * value.ndim + 40)
    if value.size:
        assert stands_for(text, np.asarray(value)) == ""


def stands_for(text: str, value: Any) -> str:
    """Reads the text of a value, or of the beginning of one; answers what follows it."""
    if not value.ndim:
        literal = values.show(value[()])
        assert text.startswith(literal), (text[:40], literal)
        return text.removeprefix(literal)
    assert text[0] == "["
    rest, read = text[1:], 0
    while read < len(value):
        rest = stands_for(rest, value[read])
        read += 1
        if rest.startswith(", … and "):
            number, rest = rest.removeprefix(", … and ").split(" more]", 1)
            assert int(number) == len(value) - read > 0
            return rest
        rest = rest.removeprefix(", ") if read < len(value) else rest
    assert rest[0] == "]"
    return rest[1:]


def test_a_part_is_cut_alike_in_all_dimensions() -> None:
    value = np.arange(60_000, dtype=np.int32).reshape(200, 300)
    text = values.beginning(value, 1000)
    assert text.startswith("[[0i32, 1i32, 2i32, ")
    assert text.split("]")[0].endswith(", … and 291 more")
    assert text.endswith(", … and 291 more], … and 191 more]")
    assert 700 < len(text) <= 1000


ONE = values.to_binary([np.array([1, 2, 3], np.int32)])
SEVEN = values.to_binary([np.int32(7)])


@pytest.mark.parametrize(
    "data",
    [
        ONE + b"\n \n" + SEVEN + b"\n\n",
        ONE + b"-- a comment, b\x02\n" + SEVEN + b" -- another",
        ONE + b" 7i32\n",
        ONE + b"7",
        b"[1, 2, 3]" + SEVEN,
        b"-- b\x02\n[1,2,3,] -- x\n" + SEVEN,
    ],
)
def test_notations_may_be_mixed(data: bytes) -> None:
    assert "|".join(map(values.show, values.from_bytes(data))) == "[1i32, 2i32, 3i32]|7i32"


def test_a_binary_value_is_found_by_its_place_alone() -> None:
    found = values.from_bytes(b'"b\x02" [' + SEVEN + b"," + SEVEN + b"]")
    assert "|".join(map(values.show, found)) == "[98u8, 2u8]|[7i32, 7i32]"
    for data in (b"\x02 " + SEVEN, SEVEN + b" \x02", ONE + b" hello", ONE + b"b\x01"):
        with pytest.raises(InputError):
            values.from_bytes(data)


# --- NumPy's format --------------------------------------------------------------------------


def npy(array: Any, version: tuple[int, int] = (1, 0)) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array), version)
    return file.getvalue()


@settings(max_examples=100, deadline=None)
@given(ARRAYS, st.booleans(), st.sampled_from([(1, 0), (2, 0)]), st.sampled_from("<>"))
def test_npy_files_read_back(array: Any, by_columns: bool, version: Any, order: str) -> None:
    stored = np.asarray(array, order="F" if by_columns else "C")
    data = npy(stored.astype(stored.dtype.newbyteorder(order)), version)
    (found,) = values.from_bytes(data)
    assert same(found, array)
    assert values.prim_of(found) == values.prim_of(array)


MATRIX = npy(np.zeros((2, 3), np.float32))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (MATRIX[:-1], "The file ends early: 6 elements of type f32 are 24 bytes, and 23 are there"),
        (MATRIX + b"\0", "goes on behind its array"),
        (MATRIX.replace(b"(2, 3)", b"(2,-3)"), "has the shape [2, -3]: no size is negative"),
        (MATRIX.replace(b"(2, 3), }       ", b"(1000000000,), }"), "ends early"),
        (MATRIX.replace(b"(2, 3), }    ", b"(2**40, 9), }"), "no array in NumPy's format"),
        (MATRIX[:9], "no array in NumPy's format"),
        (MATRIX[:40], "no array in NumPy's format"),
        (MATRIX.replace(b"'<f4'", b"'<c8'"), "complex64, which the language does not have"),
        (MATRIX.replace(b"'<f4'", b"'|O8'"), "object, which the language does not have"),
        (MATRIX.replace(b"'<f4'", b"'<U1'"), "<U1, which the language does not have"),
        (npy(np.zeros(1, np.longdouble)), "which the language does not have"),
    ],
)
def test_what_is_wrong_with_an_npy_file(data: bytes, said: str) -> None:
    with pytest.raises(InputError) as error:
        values.from_bytes(data)
    assert said in error.value.message


def test_files_of_old_writers_are_read_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    (found,) = values.from_bytes(MATRIX.replace(b"(2, 3), }  ", b"(2L, 3L), }"))
    assert found.shape == (2, 3)
    assert not recwarn.list
