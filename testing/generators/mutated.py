"""Mutants of programs: texts with a few edits, other element types, another way of being called.

A mutant becomes a module of a program that holds several of them, with an entry point of its own.
Its entry point takes and gives numbers and arrays of numbers alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from compiler.base.context import Options
from compiler.base.dtypes import DTYPE
from compiler.base.errors import CompileError
from compiler.base.names import Name, base_of
from compiler.base.prim import Prim
from compiler.base.spans import span_at
from compiler.driver.disk import ProgramFiles
from compiler.driver.pipeline import Compilation
from compiler.frontend import typed
from compiler.frontend.lexer import tokenise
from compiler.frontend.parser import parse
from compiler.frontend.types import Array, PrimT, SizeConst, SizeVar, Type
from compiler.ir.values import Value
from compiler.lower.external_values import parts
from testing.generators import edits
from testing.generators.edit_places import Offsets, Place, places

INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = ("f16", "f32", "f64")
RENAMED = (*("i8", "i16", "i32", "u8", "u16", "u32", "u64"), *FLOATS)
"""Types that are exchanged everywhere; sizes are i64, which stays."""
LONGEST_RANDOM = 4
SMALL = 12
TRIES = 40
"""Places that are looked at for an edit."""


@dataclass(frozen=True)
class Mutant:
    """A text without entry points, what was changed in it, and the names of its definitions.

    `call` is the entry point's declaration, with `NAME` for its own name and `MODULE` for where
    the mutant is.
    """

    text: str
    changes: tuple[str, ...]
    call: str

    def declared(self, name: str) -> str:
        """The mutant as a module with an entry point of that name."""
        module = f"m_{name}"
        entry = self.call.replace("NAME", name).replace("MODULE", module)
        return f"module {module} = {{\n{self.text}\n}}\n{entry}\n"


@dataclass(frozen=True)
class Subject:
    """A program of which mutants are made, by way of one of its entry points."""

    program: ProgramFiles
    entry: str

    @property
    def options(self) -> Options:
        """The options to compile the program with: its files, and which of them is the main one."""
        files = tuple(sorted(self.program.files.items()))
        return Options(files=files, main=self.program.main)

    @cached_property
    def text(self) -> str:
        """The text without comments, its entry points as definitions."""
        lexed = tokenise(self.program.source)
        text = list(self.program.source)
        for token in lexed.comments:
            assert token.start_pos is not None
            text[token.start_pos : token.start_pos + len(token)] = " " * len(token)
        for token in lexed.tokens:
            if token.type == "ENTRY":
                text[token.start_pos : token.end_pos] = "def  "
        return "".join(text)

    @cached_property
    def work(self) -> Compilation:
        """The program's compilation."""
        return Compilation(self.program.source, self.options)

    @property
    def compiled(self) -> typed.TypedProg:
        """The typed program."""
        prog: typed.TypedProg = self.work.result("typed").prog
        return prog

    @cached_property
    def places(self) -> list[Place]:
        """Where it may be edited; not in constants: one that fails is one for all entry points."""
        found = places(self.text, parse(self.text), self.compiled, self.work.names().said)
        constants = [d.body.span for d in self.compiled.defs if not d.params and not d.span.file]
        return [at for at in found if not any(span.holds(at.node.span) for span in constants)]


def definition(prog: typed.TypedProg, entry: str) -> typed.Def:
    """The entry point of that name."""
    return next(one for one in prog.defs if one.is_entry and one.source_name == entry)


def is_plain(one: typed.Def) -> bool:
    """Return True if an entry point takes and gives only numbers and arrays of numbers."""
    kinds = [pat.type for pat in one.params] + list(parts(one.ret))
    return bool(one.params) and all(
        isinstance(kind.elem if isinstance(kind, Array) else kind, PrimT) for kind in kinds
    )


# --- one mutant --------------------------------------------------------------------------------


def mutant(subject: Subject, rng: random.Random) -> Mutant:
    """The program with one to three edits, or with another element type as well."""
    written: list[edits.Written] = []
    said: list[str] = []
    by = edits.Chance(subject.text, Offsets(subject.text), rng)
    only_typed = rng.random() < 0.1
    for _ in range(0 if only_typed else rng.choice((1, 1, 1, 2, 2, 3))):
        made = _edited(subject.places, by)
        if made is not None and not any(_meet(made[1], other) for other in written):
            said.append(made[0])
            written.append(made[1])
    text = subject.text
    for start, end, new in sorted(written, reverse=True):
        text = text[:start] + new + text[end:]
    if only_typed or rng.random() < 0.12:
        text, change = _renamed(text, rng)
        said += change
    return Mutant(text, tuple(said), f"entry NAME = MODULE.{subject.entry}")


