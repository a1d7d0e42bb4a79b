"""CUDA kernels: the kernel IR as `__global__` functions."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.base.names import Name
from compiler.base.prim import BYTES, Prim
from compiler.base.spans import Prov
from compiler.codegen.c.stms import Statements, Writer
from compiler.codegen.c.types import C_TYPE, c_name
from compiler.codegen.imp.nodes import Alloc, Assert, For, Load, Store
from compiler.codegen.index import product
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.walk import statements
from compiler.ir.nodes import SE, Bin, Lit, Var
from compiler.ir.sizes import prim_of

IDS = {
    k.THREAD: "threadIdx.x",
    k.BLOCK: "blockIdx.x",
    k.THREADS: "THREADS",
    k.PLACE: "(int64_t)blockIdx.x * THREADS + threadIdx.x",
}
_ATOMIC = {"+": "atomicAdd", "min": "atomicMin", "max": "atomicMax", "&": "atomicAnd"}
_ATOMIC |= {"|": "atomicOr", "^": "atomicXor"}
_WORDS: tuple[Prim, ...] = ("i32", "i64", "u32", "u64")
ATOMICS: frozenset[tuple[str, Prim]] = frozenset(
    [*((op, prim) for op in _ATOMIC for prim in _WORDS), ("+", "f32"), ("+", "f64")]
)
"""The operators that the GPU has instructions for."""


class DeviceCode(Statements):
    """Prints kernels. A failed check jumps to `label`, or leaves the kernel where there is none."""

    label = ""
    labels = 0
    constant: Mapping[str, frozenset[Name]]
    """The blocks that kernels only read, by the kernels' names."""
    volatile = False

    def launched(self, kernel: k.Kernel, host: Writer) -> None:
        """A kernel's function, which came from what its launch came from."""
        self.src, self.node = host.src, host.node
        self.function(kernel)

    def function(self, kernel: k.Kernel) -> None:
        """`extern "C" __global__ void name(parameters) { .. }`."""
        shown = [
            self.block(a, kernel)
            if a.block
            else f"const {self.cell_type(a.prim)} {self.parameter(a)}"
            for a in kernel.params
        ]
        params = ", ".join([*shown, "int64_t *failure"])
        self.scalars.names = IDS
        self.line("")
        self.open(f'extern "C" __global__ void {kernel.name}({params}) {{')
        for a in kernel.params:
            if not a.block and a.prim == "f16":
                self.line(f"const float {c_name(a.name)} = half_to_float({self.parameter(a)});")
        self.line(f"if ({self.failed_before(kernel)}) return;")
        self.stms(kernel.body)
        self.close()

    def block(self, a: k.Param, kernel: k.Kernel) -> str:
        """A block as a parameter."""
        kind = self.cell_type(a.prim)
        if a.name in self.constant.get(kernel.name, ()):
            return f"const {kind} *__restrict__ {c_name(a.name)}"
        return f"{kind} *{c_name(a.name)}"

    def failed_before(self, kernel: k.Kernel) -> str:
        """Whether a check has failed by now, so that what this kernel reads may be anything.

        One in this launch tells all threads of a block or none, where they wait for each other.
        """
        waits = any(isinstance(s, k.Barrier | k.Shuffle) for s in statements(kernel.body))
        flag = "*(volatile int64_t *)failure"
        return f"__syncthreads_or({flag} != 0)" if waits else flag

    def parameter(self, a: k.Param) -> str:
        """The name of a scalar parameter."""
        return f"{c_name(a.name)}_bits" if a.prim == "f16" else c_name(a.name)

    # --- cells -------------------------------------------------------------------------------

    def type(self, prim: Prim) -> str:
        """Halves are floats in registers."""
        return "float" if prim == "f16" else C_TYPE[prim]

    def cell_type(self, prim: Prim) -> str:
        """Halves are 16 bits in memory."""
        return "uint16_t" if prim == "f16" else C_TYPE[prim]

    def cell(self, stm: Load | Store | k.Fetch | k.Atomic | k.Exchange) -> str:
        """A cell; under a lock, one that others may have written."""
        text = f"{c_name(stm.block)}[{self.show(stm.at)}]"
        return f"*(volatile {self.cell_type(stm.prim)} *)&{text}" if self.volatile else text

    def value(self, stm: Load | k.Fetch) -> str:
        """The value of a cell."""
        return f"half_to_float({self.cell(stm)})" if stm.prim == "f16" else self.cell(stm)

    def load(self, stm: Load) -> None:
        """A cell's value."""
        self.line(f"const {self.type(stm.prim)} {c_name(stm.name)} = {self.value(stm)};")

    def fetch(self, stm: k.Fetch) -> None:
        """A cell's value in a variable."""
        self.line(f"{c_name(stm.name)} = {self.value(stm)};")

    def store(self, stm: Store) -> None:
        """A cell's next value."""
        value = self.show(stm.value)
        is_half = stm.prim == "f16"
        self.line(f"{self.cell(stm)} = {f'float_to_half({value})' if is_half else value};")

    def run_alloc(self, stm: Alloc) -> None:
        """A thread's own array, or one that a block of threads shares."""
        if stm.space != "shared":
            self.local_array(stm)
            return
        assert isinstance(stm.count, Lit)
        size = max(1, int(stm.count.value))
        self.line(f"__shared__ {self.cell_type(stm.prim)} {c_name(stm.name)}[{size}];")

    # --- control -----------------------------------------------------------------------------

    def fail(self, call: str) -> None:
        """Report, then leave the point or the kernel; nobody waits for a lock for ever."""
        self.line(f"ss_fail(failure, {call});")
        if self.volatile:
            self.line("atomicExch(lock, 0);")
        self.line(f"goto {self.label};" if self.label else "return;")

    def site(self, prov: Prov, message: tuple[str | SE, ...]) -> str:
        """The number of a check and the values it shows."""
        self.sites.append((prov, message))
        values = [self.bits(p) for p in message if not isinstance(p, str)][:8]
        return ", ".join([str(len(self.sites) - 1), *values])

    def bits(self, value: SE) -> str:
        """A value as 64 bits."""
        if prim_of(value)[0] == "f":
            return f"ss_bits({self.show(value)})"
        return f"(int64_t){self.scalars.atom(value)}"

    def scope(self, stm: k.Scope) -> None:
        """Braces; jumps to the end of a point may not pass declarations, which end with them."""
        if not stm.point:
            self.nested("{", stm.body)
            return
        kept = self.label
        self.labels += 1
        self.label = f"next_{self.labels}"
        if any(isinstance(inner, Assert) for inner in statements(stm.body)):
            self.nested("{", stm.body)
            self.line(f"{self.label}:;")
        else:
            self.stms(stm.body)
        self.label = kept

    def leave(self, stm: k.Exit) -> None:
        """The end of a thread."""
        self.line(f"if ({self.show(stm.cond)}) return;")

    def indices(self, stm: k.Indices) -> None:
        """Quotients and remainders."""
        rest = flat = self.scalars.within(stm.flat, 10) if stm.dims[1:] else self.show(stm.flat)
        for at in range(len(stm.dims) - 1, 0, -1):
            index, size = c_name(stm.dims[at][0]), self.scalars.within(stm.dims[at][1], 11)
            self.line(f"const int64_t {index} = {rest} % {size};")
            size = self.scalars.within(product([s for _, s in stm.dims[at:]]), 11)
            rest = f"{flat} / {size}"
        self.line(f"const int64_t {c_name(stm.dims[0][0])} = {rest};")

    def loop_pragma(self, stm: For) -> str:
        """A thread goes through arrays of its own in registers, which have no indices."""
        known = stm.index.startswith(k.OWN) and isinstance(stm.bound, Lit)
        return "#pragma unroll" if known else ""

    def stride(self, stm: k.Stride) -> None:
        """A loop that takes longer steps."""
        index, kind = c_name(stm.index), self.type(stm.prim)
        cond = self.show(Bin("<", stm.prim, Var(stm.index, stm.prim), stm.end))
        step = f"{index} {stm.op}= {self.show(stm.by)}"
        self.nested(f"for ({kind} {index} = {self.show(stm.start)}; {cond}; {step}) {{", stm.body)

    def barrier(self, stm: k.Barrier) -> None:
        """Wait for the block."""
        self.line("__syncthreads();")

    def shuffle(self, stm: k.Shuffle) -> None:
        """A register of another lane; narrow ones are words."""
        given = f"{self.show(stm.value)}, {self.show(stm.lane)}"
        self.line(f"{c_name(stm.name)} = __shfl_sync(0xffffffff, {given});")

    # --- updates -----------------------------------------------------------------------------

    def atomic(self, stm: k.Atomic) -> None:
        """An instruction; those of 64 bits are for unsigned numbers."""
        cast, value = "", self.show(stm.value)
        if stm.prim == "u64" or (stm.prim == "i64" and stm.op == "+"):
            cast = "(unsigned long long *)"
            value = f"(unsigned long long){self.scalars.atom(stm.value)}"
        self.line(f"{_ATOMIC[stm.op]}({cast}&{self.cell(stm)}, {value});")

    def exchange(self, stm: k.Exchange) -> None:
        """Read, combine, and write back if nobody has written in between."""
        word = "unsigned int" if BYTES[stm.prim] == 4 else "unsigned long long"
        name, kind = c_name(stm.name), self.type(stm.prim)
        self.line(f"{word} *place = ({word} *)&{self.cell(stm)};")
        self.line(f"{word} seen = *(volatile {word} *)place, before;")
        self.open("do {")
        self.line("before = seen;")
        self.line(f"{kind} {name} = *({kind} *)&before;")
        self.stms(stm.body)
        self.line(f"seen = atomicCAS(place, before, *({word} *)&{name});")
        self.close("} while (seen != before);")

    def locked(self, stm: k.Locked) -> None:
        """One thread at a time per lock."""
        self.line(f"int32_t *lock = {c_name(stm.locks)} + {self.show(stm.at)};")
        self.open("for (bool done = false; !done;) {")
        self.open("if (atomicCAS(lock, 0, 1) == 0) {")
        self.line("__threadfence();")
        self.volatile = True
        self.stms(stm.body)
        self.volatile = False
        self.line("__threadfence();")
        self.line("atomicExch(lock, 0);")
        self.line("done = true;")
        self.close()
        self.close()


DeviceCode.prints = {
    **Statements.prints,
    k.Fetch: "fetch",
    k.Indices: "indices",
    k.Stride: "stride",
    k.Scope: "scope",
    k.Exit: "leave",
    k.Barrier: "barrier",
    k.Shuffle: "shuffle",
    k.Atomic: "atomic",
    k.Exchange: "exchange",
    k.Locked: "locked",
}
