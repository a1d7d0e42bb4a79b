"""Parse values in Futhark's text notation.

A long array of plain numbers is parsed by NumPy at once, after its bracket structure was compared
with that of a regular array; everything else, and every error, by recursive descent.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NoReturn, cast

import numpy as np
import numpy.typing as npt

from compiler.base.dtypes import DTYPE
from compiler.base.errors import InputError
from compiler.base.prim import INTS, PRIMS, Prim, int_range
from compiler.base.spans import INPUT, Span
from compiler.frontend.characters import unescaped

_SKIP = re.compile(r"\s*")
_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|--[^\n]*')
_NUMBER = re.compile(
    r"([+-]?)(0[xX][0-9a-fA-F][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]+)?(?:[pP][+-]?[0-9]+)?|0[bB][01][01_]*"
    r"|(?:[0-9][0-9_]*)(?:\.[0-9][0-9_]*)?(?:[eE][+-]?[0-9]+)?)"
    r"((?:[iu](?:8|16|32|64)|f(?:16|32|64))?)(?![\w.])"
)
_SPECIAL = re.compile(r"([+-]?)(f16|f32|f64)\.(nan|inf)(?!\w)")
_WORD = re.compile(r"true(?!\w)|false(?!\w)")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_EMPTY = re.compile(r"empty\s*\(\s*((?:\[\s*[0-9]+\s*\]\s*)+)(\w+)\s*\)")
_FIRST = re.compile(
    r"[\s\[]*[+-]?(?:0[xX][0-9a-fA-F_]+(?P<hex>[iu](?:8|16|32|64))?"
    r"|(?:[0-9.eE_+-]*?|0[bB][01_]+)(?P<other>(?:[iu]|f)(?:8|16|32|64))?(?:\.nan|\.inf)?)[\s,\]]"
)
_HEX_FLOAT = re.compile("[.pP]")
_HEX = re.compile(r"0[xX][0-9a-fA-F_]+")
_SHORT = 64
"""Length in characters below which the fast path does not pay."""
_MOST_DIGITS = 1100
"""Maximum digits of an integer: those of the largest f64 in base 2, and some."""
_MOST_RANK = 64
"""Maximum rank; NumPy supports no more."""
_MOST_BYTES = (1 << 63) - 1

BINARY = "\x02"
"""Placeholder in a text for a value in the binary format."""

Value = np.generic | npt.NDArray[np.generic]


def shape_problem(shape: Sequence[int], prim: Prim) -> str:
    """Return why no array can have these sizes, as a sentence; empty if one can.

    Sizes beside a 0 count as well: offsets are computed from them.
    """
    if len(shape) > _MOST_RANK:
        return f"An array has at most {_MOST_RANK} dimensions, and this one has {len(shape)}."
    if math.prod(size for size in shape if size) * DTYPE[prim].itemsize > _MOST_BYTES:
        return "The sizes of this array are too large: their product does not fit into an i64."
    return ""


class ValueReader:
    """A cursor in a text; `binary` maps offsets of BINARY to values."""

    def __init__(
        self, text: str, prims: Sequence[Prim] = (), binary: Mapping[int, Value] | None = None
    ) -> None:
        if "--" in text:
            text = _COMMENT.sub(lambda m: m[0] if m[0][0] == '"' else " " * len(m[0]), text)
        self.text = text
        self.at = 0
        self.prims = prims
        self.binary = binary or {}
        self.default: Prim | None = None

    def values(self) -> list[Value]:
        """Parse all values up to the end."""
        found: list[Value] = []
        self._skip()
        while self.at < len(self.text):
            self.default = self.prims[len(found)] if len(found) < len(self.prims) else None
            found.append(self._value())
            self._skip()
        return found

    # --- errors ------------------------------------------------------------------------------

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """Raise an error at an offset, or here."""
        raise self.error(message, at)

    def error(self, message: str, at: int | None = None) -> InputError:
        """Make an error at an offset, or here."""
        at = self.at if at is None else at
        line = self.text.count("\n", 0, at) + 1
        col = at - (self.text.rfind("\n", 0, at) + 1) + 1
        return InputError(message, Span(line, col, line, col + 1, INPUT))

    def _found(self) -> str:
        word = re.match(r"[\w.+-]+|.", self.text[self.at : self.at + 40], re.DOTALL)
        return f"`{word[0]}`" if word else "the end of the input"

    # --- the descent -------------------------------------------------------------------------

    def _skip(self) -> None:
        found = _SKIP.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _value(self) -> Value:
        if not self.text.startswith("[", self.at):
            return self._scalar()
        end = self._matching_bracket()
        piece = self.text[self.at : end]
        first = _FIRST.match(piece)
        prim = self._prim_of_piece(piece, first["hex"] or first["other"] if first else None)
        if end - self.at >= _SHORT and prim is not None:
            fast = _plain_array(piece, prim)
            if fast is not None:
                self.at = end
                return fast
        self.default = prim
        return self._array()

    def _array(self, rank: int = 1) -> Value:
        """Parse an array element by element; `rank` counts its open brackets."""
        start = self.at
        if rank > _MOST_RANK:
            self.fail(f"An array has at most {_MOST_RANK} dimensions.")
        self.at += 1
        self._skip()
        if self.text.startswith("]", self.at):
            self.fail("An empty array needs a type: write `empty([0]i32)`.", start)
        rows: list[Value] = []
        while not self.text.startswith("]", self.at):
            where = self.at
            row = self._array(rank + 1) if self.text.startswith("[", self.at) else self._scalar()
            if rows and row.dtype != rows[0].dtype:
                names = f"{_prim(rows[0])} and {_prim(row)}"
                self.fail(f"The elements of an array have different types, {names}.", where)
            if rows and row.shape != rows[0].shape:
                self.fail(
                    f"The array is not regular: a row of shape {list(row.shape)} follows one of"
                    f" shape {list(rows[0].shape)}.",
                    where,
                )
            rows.append(row)
            self._skip()
            if self.text.startswith(",", self.at):
                self.at += 1
                self._skip()
            elif not self.text.startswith("]", self.at):
                self.fail(f"Expected `,` or `]`, found {self._found()}.")
        self.at += 1
        return np.array(rows, dtype=rows[0].dtype)

    def _scalar(self) -> Value:
        """Parse a value that is not written with brackets."""
        text = self.text
        if self.at in self.binary:
            self.at += 1
            return self.binary[self.at - 1]
        if word := _WORD.match(text, self.at):
            self.at = word.end()
            return np.bool_(word[0] == "true")
        if special := _SPECIAL.match(text, self.at):
            self.at = special.end()
            value = math.nan if special[3] == "nan" else math.inf
            return DTYPE[cast(Prim, special[2])].type(-value if special[1] == "-" else value)
        if empty := _EMPTY.match(text, self.at):
            return self._empty(empty)
        if string := _STRING.match(text, self.at):
            self.at = string.end()
            return self._string(string[0], string.start())
        if number := _NUMBER.match(text, self.at):
            return self._number(number)
        raise self.error(f"Expected a value, found {self._found()}.")

    def _empty(self, found: re.Match[str]) -> Value:
        if found[2] not in PRIMS:
            self.fail(f"There is no primitive type `{_cut(found[2])}`.")
        prim = cast(Prim, found[2])
        sizes = [size.lstrip("0") or "0" for size in re.findall(r"[0-9]+", found[1])]
        shape = tuple(int(size) if len(size) < 20 else _MOST_BYTES + 1 for size in sizes)
        if 0 not in shape:
            self.fail("An `empty` array needs a size of 0.")
        if problem := shape_problem(shape, prim):
            self.fail(problem)
        self.at = found.end()
        return np.empty(shape, DTYPE[prim])

    def _string(self, quoted: str, at: int) -> Value:
        try:
            data = unescaped(quoted[1:-1]).encode("utf-8")
        except UnicodeEncodeError:
            self.fail("Half of a surrogate pair is no character.", at)
        except ValueError as error:
            self.fail(str(error), at)
        return np.frombuffer(data, np.uint8).copy()

    def _number(self, found: re.Match[str]) -> Value:
        """Parse a number; one with an integer suffix wraps, as in Futhark.

        Tests rely on that: `32767i8` is the conversion of 32767 to i8. A number typed by its
        parameter has to fit, except `-1` as an unsigned and `0xff` as a signed one.
        """
        sign, digits, suffix = found[1], found[2].replace("_", ""), found[3]
        start = self.at
        base = {"0x": 16, "0b": 2}.get(digits[:2].lower(), 10)
        whole = digits.isdigit() if base == 10 else base == 2 or not _HEX_FLOAT.search(digits)
        default = self.default if self.default in PRIMS and self.default != "bool" else None
        if default in INTS and not whole:
            default = None
        prim = cast(Prim, suffix or default or ("i32" if whole else "f64"))
        if whole:
            digits = (digits if base == 10 else digits[2:]).lstrip("0") or "0"
            if len(digits) > _MOST_DIGITS:
                self.fail(f"This number has {len(digits)} digits: no type holds it.", start)
        if prim not in INTS:
            number = _float(digits, base, whole)
            self.at = found.end()
            with np.errstate(over="ignore"):
                return DTYPE[prim].type(-number if sign == "-" else number)
        if not whole:
            self.fail(f"`{_cut(found[0])}` is no integer.")
        value = int(digits, base) * (-1 if sign == "-" else 1)
        low, high = int_range(prim)
        if not suffix and not (low or -high) <= value <= (2 * high + 1 if low else high):
            said = f"`{_cut(found[0])}` is out of the range of {prim}, {low} to {high}."
            self.fail(said, start)
        value = (value - low) % (high - low + 1) + low
        self.at = found.end()
        return DTYPE[prim].type(value)

    # --- which way ---------------------------------------------------------------------------

    def _prim_of_piece(self, piece: str, suffix: str | None) -> Prim | None:
        if suffix:
            return suffix if suffix in PRIMS else None
        head = piece[:4096]
        if "true" in head or "false" in head:
            return "bool"
        decimal = _HEX.sub("0", piece) if "x" in head or "X" in head else piece
        whole = not any(c in decimal for c in ".eEpP")
        if (
            self.default is not None
            and self.default != "bool"
            and (whole or self.default[0] == "f")
        ):
            return self.default
        return "i32" if whole else "f64"

    def _matching_bracket(self) -> int:
        """Return the offset after the matching bracket, or of the end."""
        depth = 0
        for bracket in _BRACKETS.finditer(self.text, self.at):
            depth += 1 if bracket[0] == "[" else -1
            if depth == 0:
                return bracket.end()
        return len(self.text)


_BRACKETS = re.compile(r"[\[\]]")
_TRAILING = re.compile(r",\s*\]")
_NO_STRUCTURE = bytes(set(range(256)) - set(b"[],"))


def _plain_array(piece: str, prim: Prim) -> Value | None:
    """Parse a regular array of plain numbers of one type; None if the descent must look."""
    if _TRAILING.search(piece):
        piece = _TRAILING.sub("]", piece)
    shape = _shape(piece) if piece.isascii() else None
    if shape is None:
        return None
    flat = _numbers(piece, prim, math.prod(shape))
    return None if flat is None else flat.reshape(shape)


def _shape(piece: str) -> tuple[int, ...] | None:
    """Return the shape of the bracket structure; None if it is irregular."""
    structure = piece.encode("ascii").translate(None, _NO_STRUCTURE)
    rank = len(structure) - len(structure.lstrip(b"["))
    inner = structure[rank:].split(b"]", 1)[0]
    row = b"[" + inner + b"]"
    sizes = [len(inner) + 1]
    if inner.strip(b","):
        return None
    for depth in range(rank - 1, 0, -1):
        # After the first row at this depth follow `,` and another row, or the closing bracket.
        start = structure[depth - 1 :]
        found = start.find(row + b"]")
        if found < 0:
            return None
        count = (found - 1) // (len(row) + 1) + 1
        sizes.insert(0, count)
        row = b"[" + b",".join([row] * count) + b"]"
    return tuple(sizes) if row == structure else None


@cache
def _plain(prim: Prim) -> re.Pattern[str]:
    """Match plain numbers of that type, one comma between two, regardless of brackets.

    NumPy must see no other text: 2.4.6 reads a blank cell as a number
    (findings/numpy-fromstring-blank-cells.sh).
    """
    if prim == "bool":
        number = "(?:true|false)"
    elif prim[0] == "f":
        digits = rf"[0-9]++(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+(?:{prim})?+"
        number = rf"[+-]?(?:{digits}|{prim}\.(?:nan|inf))"
    else:
        number = rf"[+-]?[0-9]++(?:{prim})?+"
    cell = rf"[\[\s]*+{number}[\]\s]*+"
    return re.compile(f"{cell}(?:,{cell})*+")


def _numbers(piece: str, prim: Prim, count: int) -> npt.NDArray[np.generic] | None:
    """Parse exactly `count` numbers of that type, or return None."""
    if not _plain(prim).fullmatch(piece):
        return None
    plain = piece.replace("[", " ").replace("]", " ")
    if prim == "bool":
        plain = plain.replace("true", "1").replace("false", "0")
    else:
        plain = plain.replace(f"{prim}.", "").replace(prim, "")
    wide = np.float64 if prim[0] == "f" else np.uint64 if prim == "u64" else np.int64
    if prim[0] == "u" and "-" in plain:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            flat: npt.NDArray[np.generic] = np.fromstring(plain, dtype=wide, sep=",")
        except (DeprecationWarning, ValueError):
            return None
    if flat.size != count:
        return None
    if prim[0] == "f":
        with np.errstate(over="ignore"):
            return flat.astype(DTYPE[prim])
    low, high = (0, 1) if prim == "bool" else int_range(prim)
    if prim in ("i64", "u64"):
        # A value at the edge of the range may have been clipped.
        fits = high not in flat and (prim == "u64" or low not in flat)
    else:
        fits = flat.min() >= low and flat.max() <= high
    return flat.astype(DTYPE[prim]) if fits else None


def _float(digits: str, base: int, whole: bool) -> float:
    """Parse a number that is not negative; infinity if too large."""
    try:
        if base == 10:
            return float(digits)
        return float(int(digits, base)) if whole else float.fromhex(digits)
    except OverflowError:
        return math.inf


def _cut(text: str) -> str:
    """Shorten a word for an error message."""
    return text if len(text) <= 60 else f"{text[:60]}.."


def _prim(value: Value) -> str:
    return next(prim for prim, dtype in DTYPE.items() if dtype == value.dtype)