def _edited(found: Sequence[Place], by: edits.Chance) -> tuple[str, edits.Written] | None:
    """An edit of a kind by chance, at a place where that is one."""
    kind = by.rng.choice([*edits.SAME, *edits.OTHER, "operator", "constant", "update", "slice"])
    edit = edits.SAME.get(kind) or edits.OTHER[kind]
    allowed = [place for place in found if kind in edits.SAME or not place.kept]
    for _ in range(TRIES if allowed else 0):
        place = by.rng.choice(allowed)
        made = edit(place, by)
        if made is not None:
            line = span_at(by.source, place.start).line
            return f"{kind} in line {line}: {' '.join(made[2].split())}", made
    return None


def _meet(one: edits.Written, other: edits.Written) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _renamed(text: str, rng: random.Random) -> tuple[str, list[str]]:
    """The text with one type of numbers exchanged for another of its kind."""
    tokens = tokenise(text).tokens
    ends = re.compile(rf"(?:[0-9].*)?({'|'.join(RENAMED)})")
    there = sorted({m[1] for token in tokens if (m := ends.fullmatch(str(token)))})
    if not there:
        return text, []
    old = rng.choice(there)
    new = rng.choice([one for one in (INTEGERS if old in INTEGERS else FLOATS) if one != old])
    for token in reversed(tokens):
        found = ends.fullmatch(str(token).removeprefix("."))
        if found and found[1] == old and token.end_pos is not None:
            text = text[: token.end_pos - len(old)] + new + text[token.end_pos :]
    return text, [f"{old} is {new}"]


# --- how it is called --------------------------------------------------------------------------


def called_otherwise(made: Mutant, one: typed.Def, rng: random.Random) -> Mutant:
    """A mutant whose entry point is called in a map, a loop or a branch; `one` is what it calls."""
    names = [f"p{k}" for k in range(len(one.params))]
    kinds = [_shown(pat.type) for pat in one.params]
    how = rng.choice((_in_map, _in_map, _in_loop, _in_branch))
    sizes = "".join(f" [{base_of(name)}_]" for name in _sizes(one.params))
    function = one.source_name if "MODULE." not in made.call else made.call.rpartition(".")[2]
    found = how(one, names, kinds, f"MODULE.{function}", rng)
    if found is None:
        return made
    params, body, said = found
    return replace(
        made, call=f"entry NAME{sizes} {params} =\n  {body}", changes=(*made.changes, said)
    )


_Call = tuple[str, str, str] | None


def _in_map(
    one: typed.Def, names: list[str], kinds: list[str], fun: str, rng: random.Random
) -> _Call:
    """Once for each row of some of its arguments."""
    rows = [rng.random() < 0.7 for _ in names]
    params = " ".join(
        f"({name}: [times_]{kind})" if row else f"({name}: {kind})"
        for name, kind, row in zip(names, kinds, rows, strict=True)
    )
    args = " ".join(
        _given(pat, f"{name}[i_]" if row else name)
        for pat, name, row in zip(one.params, names, rows, strict=True)
    )
    if not any(rows):
        return params + " (times_: i64)", f"map (\\i_ -> {fun} {args}) (iota times_)", "in a map"
    return f"[times_] {params}", f"map (\\i_ -> {fun} {args}) (iota times_)", "in a map"


def _in_loop(
    one: typed.Def, names: list[str], kinds: list[str], fun: str, rng: random.Random
) -> _Call:
    """Again and again with what it gave as one of its arguments."""
    fit = [k for k, pat in enumerate(one.params) if _rank(pat.type) == _rank(one.ret)]
    if not fit:
        return None
    at = rng.choice(fit)
    params = " ".join(f"({name}: {kind})" for name, kind in zip(names, kinds, strict=True))
    args = [_given(pat, name) for pat, name in zip(one.params, names, strict=True)]
    args[at] = "q_"
    start = f"(copy {names[at]})"
    body = f"loop q_ = {start} for i_ < times_ do ({fun} {' '.join(args)}) :> {kinds[at]}"
    if not isinstance(one.ret, Array):
        body = body.replace(f" :> {kinds[at]}", "")
    return params + " (times_: i64)", body, "in a loop"


def _in_branch(
    one: typed.Def, names: list[str], kinds: list[str], fun: str, rng: random.Random
) -> _Call:
    """In both branches of a condition, in one with its arguments turned round."""
    params = " ".join(f"({name}: {kind})" for name, kind in zip(names, kinds, strict=True))
    plain = [_given(pat, name) for pat, name in zip(one.params, names, strict=True)]
    turned = [
        f"(reverse {name})" if isinstance(pat.type, Array) else arg
        for pat, name, arg in zip(one.params, names, plain, strict=True)
    ]
    body = f"if times_ > 1 then {fun} {' '.join(plain)} else {fun} {' '.join(turned)}"
    return params + " (times_: i64)", body, "in a branch"


def _given(pat: typed.Pat, text: str) -> str:
    """An argument, which may be consumed where that is a copy."""
    consumed = isinstance(pat, typed.PVar) and pat.consumes
    return f"(copy {text})" if consumed else text


