"""The prelude: Futhark definitions for every program, checked once and cached.

The checked `prelude/*.fut` is pickled into the user's cache folder under a hash of everything that
it depends on, and kept in the process. A program takes only the definitions that it reaches. Names
bound in the prelude have tags that begin with 0, unlike those of programs.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from dataclasses import field
from functools import cache
from pathlib import Path

from compiler.base import cache as kept
from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.errors import CompilerBug
from compiler.base.names import Name, NameSource, base_of
from compiler.base.prim import FLOATS, INTS, NUMBERS, PRIMS, Prim
from compiler.base.spans import PRELUDE
from compiler.frontend import decs
from compiler.frontend import typed as t
from compiler.frontend.check.definitions.functions import bind_type_params
from compiler.frontend.check.definitions.type_exps import resolve_type
from compiler.frontend.check.expressions.table import TABLE
from compiler.frontend.check.program import Checked, check_decs
from compiler.frontend.check.scope.builtins import BITS_OF, member_names
from compiler.frontend.check.scope.scope import (
    ACCUMULATOR,
    Abbreviation,
    Builtin,
    Module,
    Scheme,
    Scope,
    Value,
)
from compiler.frontend.check.scope.state import Checker
from compiler.frontend.check.types.metas import PRIM_T, resolve
from compiler.frontend.intrinsics import INTRINSICS, PUBLIC
from compiler.frontend.parser import parse

FOLDER = Path(__file__).parent.parent / "prelude"
FILES = (
    "functions",
    "zips",
    "operators",
    "arrays",
    "lmads",
    "accumulators",
    "derivatives",
    "sorting",
)


class PreludeNames(NameSource):
    """Names with tags like `012`."""

    def fresh(self, base: str) -> Name:
        """Return a new name that no program's own names can equal."""
        self._next += 1
        return f"{base_of(base)}_0{self._next}"

    def authored(self, base: str, said: str) -> Name:
        """Return a fresh name: the prelude is not the author's."""
        return self.fresh(base)


@dataclass(slots=True)
class Prelude:
    """The checked prelude: its scope, its definitions in order, and their call graph."""

    values: dict[str, Value] = field(default_factory=dict)
    modules: dict[str, Module] = field(default_factory=dict)
    module_types: dict[str, object] = field(default_factory=dict)
    defs: dict[Name, t.Def] = field(default_factory=dict)
    uses: dict[Name, tuple[Name, ...]] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    """Names of definitions with `local`, which only the prelude sees."""

    def scope(self) -> Scope:
        """Return a new scope with the prelude's names."""
        scope = Scope()
        scope.values = dict(self.values)
        scope.types = {"acc": ACCUMULATOR}
        scope.modules = dict(self.modules)
        scope.module_types = dict(self.module_types)
        return scope

    def reachable(self, roots: set[Name]) -> list[t.Def]:
        """Return the definitions that `roots` need, in order of definition."""
        seen: set[Name] = set()
        todo = [name for name in roots if name in self.defs]
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                todo.extend(self.uses[name])
        return [d for name, d in self.defs.items() if name in seen] if seen else []


@cache
def load() -> Prelude:
    """Return the prelude from this process or the cache folder, or check it."""
    name = f"prelude-{_fingerprint()}.pickle"
    found = _unpickled(kept.load(name))
    if found is None:
        found = build()
        kept.keep(name, pickle.dumps(found, protocol=pickle.HIGHEST_PROTOCOL))
    return found


def _unpickled(data: bytes | None) -> Prelude | None:
    try:
        found = pickle.loads(data) if data else None
    except Exception:  # a damaged file: the prelude is checked anew
        return None
    return found if isinstance(found, Prelude) else None


def _fingerprint() -> str:
    """Hash the front end's sources, their dependences, and the Python version."""
    digest = hashlib.sha256(sys.version.encode())
    root = FOLDER.parent
    below = [path for name in ("base", "algebra") for path in (root.parent / name).glob("*.py")]
    for path in sorted([*root.rglob("*"), *below]):
        if path.suffix in (".py", ".fut", ".lark"):
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:24]


# --- building ------------------------------------------------------------------------------------


