"""Recognise host loops whose iterations issue equal launches, which can be captured as a graph.

Note [Rounds]. Statements that read no cell, and no number that the loop changes, are a function of
the blocks that the loop's variables hold: once those recur after some iterations, and no block was
allocated since, all later iterations repeat the same launches in turn. The variables are found
here; their contents and allocations are observed at run time (`Device.rounds`). A block that an
iteration allocates and frees is reused by the next one, so that the device allocates it once; for
that no variable may hold it at the end of the iteration.

Note [Numbered rounds]. Kernels may also be given the iteration number, and nothing else may depend
on it. Values that the host would compute from it for a kernel, the kernel computes
(`given_numbers`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.remarks import NOTHING, Applied, Missed, Outcome
from compiler.base.rules import Rule
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import host_stms, map_bodies
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.host_numbers import mentioned
from compiler.codegen.kernels.walk import launch_sized, with_body
from compiler.codegen.traits import reads
from compiler.ir.nodes import Lit, Mem

GRAPHS = Rule("cuda/graphs", "Captures launches that iterations of a loop have in common, once.")
ROUNDS = Rule("kernels/rounds", "Lets kernels compute what depends on the index of a loop.")
_MAKES = imp.Alloc | k.Part | k.Zeros
_FEWEST = 3
"""Minimum trip count for capturing: one iteration is observed, and two may be worth a graph."""


@dataclass(frozen=True, slots=True)
class Turning:
    """The rotation of a loop's blocks between iterations.

    `blocks`: block variables that it changes. `done`: its own, which hold nothing at the end of an
    iteration. `numbered`: kernels that are given the iteration number.
    """

    blocks: tuple[Name, ...]
    done: tuple[Name, ...]
    numbered: frozenset[str]


def given_numbers(stms: imp.Stms, ctx: Ctx) -> imp.Stms:
    """Move dependences on the iteration number into kernels, where loops then become capturable."""
    out: list[imp.Stm] = []
    for outer in stms:
        stm = map_bodies(outer, lambda body: given_numbers(body, ctx))
        if isinstance(stm, imp.For):
            loop = replace(stm, body=_uniform_block_sizes(stm.body, {stm.index}))
            stm = _numbered(loop, ctx) or loop
        out.append(stm)
    return tuple(out)


def _uniform_block_sizes(stms: imp.Stms, number: set[Name]) -> imp.Stms:
    """Make block sizes of an iteration's launches equal in all iterations.

    `number` are names that differ between iterations; extended by those of the statements.
    Iterations with loops or calls are not captured, and stay as they are.
    """
    if any(isinstance(stm, imp.For | imp.While | imp.Call) for stm in host_stms(stms)):
        return stms
    out: list[imp.Stm] = []
    for outer in stms:
        stm = map_bodies(outer, lambda body: _uniform_block_sizes(body, number))
        match stm:
            case imp.Define(name, _, value) if reads(value) & number:
                number.add(name)
            case k.Launch(busy=busy) if busy is not None and reads(busy) & number:
                stm = replace(stm, busy=None)
        out.append(stm)
    return tuple(out)


def _numbered(loop: imp.For, ctx: Ctx) -> imp.For | None:
    """Return the loop with dependent values computed in kernels; None if that is not sufficient."""
    if _are_few(loop):
        return None
    moved: dict[Name, imp.Define] = {}
    for stm in loop.body:
        if isinstance(stm, imp.Define) and reads(stm.value) & {loop.index, *moved}:
            moved[stm.name] = stm
    if not moved:
        return None
    stms = tuple(s for s in loop.body if not isinstance(s, imp.Define) or s.name not in moved)
    made = replace(loop, body=_with_defines(stms, moved))
    body = tuple(host_stms(made.body))
    launches = any(isinstance(stm, k.Launch) for stm in body)
    if not launches or _differs(made, body, ctx.names.called, {loop.index, *moved}):
        return None
    told = " and ".join(sorted({f"`{ctx.names.called(name)}`" for name in moved}))
    because = (
        f"Kernels compute {told} from the loop index `{ctx.names.called(loop.index)}`, "
        "so the host launches the same in each iteration."
    )
    return ctx.commit(ROUNDS, loop.prov, Applied(made, because))


def _with_defines(stms: imp.Stms, moved: dict[Name, imp.Define]) -> imp.Stms:
    """Move definitions of `moved` into the kernels that use them."""
    out: list[imp.Stm] = []
    for stm in stms:
        match stm:
            case imp.If():
                then, orelse = _with_defines(stm.then, moved), _with_defines(stm.orelse, moved)
                stm = replace(stm, then=then, orelse=orelse)
            case k.Launch(kernel):
                needed = {p.name for p in kernel.params if p.name in moved}
                for name in reversed(moved):
                    if name in needed:
                        needed |= reads(moved[name].value) & moved.keys()
                first = [define for name, define in moved.items() if name in needed]
                if first:
                    stm = replace(stm, kernel=with_body(kernel, (*first, *kernel.body)))
        out.append(stm)
    return tuple(out)


def block_rotation(loop: imp.For, called: Callable[[Name], str]) -> Outcome[Turning]:
    """Return the rotation of a loop's blocks, if iterations depend only on their number.

    None for a loop without launches. `called` gives the names for readers.
    """
    body = tuple(host_stms(loop.body))
    launches = [stm for stm in body if isinstance(stm, k.Launch)]
    if not launches:
        return None
    if _are_few(loop):
        why = "there are too few iterations to capture their launches"
        return Missed(f"The host launches kernels in each iteration of this loop: {why}.", NOTHING)
    because = _differs(loop, body, called, {loop.index})
    if because:
        return Missed(
            f"The host launches kernels in each iteration of this loop: {because}.", NOTHING
        )
    made = [stm.name for stm in body if isinstance(stm, _MAKES)]
    own = {*made, *(stm.name for stm in body if isinstance(stm, imp.Declare))}
    held = (s.name for s in body if isinstance(s, imp.Declare) and isinstance(s.type, Mem))
    freed = {stm.name for stm in loop.body if isinstance(stm, imp.Free)}
    changed = {stm.name: None for stm in body if isinstance(stm, imp.Assign | imp.Free)}
    numbered = [
        launch.kernel.name
        for launch in launches
        if any(p.name == loop.index for p in launch.kernel.params)
    ]
    number = f", on the loop index `{called(loop.index)}`" if numbered else ","
    makes = " A block that an iteration allocates is reused by the next one." if made else ""
    return Applied(
        Turning(
            tuple(name for name in changed if name not in own),
            tuple(name for name in dict.fromkeys((*made, *held)) if name not in freed),
            frozenset(numbered),
        ),
        f"What this loop launches depends on which block is where{number} and nothing else that "
        "changes: rounds that come again are captured in a graph, and the host launches that."
        f"{makes}",
    )


def _are_few(loop: imp.For) -> bool:
    """True if a loop is too short for a graph, so that kernels need no iteration number."""
    return isinstance(loop.bound, Lit) and int(loop.bound.value) < _FEWEST


def _differs(
    loop: imp.For, body: tuple[imp.Stm, ...], called: Callable[[Name], str], number: set[Name]
) -> str:
    """Return why iterations may differ, or cannot be captured; "" if neither.

    `number` are names that differ between iterations, including the index; extended by those of the
    body.
    """
    own = {stm.name for stm in body if isinstance(stm, imp.Declare)}
    computed = ""
    for stm in body:
        match stm:
            case imp.Load(name) | k.Fetch(name):
                return f"it waits for `{called(name)}`"
            case imp.Store():
                return "it writes a cell"
            case imp.For() | imp.While():
                return "it contains a loop"
            case imp.Call(_, fun):
                return f"it calls `{called(fun)}`"
            case imp.Assign(name, value) if not isinstance(value, str) and name not in own:
                return f"`{called(name)}` differs between iterations"
            case imp.Define(name, _, value) if reads(value) & number:
                number.add(name)
        if why := _depends(stm, number):
            return f"{why} `{called(loop.index)}`"
        for param in stm.kernel.params if isinstance(stm, k.Launch) else ():
            if param.name in number - {loop.index}:
                computed = f"the host computes `{called(param.name)}` from `{called(loop.index)}`"
    return computed


def _depends(stm: imp.Stm, number: set[Name]) -> str:
    """Return which property of a statement depends on the iteration number.

    Kernel arguments do not count.
    """
    match stm:
        case k.Launch(kernel, _, count, times, busy=busy):
            if (reads(count) | {times}) & number or (busy and reads(busy) & number):
                return f"the number of threads of `{kernel.name}` depends on"
            if reads(launch_sized(kernel)[1]) & number:
                return f"the shared memory of `{kernel.name}` depends on"
            return ""
        case imp.Define():
            return ""
        case imp.Alloc() | k.Part() | k.Zeros() | k.Ranges():
            what = "the amount of memory depends on"
        case imp.If():
            what = "the launched kernel depends on"
        case imp.Copy():
            what = "the copied cells depend on"
        case _:
            what = "they depend on"
    return what if mentioned(stm) & number else ""