def _rank(kind: Type) -> tuple[int, Type]:
    return (len(kind.dims), kind.elem) if isinstance(kind, Array) else (0, kind)


def _sizes(pats: Sequence[typed.Pat]) -> list[Name]:
    """The sizes that parameters have, in order."""
    dims = [size for pat in pats if isinstance(pat.type, Array) for size in pat.type.dims]
    return list(dict.fromkeys(size.name for size in dims if isinstance(size, SizeVar)))


def _shown(kind: Type) -> str:
    """The type of a parameter, with the names of its sizes."""
    if not isinstance(kind, Array):
        assert isinstance(kind, PrimT)
        return kind.prim
    assert isinstance(kind.elem, PrimT)
    return "".join(f"[{_size(size)}]" for size in kind.dims) + kind.elem.prim


def _size(size: object) -> str:
    match size:
        case SizeConst(value):
            return str(value)
        case SizeVar(name):
            return f"{base_of(name)}_"
    return ""


# --- inputs ------------------------------------------------------------------------------------


def random_inputs(one: typed.Def, rng: random.Random) -> list[Value]:
    """Small values for an entry point: sizes from 0, numbers around 0."""
    sizes: dict[str, int] = {}

    def extent(size: object) -> int:
        if isinstance(size, SizeConst):
            return size.value
        key = size.name if isinstance(size, SizeVar) else str(size)
        return sizes.setdefault(key, rng.choice((0, 1, 2, 3, LONGEST_RANDOM, LONGEST_RANDOM)))

    found: list[Value] = []
    for pat in one.params:
        dims = [extent(size) for size in pat.type.dims] if isinstance(pat.type, Array) else []
        elem = pat.type.elem if isinstance(pat.type, Array) else pat.type
        assert isinstance(elem, PrimT)
        value = _random(dims, elem.prim, rng)
        if isinstance(pat, typed.PVar) and not dims and elem.prim == "i64" and pat.name in sizes:
            value = np.int64(sizes[pat.name])
        found.append(value)
    return found


def _random(dims: Sequence[int], prim: Prim, rng: random.Random) -> Value:
    count = int(np.prod(dims)) if dims else 1
    flat: Sequence[float]
    if prim == "bool":
        flat = [rng.random() < 0.5 for _ in range(count)]
    elif prim[0] == "f":
        flat = [rng.randint(-16, 24) / 8 for _ in range(count)]
    else:
        flat = [rng.randint(0 if prim[0] == "u" else -2, 5) for _ in range(count)]
    return np.array(flat, DTYPE[prim]).reshape(dims)[()]


def fitted(given: Sequence[Value], one: typed.Def, before: typed.Def) -> list[Value] | None:
    """Inputs of a program as those of a mutant: of its types, with rows and numbers of its own.

    None where that is not possible.
    """
    ranks = [_rank(pat.type)[0] for pat in before.params]
    if len(given) != len(ranks) or len(one.params) - len(ranks) not in (0, 1):
        return None
    found: list[Value] = []
    extents = {extent for value in given for extent in np.shape(value)}
    for k, pat in enumerate(one.params):
        rank, elem = _rank(pat.type)
        assert isinstance(elem, PrimT)
        if k == len(given):
            found.append(np.array(2, DTYPE[elem.prim])[()])
            continue
        value = np.asarray(_smaller(given[k], extents))
        if rank == value.ndim + 1:
            value = np.stack([value, value[::-1] if value.ndim else value])
        if rank != value.ndim:
            return None
        with np.errstate(all="ignore"):
            found.append(value.astype(DTYPE[elem.prim])[()])
    return found


def _smaller(value: Value, extents: set[int]) -> Value:
    """A number, unless it is a size of an input, that a loop may go up to."""
    if value.shape or value.dtype.kind not in "iu" or int(value) in extents:
        return value
    return value.dtype.type(min(int(value), SMALL))


def accepted(made: Mutant, name: str, options: Options) -> typed.Def:
    """The entry point of a mutant, which our checker accepts. Raises CompileError otherwise."""
    work = Compilation(made.declared(name), options)
    return definition(work.result("typed").prog, name)


Refused = Callable[[Mutant, CompileError], None]


def chosen(
    subject: Subject, name: str, rng: random.Random, refused: Refused, tries: int = 10
) -> tuple[Mutant, typed.Def] | None:
    """The first mutant that our checker accepts, and its entry point; `refused` hears of others."""
    for _ in range(tries):
        made = mutant(subject, rng)
        if not made.changes:
            continue
        try:
            one = accepted(made, name, subject.options)
        except CompileError as error:
            refused(made, error)
            continue
        if rng.random() < 0.3:
            other = called_otherwise(made, one, rng)
            try:
                called = accepted(other, name, subject.options)
                if is_plain(called):
                    return other, called
            except CompileError as error:
                refused(other, error)
        return made, one
    return None