def build() -> Prelude:
    """Check the prelude's files.

    Errors: `CompilerBug` when one of them is wrong.
    """
    prelude = Prelude()
    st = Checker(Ctx(names=PreludeNames()), table=TABLE)
    modules: dict[Prim, Module] = {p: _prim_module(p) for p in PRIMS}
    for prim, module in modules.items():
        st.scope.bind_module(prim, module)
    st.scope.bind_type("acc", ACCUMULATOR)
    intrinsics = _intrinsics(st)
    st.scope.bind_module("intrinsics", intrinsics)
    out = Checked(st)
    for name in FILES:
        _check_file(prelude, out, name)
    prelude.values = {n: v for n, v in st.scope.values.items() if n not in prelude.hidden}
    for prim in NUMBERS:
        _check_members(prelude, out, prim, modules)
    public = Module({name: intrinsics.values[name] for name in PUBLIC}, {"acc": ACCUMULATOR})
    prelude.modules = {**{p: modules[p] for p in PRIMS}, "intrinsics": public}
    _check_file(prelude, out, "modules/types")
    prelude.module_types = dict(st.scope.module_types)
    return prelude


def _prim_module(prim: Prim) -> Module:
    types = {"t": Abbreviation((), PRIM_T[prim])}
    if prim in FLOATS:
        types["int_t"] = Abbreviation((), PRIM_T[BITS_OF[prim]])
    return Module(prim=prim, types=types)


def _check_file(prelude: Prelude, out: Checked, name: str) -> None:
    file = f"{PRELUDE}{name}.fut"
    program = parse((FOLDER / f"{name}.fut").read_text(), file)
    for dec in program.decs:
        before = len(out.defs)
        if isinstance(dec, decs.LocalDec) and isinstance(dec.dec, decs.ValDec):
            prelude.hidden.add(dec.dec.name)
        out.st.used.clear()
        out.here.own.clear()
        check_decs(out, (dec,))
        if out.errors:
            raise CompilerBug(f"{file}: {out.errors[0].render()}")
        for definition in out.defs[before:]:
            prelude.defs[definition.name] = definition
            prelude.uses[definition.name] = tuple(
                n for n in out.st.used if n in prelude.defs and n != definition.name
            )


def _check_members(prelude: Prelude, out: Checked, prim: Prim, modules: dict[Prim, Module]) -> None:
    """Check the Futhark part of one numeric module, with the names that its files need."""
    scope = out.st.scope
    mark = scope.mark()
    scope.bind_type("t", Abbreviation((), PRIM_T[prim]))
    for name in member_names(prim):
        if name not in PRIM_T:
            scope.bind(name, Builtin(prim, name))
    for source in ("i32", "i64"):
        scope.bind(f"t_of_{source}", Builtin(prim, source))
        scope.bind(f"t_to_{source}", Builtin(source, prim))
    if prim in FLOATS:
        scope.bind_module("bits", modules[BITS_OF[prim]])
    if prim in INTS:
        unsigned = f"u{prim[1:]}"
        scope.bind("to_unsigned", Builtin(unsigned, prim))
        scope.bind("of_unsigned", Builtin(prim, unsigned))
        scope.bind("shift_unsigned", Builtin(unsigned, ">>"))
    inner = scope.mark()
    for file in ("numbers", "floats" if prim in FLOATS else "integers"):
        before = len(prelude.defs)
        _check_file(prelude, out, f"modules/{file}")
        for definition in list(prelude.defs.values())[before:]:
            modules[prim].values[definition.source_name] = scope.values[definition.source_name]
    scope.leave(inner)
    scope.leave(mark)


def _intrinsics(st: Checker) -> Module:
    """Build the module of intrinsics from their types, which are written in Futhark."""
    specs = "\n".join(
        f"val {name} {':' if type_.startswith('(') else ''} {type_}"
        for name, type_ in INTRINSICS.items()
    )
    program = parse(f"module type intrinsics = {{\n{specs}\n}}\n", f"{PRELUDE}intrinsics")
    dec = program.decs[0]
    assert isinstance(dec, decs.ModTypeDec)
    assert isinstance(dec.type, decs.MTSig)
    module = Module()
    for spec in dec.type.specs:
        assert isinstance(spec, decs.ValSpec)
        module.values[spec.name] = _intrinsic(st, spec)
    return module


def _intrinsic(st: Checker, spec: decs.ValSpec) -> Scheme:
    mark = st.scope.mark()
    types: list[Name] = []
    sizes: list[Name] = []
    unsized: set[Name] = set()
    lifted = bind_type_params(st, spec.type_params, types, sizes, unsized)
    found = resolve_type(st, spec.type, st.size_meta)
    st.scope.leave(mark)
    name = f"intrinsics.{spec.name}"
    return Scheme(
        name,
        tuple(types),
        tuple(sizes),
        resolve(found.type),
        frozenset(lifted),
        spec.span,
        frozenset(unsized),
    )
