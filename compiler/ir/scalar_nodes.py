"""Types and scalar expressions of the core language; `nodes.py` re-exports these and adds the rest.

`CORE` is the dialect: every node class is registered with it. Scalar expressions are printed by
`show_scalar.py`, with infix operators; all other expressions have a format line.
"""

from __future__ import annotations

from typing import Literal

from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.base.dataclass import KeepsHash, dataclass
from compiler.base.names import Name
from compiler.base.prim import COMPARE_OPS, Prim, alike, fun_result
from compiler.dialect.table import Dialect
from compiler.ir.fails import Fails

CORE = Dialect("the core language", blocks=frozenset(("Body", "Lambda", "KernelBody")))
"""The nodes of the core language."""
for _cls in (Lmad, Dim):
    CORE.node()(_cls)

# --- types -----------------------------------------------------------------------------------


@CORE.node()
@dataclass(frozen=True, slots=True)
class Scalar:
    """A value of a primitive type."""

    prim: Prim


@CORE.node()
@dataclass(frozen=True, slots=True)
class MemBind:
    """Memory binding of an array: element `i` is cell `lmad(i)` of `block`, in elements."""

    block: Name
    lmad: Lmad[Poly]

    def row(self, *indices: Poly) -> MemBind:
        """Return the sub-array at the given indices of the first dimensions."""
        return MemBind(self.block, self.lmad.fix(*indices))

    def rows(self, start: Poly, count: Poly) -> MemBind:
        """Return `count` rows from `start` on."""
        return MemBind(self.block, self.lmad.slice(0, start, count, Poly.const(1)))


@CORE.node()
@dataclass(frozen=True, slots=True)
class Array:
    """A regular array of primitives, `rank >= 1`; `mem` is None before memory is introduced."""

    prim: Prim
    shape: tuple[Poly, ...]
    mem: MemBind | None = None

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)


Space = Literal["device", "shared", "private"]
"""Global memory (the CPU's main memory), a GPU block's shared memory, or a thread's own."""


@CORE.node()
@dataclass(frozen=True, slots=True)
class Mem:
    """A block of memory that holds elements of one primitive type."""

    prim: Prim
    space: Space = "device"


Type = Scalar | Array | Mem

_COMPARE = frozenset(COMPARE_OPS)
I64 = Scalar("i64")
BOOL = Scalar("bool")


@CORE.node(binds={"name": "type"})
@dataclass(frozen=True, slots=True)
class Param:
    """A name with its type; `unique` (parameters of functions and loops only): may be consumed."""

    name: Name
    type: Type
    unique: bool = False


# --- scalar expressions ----------------------------------------------------------------------


@CORE.node(fails=Fails.NEVER)
@dataclass(frozen=True, slots=True)
class Lit:
    """A literal; floats are Python floats (f16 and f32 already rounded). -0.0 is not 0.0."""

    value: int | float | bool
    prim: Prim

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lit) and self.prim == other.prim and alike(self.value, other.value)


ZERO, ONE = Lit(0, "i64"), Lit(1, "i64")
TRUE, FALSE = Lit(True, "bool"), Lit(False, "bool")


@CORE.node(fails=Fails.NEVER)
@dataclass(frozen=True, slots=True)
class Var:
    """A scalar variable with its type."""

    name: Name
    prim: Prim


@CORE.node(fails=Fails.NEVER)
@dataclass(frozen=True, slots=True)
class Bin(KeepsHash):
    """`op` of `prim.BIN_OPS` at type `at`; comparisons give bool; `&&` and `||` are lazy.

    Integer division and remainder by zero are undefined: an `Assert` or a guard stands before them.
    """

    op: str
    at: Prim
    lhs: SE
    rhs: SE

    @property
    def prim(self) -> Prim:
        """Result type."""
        return "bool" if self.op in _COMPARE else self.at

    @property
    def operator(self) -> str:
        """Short name of the operation."""
        return self.op


@CORE.node(fails=Fails.NEVER)
@dataclass(frozen=True, slots=True)
class Un(KeepsHash):
    """`op` of `prim.UN_OPS` on type `at`."""

    op: str
    at: Prim
    arg: SE

    @property
    def prim(self) -> Prim:
        """Result type."""
        return self.at

    @property
    def operator(self) -> str:
        """Short name of the operation."""
        return self.op


@CORE.node(fails=Fails.NEVER)
@dataclass(frozen=True, slots=True)
class Conv(KeepsHash):
    """Conversion between primitive types.

    A float is rounded towards zero to an i32 (to an i64 for a result of 64 bits), whose bits give
    the result; u32 and u64 also represent larger values. Values that do not fit give the lowest i32
    or i64; NaN and infinities give 0.
    """

    src: Prim
    dst: Prim
    arg: SE

    @property
    def prim(self) -> Prim:
        """Result type."""
        return self.dst

    @property
    def operator(self) -> str:
        """Short name of the operation, as in the text form."""
        return f"{self.dst}.{self.src}"


@CORE.node(fails=Fails.NEVER)
@dataclass(frozen=True, slots=True)
class Fun(KeepsHash):
    """A function of `prim.FUNS` at type `at`."""

    fun: str
    at: Prim
    args: tuple[SE, ...]

    @property
    def prim(self) -> Prim:
        """Result type."""
        return fun_result(self.fun, self.at)

    @property
    def operator(self) -> str:
        """Short name of the operation."""
        return self.fun


@CORE.node(fails=Fails.NEVER)
@dataclass(frozen=True, slots=True)
class Select(KeepsHash):
    """`then` if `cond` else `orelse`; only the chosen one is evaluated."""

    cond: SE
    then: SE
    orelse: SE

    @property
    def prim(self) -> Prim:
        """Result type."""
        return self.then.prim

    @property
    def operator(self) -> str:
        """Short name of the operation."""
        return "select"


SE = Lit | Var | Bin | Un | Conv | Fun | Select
SE_NODES = (Lit, Var, Bin, Un, Conv, Fun, Select)

Operand = SE | Name
"""A result, argument or initial value: a scalar expression, or the name of an array or block."""
