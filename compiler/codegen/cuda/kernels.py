"""Print kernel IR as CUDA `__global__` functions."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.base.names import Name
from compiler.base.prim import BYTES, Prim
from compiler.base.spans import Prov
from compiler.codegen.c.stms import Statements, Writer
from compiler.codegen.c.types import C_TYPE, c_name
from compiler.codegen.cuda.runtime import AT_LAUNCH
from compiler.codegen.cuda.scalar import ENUM, NOBODY, SUM, CudaScalars
from compiler.codegen.imp.nodes import Alloc, Assert, Define, For, Load, Store
from compiler.codegen.imp.parts import statements
from compiler.codegen.index import product
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.narrow import Narrowing, is_of_tile
from compiler.codegen.kernels.threads import POINT
from compiler.codegen.kernels.walk import launch_sized
from compiler.ir.nodes import SE, ZERO, Bin, Lit, Var
from compiler.ir.sizes import prim_of

IDS = {
    k.THREAD: "threadIdx.x",
    k.BLOCK: "blockIdx.x",
    k.THREADS: ENUM,
    k.PLACE: "(int64_t)blockIdx.x * THREADS + threadIdx.x",
}
OF_LAUNCH = {k.THREADS: "blockDim.x"}
"""Text of the thread count where a launch determines it."""
NARROW_IDS = {**IDS, k.PLACE: "(index_t)blockIdx.x * THREADS + threadIdx.x"}
INDEX = "index_t"
FAILED_BEFORE = "__syncthreads_or(threadIdx.x == 0 && *(volatile int64_t *)failure)"
"""Test whether a check has failed already, so that a kernel's inputs may be garbage. One thread
per block reads the flag: one sector, and no thread leaves while others wait for it."""
_ATOMIC = {"+": "atomicAdd", "min": "atomicMin", "max": "atomicMax", "&": "atomicAnd"}
_ATOMIC |= {"|": "atomicOr", "^": "atomicXor"}
_WORDS: tuple[Prim, ...] = ("i32", "i64", "u32", "u64")
ATOMICS: frozenset[tuple[str, Prim]] = frozenset(
    [*((op, prim) for op in _ATOMIC for prim in _WORDS), ("+", "f32"), ("+", "f64")]
)
"""Operators with GPU instructions."""


class DeviceCode(Statements):
    """Prints kernels. A failed check jumps to `label`, or leaves the kernel if there is none."""

    language = k.KERNELS

    scalars: CudaScalars
    label = ""
    asks = False
    """True if threads record a failed check, since a barrier of the kernel tests it."""
    labels = 0
    narrow: Mapping[str, Narrowing]
    """Names with narrow indices, by kernel."""
    constant: Mapping[str, frozenset[Name]]
    """Read-only blocks, by kernel."""
    after_checks: frozenset[str]
    """Kernels that may run after a failed check."""
    numbered: dict[str, Name]
    """Parameter that holds a loop's iteration number, by kernel."""
    places: Mapping[Name, SE]
    """Offsets of shared blocks of launch-time size in the current kernel."""
    volatile = False
    wide = 0
    """Number of accesses to neighbouring cells so far, to name them."""
    qualified = "__device__ inline"

    def launched(self, launch: k.Launch, host: Writer) -> None:
        """Print a launch's kernel, with the provenance of the launch."""
        self.src, self.node = host.src, host.node
        self.function(launch.kernel, {} if launch.busy is None else OF_LAUNCH)

    def function(self, kernel: k.Kernel, ids: Mapping[Name, str]) -> None:
        """Print `extern "C" __global__ void name(parameters) { .. }`; `ids` name thread numbers."""
        made = self.scalars.narrowing = self.narrow.get(kernel.name, NOBODY)
        shown = [
            self.block(a, kernel)
            if a.block
            else f"const {self.given(a)} {self.parameter(a, kernel)}"
            for a in kernel.params
        ]
        if kernel.name in self.numbered:
            shown.append("const int64_t *rounds")
        params = ", ".join([*shown, "int64_t *failure"])
        self.scalars.names = {**(IDS if POINT not in made.names else NARROW_IDS), **ids}
        self.places, _ = launch_sized(kernel)
        self.line("")
        self.open(f'extern "C" __global__ void {kernel.name}({params}) {{')
        for a in kernel.params:
            if not a.block and a.prim == "f16":
                given = self.parameter(a, kernel)
                self.line(f"const float {c_name(a.name)} = half_to_float({given});")
        for a in (a for a in kernel.params if self.is_number(a, kernel)):
            kind, first = self.given(a), self.parameter(a, kernel)
            before = f"(rounds ? ({kind})*rounds : 0)"  # only in graphs: each warp reads a sector
            self.line(f"const {kind} {c_name(a.name)} = {first} + {before};")
        if kernel.name in self.after_checks:
            self.line(f"if ({FAILED_BEFORE}) return;")
        self.asks = any(isinstance(s, k.Barrier) and s.asks for s in statements(kernel.body))
        if self.asks:
            self.line("bool failed = false;")
        self.stms(kernel.body)
        self.close()

    def block(self, a: k.Param, kernel: k.Kernel) -> str:
        """Print a block parameter."""
        kind = self.cell_type(a.prim)
        if a.name in self.constant.get(kernel.name, ()):
            return f"const {kind} *__restrict__ {c_name(a.name)}"
        return f"{kind} *{c_name(a.name)}"

    def parameter(self, a: k.Param, kernel: k.Kernel) -> str:
        """Return the name of a scalar parameter."""
        if self.is_number(a, kernel):
            return f"{c_name(a.name)}_first"
        return f"{c_name(a.name)}_bits" if a.prim == "f16" else c_name(a.name)

    def is_number(self, a: k.Param, kernel: k.Kernel) -> bool:
        """True for the iteration number of a loop, possibly a captured one."""
        return a.name == self.numbered.get(kernel.name)

    # --- cells -------------------------------------------------------------------------------

    def given(self, a: k.Param) -> str:
        """Return the type of a scalar parameter; the host passes all bits, lowest first."""
        kind = self.kind(a.name, a.prim)
        return kind if kind == INDEX else self.cell_type(a.prim)

    def kind(self, name: Name, prim: Prim) -> str:
        """Return the type of a name: narrow for indices if the launch permits."""
        narrow = prim == "i64" and name in self.scalars.narrowing.names
        return INDEX if narrow else self.type(prim)

    def index(self, se: SE) -> str:
        """Print an index expression."""
        kept, self.scalars.index = self.scalars.index, True
        text = self.show(se)
        self.scalars.index = kept
        return text

    def define(self, stm: Define) -> None:
        """Print a constant."""
        kept = self.scalars.index
        self.scalars.index = self.kind(stm.name, stm.prim) == INDEX or (
            stm.prim == "i32" and stm.name in self.scalars.narrowing.names
        )
        super().define(stm)
        self.scalars.index = kept

    def type(self, prim: Prim) -> str:
        """Return the register type: float for f16."""
        return "float" if prim == "f16" else C_TYPE[prim]

    def cell_type(self, prim: Prim) -> str:
        """Return the memory type: 16 bits for f16."""
        return "uint16_t" if prim == "f16" else C_TYPE[prim]

    def cell(self, stm: Load | Store | k.Fetch | k.Loads | k.Stores | k.Atomic | k.Exchange) -> str:
        """Print a cell; volatile under a lock, since other threads write it."""
        text = f"{c_name(stm.block)}[{self.index(stm.at)}]"
        return f"*(volatile {self.cell_type(stm.prim)} *)&{text}" if self.volatile else text

    def value(self, stm: Load | k.Fetch) -> str:
        """Print the value of a cell."""
        return f"half_to_float({self.cell(stm)})" if stm.prim == "f16" else self.cell(stm)

    def load(self, stm: Load) -> None:
        """Print a load."""
        self.line(f"const {self.type(stm.prim)} {c_name(stm.name)} = {self.value(stm)};")

    def loads(self, stm: k.Loads) -> None:
        """Print loads of neighbouring cells: one where they are aligned, else one for each."""
        kind, name = self.cells(stm)
        self.line(f"{kind} {name};")
        self.line(f"{self.together(stm)} {name} = *(const {kind} *)&{self.cell(stm)};")
        self.each(stm, f"{name}.of[{{turn}}] = {{cell}};")
        for turn, own in enumerate(stm.names):
            value = f"{name}.of[{turn}]"
            value = f"half_to_float({value})" if stm.prim == "f16" else value
            self.line(f"const {self.type(stm.prim)} {c_name(own)} = {value};")

    def stores(self, stm: k.Stores) -> None:
        """Print stores to neighbouring cells, in the same way."""
        kind, name = self.cells(stm)
        values = ", ".join(self.stored(stm.prim, value) for value in stm.values)
        self.line(f"const {kind} {name} = {{{{{values}}}}};")
        self.line(f"{self.together(stm)} *({kind} *)&{self.cell(stm)} = {name};")
        self.each(stm, f"{{cell}} = {name}.of[{{turn}}];")

    def cells(self, stm: k.Loads | k.Stores) -> tuple[str, str]:
        """Return the type of neighbouring cells, and a name for them."""
        self.wide += 1
        return f"Cells<{self.cell_type(stm.prim)}, {stm.number}>", f"cells_{self.wide}"

    def together(self, stm: k.Loads | k.Stores) -> str:
        """Print the test for alignment."""
        whole = BYTES[stm.prim] * stm.number
        return f"if (((uint64_t)&{self.cell(stm)} & {whole - 1}) == 0)"

    def each(self, stm: k.Loads | k.Stores, line: str) -> None:
        """Print what is done without alignment, a line for each cell."""
        block, first = c_name(stm.block), self.factor(stm.at, SUM)
        self.open("else {")
        for turn in range(stm.number):
            self.line(line.format(turn=turn, cell=f"{block}[{first} + {turn}]"))
        self.close()

    def stored(self, prim: Prim, value: SE) -> str:
        """Print a value as a cell holds it."""
        return f"float_to_half({self.show(value)})" if prim == "f16" else self.show(value)

    def fetch(self, stm: k.Fetch) -> None:
        """Print a load into a variable."""
        self.line(f"{c_name(stm.name)} = {self.value(stm)};")

    def store(self, stm: Store) -> None:
        """Print a store."""
        self.line(f"{self.cell(stm)} = {self.stored(stm.prim, stm.value)};")

    def run_alloc(self, stm: Alloc) -> None:
        """Print a thread's private array, or a shared one."""
        if stm.space != "shared":
            self.local_array(stm)
            return
        kind, name = self.cell_type(stm.prim), c_name(stm.name)
        if isinstance(stm.count, Lit):
            self.line(f"__shared__ {kind} {name}[{max(1, int(stm.count.value))}];")
            return
        at = self.places[stm.name]
        start = AT_LAUNCH if at == ZERO else f"({AT_LAUNCH} + {self.scalars.within(at, 10)})"
        self.line(f"{kind} *const {name} = ({kind} *){start};")

    # --- control -----------------------------------------------------------------------------

    def fail(self, call: str) -> None:
        """Report a failure, then leave the point or kernel; releases locks."""
        self.line(f"ss_fail(failure, {call});")
        if self.volatile:
            self.line("atomicExch(lock, 0);")
        if self.label and self.asks:
            self.line("failed = true;")
        self.line(f"goto {self.label};" if self.label else "return;")

    def site(self, prov: Prov, message: tuple[str | SE, ...]) -> str:
        """Register a check; return its number and values."""
        self.sites.append((prov, message))
        values = [self.bits(p) for p in message if not isinstance(p, str)][:8]
        return ", ".join([str(len(self.sites) - 1), *values])

    def bits(self, value: SE) -> str:
        """Print a value as 64 bits."""
        if prim_of(value)[0] == "f":
            return f"ss_bits({self.show(value)})"
        return f"(int64_t){self.scalars.atom(value)}"

    def scope(self, stm: k.Scope) -> None:
        """Print a scope.

        A jump to the end of a point may not cross declarations, so their braces end before it.
        """
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

    def exit(self, stm: k.Exit) -> None:
        """Print the exit of a thread."""
        self.line(f"if ({self.index(stm.cond)}) return;")

    def tested(self, cond: SE) -> str:
        """Print the condition of a branch; places in a tile are indices."""
        return self.index(cond) if is_of_tile(cond) else super().tested(cond)

    def indices(self, stm: k.Indices) -> None:
        """Print quotients and remainders that unflatten an index."""
        rest = flat = self.factor(stm.flat, 10) if stm.dims[1:] else self.index(stm.flat)
        for at in range(len(stm.dims) - 1, 0, -1):
            name, size = stm.dims[at][0], self.factor(stm.dims[at][1])
            self.line(f"const {self.kind(name, 'i64')} {c_name(name)} = {rest} % {size};")
            rest = f"{flat} / {self.factor(product([s for _, s in stm.dims[at:]]))}"
        first = stm.dims[0][0]
        self.line(f"const {self.kind(first, 'i64')} {c_name(first)} = {rest};")

    def factor(self, se: SE, level: int = 11) -> str:
        """Print a dividend or divisor at its operator's level."""
        kept, self.scalars.index = self.scalars.index, True
        text = self.scalars.within(se, level)
        self.scalars.index = kept
        return text

    def count_loop(self, stm: For) -> None:
        """Print a counting loop."""
        kept, self.scalars.index = self.scalars.index, True
        end = self.once(stm.bound, f"{c_name(stm.index)}_end", self.kind(stm.index, stm.prim))
        self.scalars.index = kept
        self.counted(stm, end)

    def loop_pragma(self, stm: For) -> str:
        """Unroll loops over private arrays, since registers cannot be indexed."""
        known = stm.index.startswith(k.OWN) and isinstance(stm.bound, Lit)
        return "#pragma unroll" if known else ""

    def stride(self, stm: k.Stride) -> None:
        """Print a strided loop."""
        index, kind = c_name(stm.index), self.kind(stm.index, stm.prim)
        cond = self.index(Bin("<", stm.prim, Var(stm.index, stm.prim), stm.end))
        step = f"{index} {stm.op}= {self.index(stm.by)}"
        self.nested(f"for ({kind} {index} = {self.index(stm.start)}; {cond}; {step}) {{", stm.body)

    def barrier(self, stm: k.Barrier) -> None:
        """Print a barrier of the block."""
        self.line("if (__syncthreads_or(failed)) return;" if stm.asks else "__syncthreads();")

    def shuffle(self, stm: k.Shuffle) -> None:
        """Print a warp shuffle; narrow values are passed as words."""
        given = f"{self.show(stm.value)}, {self.show(stm.lane)}"
        self.line(f"{c_name(stm.name)} = __shfl_sync(0xffffffff, {given});")

    # --- updates -----------------------------------------------------------------------------

    def atomic(self, stm: k.Atomic) -> None:
        """Print an atomic instruction; 64-bit ones are unsigned."""
        cast, value = "", self.show(self.scalars.wide(stm.value))
        if stm.prim == "u64" or (stm.prim == "i64" and stm.op == "+"):
            cast = "(unsigned long long *)"
            value = f"(unsigned long long){self.scalars.atom(stm.value)}"
        self.line(f"{_ATOMIC[stm.op]}({cast}&{self.cell(stm)}, {value});")

    def exchange(self, stm: k.Exchange) -> None:
        """Print a compare-and-swap loop."""
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
        """Print a critical section, one thread per lock."""
        self.line(f"int32_t *lock = {c_name(stm.locks)} + {self.index(stm.at)};")
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

    # --- between blocks of threads -----------------------------------------------------------

    def ticket(self, stm: k.Ticket) -> None:
        """Draw a ticket in one thread, and broadcast it."""
        name = c_name(stm.name)
        self.line(f"__shared__ int32_t {name}_shared;")
        counted = f"atomicAdd(&{c_name(stm.block)}[{self.index(stm.at)}], 1)"
        self.line(f"if (threadIdx.x == 0) {name}_shared = {counted};")
        self.line("__syncthreads();")
        self.line(f"const {self.kind(stm.name, 'i64')} {name} = {name}_shared;")

    def publish(self, stm: k.Publish) -> None:
        """Fence, then publish a flag; see Note [What is seen] in `look_back.py`."""
        self.line("__threadfence();")
        self.line(
            f"atomicExch(&{c_name(stm.block)}[{self.index(stm.at)}], {self.show(stm.value)});"
        )

    def wait(self, stm: k.Await) -> None:
        """Spin on a flag with `__nanosleep`, then fence."""
        name, flag = c_name(stm.name), f"{c_name(stm.block)}[{self.index(stm.at)}]"
        self.line(f"int32_t {name};")
        self.open(f"while (!({name} = *(volatile int32_t *)&{flag})) {{")
        self.line("__nanosleep(20);")
        self.close()
        self.line("__threadfence();")
