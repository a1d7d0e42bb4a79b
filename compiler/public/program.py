"""A compiled program, whose entry points are called as functions of Python."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compiler.base.context import Options as Compiling
from compiler.base.errors import UsageError
from compiler.base.text import plain
from compiler.driver import api, checking
from compiler.driver.pipeline import Compilation
from compiler.driver.targets import BY_ID as BACK_ENDS
from compiler.ir.entry import external
from compiler.ir.nodes import Param
from compiler.ir.values import Value
from compiler.lower.external_values import Outside, is_plain
from compiler.lower.strided import MOST_DIMENSIONS, name_of
from compiler.protocol.kinds import OfProgram, Options
from compiler.protocol.programs import CheckRequest, ShowRequest
from compiler.public.given import as_value, deep
from compiler.runtime.cuda_arrays import DeviceArray, DeviceProgram
from compiler.runtime.device_process import GPUS
from compiler.runtime.interface import is_on_gpu

_RUNNER = "cupy"
"""The optional package that runs programs on GPUs, so that results are its arrays."""
_DLPACK = {"jaxlib": "jax.dlpack", "jax": "jax.dlpack"}
"""The module with `from_dlpack`, for packages without one at their top."""
TARGETS = (*BACK_ENDS, "ref")


class CompiledProgram:
    """A program whose entry points are its methods: `program.main(xs)`, `program["main"](xs)`.

    `entries` has their names. Each is compiled further when it is first called.
    """

    def __init__(
        self,
        source: str,
        target: str = "",
        disable: Sequence[str] = (),
        files: Mapping[str, str] | None = None,
    ) -> None:
        """Like `compile`, which is the function to call."""
        if target and target not in TARGETS:
            known = ", ".join(f"`{one}`" for one in TARGETS)
            raise UsageError(f"There is no target `{target}`.", hint=f"There are {known}.")
        self.source, self.target = source, target
        self._files, self._disable = dict(files or {}), tuple(disable)
        asked = self.asked()
        api.compilation(asked)  # refuses names of passes and rules that are none
        checked = checking.check(CheckRequest(asked.source, files=asked.files))
        self._described = {one["name"]: one for one in checked["entries"]}
        self.entries: tuple[str, ...] = tuple(self._described)
        self._points: dict[str, EntryPoint] = {}
        self._toolkit = GPUS
        self._on_gpus: dict[int, DeviceProgram] = {}

    def asked(self, target: str = "c") -> OfProgram:
        """Return the program as a request to the compiler."""
        options: Options = {"target": target, "disable": list(self._disable)}
        return OfProgram(self.source, options, dict(self._files))

    def __getitem__(self, name: str) -> EntryPoint:
        """Return the entry point of that name. Raises `Error` if it does not exist."""
        if name not in self.entries:
            known = ", ".join(f"`{one}`" for one in self.entries) or "none"
            raise UsageError(f"There is no entry point `{name}`.", hint=f"There are {known}.")
        if name not in self._points:
            self._points[name] = EntryPoint(self, name)
        return self._points[name]

    def __getattr__(self, name: str) -> EntryPoint:
        if name.startswith("_") or name not in self.entries:
            raise AttributeError(f"the program has no entry point {name!r}")
        self.__dict__[name] = found = self[name]  # not asked for again
        return found

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.entries]

    def __repr__(self) -> str:
        named = ", ".join(self.entries) or "none"
        return f"<CompiledProgram with the entry points {named}>"

    def text(self, stage: str = "", *, target: str = "") -> str:
        """Return the text of a stage: one of `stages()`, by default that of its target.

        The stages from `flat` to `imp` are made for a target, `c` or `cuda`.
        """
        chosen = target or (self.target if self.target in BACK_ENDS else "c")
        stage = stage or chosen
        of = self.asked(chosen)
        asked = ShowRequest(of.source, of.options, of.files, stages=[stage])
        return deep(lambda: api.show(asked))["stages"][stage]["text"] or ""

    def on_gpu(self, number: int) -> DeviceProgram:
        """Load the program's kernels on a device of this process. Raises `Error` without one."""
        if number not in self._on_gpus:
            made = deep(lambda: DeviceProgram(self._cuda(), number, self._toolkit, self._strided))
            self._on_gpus[number] = made
        return self._on_gpus[number]

    def _cuda(self) -> str:
        return plain(api.compilation(self.asked("cuda")).result("cuda").text)

    def _strided(self, entry: str, which: tuple[int, ...]) -> tuple[str, str]:
        """Return the text for strided inputs of an entry point."""
        found = api.outside(self.asked(), entry)
        for k, param in enumerate(external(found.fun)):
            rank = len(getattr(param.type, "shape", ()))
            if k in which and rank > MOST_DIMENSIONS:
                raise UsageError(
                    f"Input {k + 1} has {rank} dimensions and is not row-major, but "
                    f"strides are supported for at most {MOST_DIMENSIONS} dimensions.",
                    hint="Copy it on the device: `cupy.ascontiguousarray`.",
                )
        work = Compilation(
            self.source,
            Compiling(
                target="cuda",
                disabled=frozenset(self._disable),
                files=tuple(self._files.items()),
                strides=(entry, which),
            ),
        )
        return deep(lambda: plain(work.result("cuda").text)), name_of((entry, which))


