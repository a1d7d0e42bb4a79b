"""Array operations of the core language: indices, views, updates, and constructors."""

from __future__ import annotations

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.ir.fails import Fails
from compiler.ir.scalar_nodes import CORE, SE, Operand


@CORE.node()
@dataclass(frozen=True, slots=True)
class DimFix:
    """A single position."""

    at: SE

    @property
    def start(self) -> SE:
        """The position."""
        return self.at

    @property
    def counts(self) -> tuple[Poly, ...]:
        """No sizes: the dimension disappears."""
        return ()

    @property
    def strides(self) -> tuple[SE, ...]:
        """No strides: the dimension disappears."""
        return ()


@CORE.node()
@dataclass(frozen=True, slots=True)
class DimSlice:
    """`count` positions from `start` on, `stride` apart (any sign)."""

    start: SE
    count: Poly
    stride: SE

    @property
    def counts(self) -> tuple[Poly, ...]:
        """Size of the remaining dimension."""
        return (self.count,)

    @property
    def strides(self) -> tuple[SE, ...]:
        """Stride of the remaining dimension."""
        return (self.stride,)


@CORE.node()
@dataclass(frozen=True, slots=True)
class DimLmad:
    """The positions of an LMAD, `start + {(counts_0 : strides_0), ..}`, at least two dimensions.

    The indexed dimension is replaced by those of the LMAD (thesis, section 3.3). In an `Update` no
    position may occur twice; where that is not evident, an `Assert` precedes it.
    """

    start: SE
    counts: tuple[Poly, ...]
    strides: tuple[SE, ...]


DimIndex = DimFix | DimSlice | DimLmad
"""Has a `start` (i64), and one of `counts` and `strides` per resulting dimension."""


@CORE.node("{array}[{at:index}]", fails=Fails.OUTSIDE)
@dataclass(frozen=True, slots=True)
class Index:
    """Scalar `array[at..]`, all dimensions given."""

    array: Name
    at: tuple[SE, ...]


@CORE.node("{array}[{dims}]", fails=Fails.OUTSIDE, views="array")
@dataclass(frozen=True, slots=True)
class Slice:
    """A view of `array`: one `DimIndex` per dimension, at least one not a `DimFix`."""

    array: Name
    dims: tuple[DimIndex, ...]


@CORE.node("{array} with [{dims}] = {value}", fails=Fails.OUTSIDE, overwrites="array")
@dataclass(frozen=True, slots=True)
class Update:
    """`array with [dims] = value`; consumes `array`, whose memory becomes the result's.

    One `DimIndex` per dimension; all `DimFix`: `value` is a scalar expression.
    """

    array: Name
    dims: tuple[DimIndex, ...]
    value: Operand


@CORE.node("rearrange(({perm}), {array})", fails=Fails.NEVER, views="array")
@dataclass(frozen=True, slots=True)
class Rearrange:
    """Dimension `i` of the result is dimension `perm[i]` of `array`; a view."""

    perm: tuple[int, ...]
    array: Name


@CORE.node("reshape({shape:shape}, {array})", fails=Fails.COUNT, views="array")
@dataclass(frozen=True, slots=True)
class Reshape:
    """Same elements in row-major order under a shape of equal product; a view if possible."""

    shape: tuple[Poly, ...]
    array: Name


@CORE.node("copy({array})", fails=Fails.NEVER)
@dataclass(frozen=True, slots=True)
class Copy:
    """A fresh copy."""

    array: Name


@CORE.node("concat({arrays})", fails=Fails.NEVER, called="the concatenation")
@dataclass(frozen=True, slots=True)
class Concat:
    """Arrays concatenated along dimension 0."""

    arrays: tuple[Name, ...]


@CORE.node(
    "iota({count}, {start}, {step})",
    finds={"prim": "prim_of start"},
    fails=Fails.SIZE,
    called="the range",
)
@dataclass(frozen=True, slots=True)
class Iota:
    """Elements `start + i*step` for `i < count`, of an integer type."""

    count: Poly
    start: SE
    step: SE
    prim: Prim


@CORE.node("replicate({shape:shape}, {value})", fails=Fails.SIZE, called="the replication")
@dataclass(frozen=True, slots=True)
class Replicate:
    """`value` (a scalar, or an array that becomes the inner dimensions) repeated over `shape`."""

    shape: tuple[Poly, ...]
    value: Operand


@CORE.node("scratch({shape:shape}{prim})", fails=Fails.SIZE)
@dataclass(frozen=True, slots=True)
class Scratch:
    """An uninitialised array; every element is written before it is read."""

    prim: Prim
    shape: tuple[Poly, ...]


@CORE.node("[{elems}]", fails=Fails.NEVER, called="the array literal")
@dataclass(frozen=True, slots=True)
class ArrayLit:
    """`[a, b]` along dimension 0; elements are scalars, or names of arrays of one type."""

    elems: tuple[Operand, ...]