class EntryPoint:
    """An entry point of a program. `params` and `results` are its types, as in the source."""

    def __init__(self, program: CompiledProgram, name: str) -> None:
        self.program, self.name = program, name
        self._params: list[Param] | None = None
        told = program._described[name]
        self.params: tuple[str, ...] = tuple(told["params"])
        self.results: tuple[str, ...] = tuple(told["results"])
        named = zip(told["names"], self.params, strict=True)
        given = ", ".join(f"{one}: {kind}" if one else kind for one, kind in named)
        self.__doc__ = f"{name}({given}) -> {', '.join(self.results)}"

    def __repr__(self) -> str:
        return f"<{self.__doc__}>"

    def __call__(
        self,
        *args: Any,
        target: str = "",
        out: Any = None,
        stream: Any = None,
        seconds: float = 60.0,
    ) -> Any:
        """Run the entry point; return the result, or a tuple of several.

        Arguments: for each parameter a NumPy array or scalar of exactly its type, or numbers,
        booleans and nested lists of them (whole numbers have to fit, others are rounded). If one of
        them lies on a GPU, such as those of CuPy, PyTorch, JAX or Numba (by
        `__cuda_array_interface__` or DLPack), the program runs there in this process, and results
        are arrays of the same library, without a copy. Such inputs may have any strides; none of
        them is overwritten. `stream` gets its work: CuPy's current stream, or one given as an
        object or a number. Otherwise the run is a process of its own, which ends after so many
        `seconds`.

        `out`: an array for the result, or a list of one for each (or None), which are filled and
        returned instead. Raises `Error` for arguments that do not fit and for a run that fails.
        """
        near = next(filter(is_on_gpu, args), None)
        chosen = target or self.program.target or ("c" if near is None else "cuda")
        wanted = [] if out is None else [*out] if isinstance(out, list | tuple) else [out]
        if len(wanted) > len(self.results):
            raise UsageError(f"`out` has {len(wanted)} arrays for {len(self.results)} results.")
        if near is None:
            asked = self.program.asked(chosen if chosen in BACK_ENDS else "c")
            found = deep(lambda: run_here(asked, self.name, args, chosen, seconds))
            found = (*map(_filled, wanted, found), *found[len(wanted) :])
        elif chosen not in BACK_ENDS or not BACK_ENDS[chosen].target.in_step:
            raise UsageError(
                f"An argument lies on a GPU, and the target is `{chosen}`.",
                hint="Copy it with CuPy's `.get()`, or leave the target out.",
            )
        else:
            found = self._on_gpu(args, near, wanted, stream)
        return found[0] if len(found) == 1 else found

    def _on_gpu(
        self, args: Sequence[Any], near: Any, out: Sequence[Any], stream: Any
    ) -> tuple[Any, ...]:
        """Run on the device of an argument."""
        if self._params is None:
            self._params = external(_outside(self.program.asked("cuda"), self.name).fun)
        program = self.program.on_gpu(_number_of(near))
        pairs = zip(self._params, args, strict=False)
        given = [one if _is_array(one) else as_value(param, one) for param, one in pairs]
        found = program.run(self.name, [*given, *args[len(given) :]], out, stream)
        return tuple(_as_near(one, near) for one in found)


def run_here(
    asked: OfProgram, entry: str, args: Sequence[Any], backend: str, seconds: float
) -> tuple[Value, ...]:
    """Run in a process of its own; return the results. Raises `Error` as `run` does."""
    found = _outside(asked, entry)
    params = external(found.fun)
    given = [as_value(*pair) for pair in zip(params, args, strict=False)]
    rest = [np.asarray(arg) for arg in args[len(params) :]]
    return tuple(api.run_values(asked, entry, [*given, *rest], backend, "", seconds)["values"])


def _outside(asked: OfProgram, entry: str) -> Outside:
    """Return the entry point. Raises UsageError for types that Python lacks."""
    found = api.outside(asked, entry)
    if not all(map(is_plain, (*found.params, *found.results))):
        raise UsageError(
            "Only numbers, booleans and arrays of them can be passed and returned here.",
            hint="Write an entry point that takes and returns the components one by one.",
        )
    return found


def _is_array(one: Any) -> bool:
    """Return True if an object exports its memory, wherever it lies."""
    return is_on_gpu(one) or hasattr(one, "__dlpack_device__")


def _number_of(array: Any) -> int:
    """Return the number of the device on which an array lies."""
    device = getattr(array, "__dlpack_device__", None)
    return int(device()[1]) if callable(device) else 0


def _filled(out: Any, found: Value) -> Any:
    """Copy a host result into the caller's array, or return the result if there is none."""
    if out is None:
        return found
    if not isinstance(out, np.ndarray) or (out.shape, out.dtype) != (found.shape, found.dtype):
        raise UsageError(f"`out` must be a NumPy array of {found.dtype} of shape {found.shape}.")
    try:
        np.copyto(out, found)
    except ValueError as problem:
        raise UsageError(f"`out` cannot be filled: {problem}.") from None
    return out


def _as_near(found: Any, near: Any) -> Any:
    """Convert a result to the array library of an argument, where that supports DLPack."""
    if not isinstance(found, DeviceArray) or found.block.constant or isinstance(near, DeviceArray):
        return found
    package = type(near).__module__.partition(".")[0]
    if package == _RUNNER:
        return found.exported()
    make = getattr(sys.modules.get(_DLPACK.get(package, package)), "from_dlpack", None)
    return found if make is None else make(found)
