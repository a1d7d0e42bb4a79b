"""Choose functions with arrays that are shared rather than inlined.

Large functions that a program would copy many times, called outside of parallel operators, are
simplified, fused and flattened once. A call is then one opaque statement (`Call`): the function
overwrites none of its parameters, and its array results are fresh. Literal arguments are known
inside: there is a version of the function for each list of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.names import Name, base_of
from compiler.base.remarks import Applied
from compiler.base.rules import Limit, Rule
from compiler.base.spans import Prov
from compiler.ir import walk
from compiler.ir.aliases import aliases
from compiler.ir.nodes import (
    Array,
    Body,
    Call,
    Exp,
    Function,
    If,
    Lit,
    Loop,
    Operand,
    Param,
    Prog,
    Soac,
    Stm,
    Var,
)
from compiler.ir.types import as_operand
from compiler.ir.walk import Replacement

PROGRAM = Limit(
    "simplify/share-function/program", "statements in the copies of all functions", 1_000
)
"""Minimum program size for sharing."""
LEAST = Limit("simplify/share-function/least", "statements of the function, with what it calls", 50)
COPIES = Limit("simplify/share-function/copies", "statements in all copies but the first", 250)
"""Minimum total size of the copies beyond the first."""
SHARED = Rule(
    "simplify/share-function",
    "Does not inline a large function with arrays that would be copied many times.",
    limits=(PROGRAM, LEAST, COPIES),
)

Known = tuple[Lit | None, ...]
"""Literal arguments of a call, by position."""
_Roots = frozenset[Name]


@dataclass(frozen=True, slots=True)
class _Version:
    """A function specialised to literal arguments."""

    fun: str
    known: Known


def shared(
    prog: Prog, calls: Mapping[str, Sequence[tuple[Stm, str]]], sizes: Mapping[str, int], ctx: Ctx
) -> tuple[Prog, frozenset[str]]:
    """Return the program with shared versions of functions, and their names.

    `calls`: callees by function. `sizes`: statements of each body. Other calls are unchanged.
    """
    sharing = _Sharing(prog, calls, sizes, ctx)
    return sharing.program() if sharing.stay else (prog, frozenset())


class _Sharing:
    """Chooses versions, from callers to callees, and builds the program."""

    def __init__(
        self,
        prog: Prog,
        calls: Mapping[str, Sequence[tuple[Stm, str]]],
        sizes: Mapping[str, int],
        ctx: Ctx,
    ) -> None:
        self.prog = prog
        self.ctx = ctx
        self.whole = _whole(prog, calls, sizes)
        self.may = _candidates(prog, calls)
        self.stay: dict[_Version, str] = {}
        """Names of the shared versions."""
        if self.may:
            self.choose()

    def choose(self) -> None:
        """Decide on each version once all its calls are known."""
        copies: dict[str, dict[Known, int]] = {fun.name: {} for fun in self.prog.funs}
        for fun in reversed(self.prog.funs):
            rest = int(fun.entry)
            for known, many in copies[fun.name].items():
                version = _Version(fun.name, known)
                if self.stays(fun, many) and self.commit(fun, version, many):
                    inside = 0 if fun.entry and not any(known) else 1
                    self.count(fun, known, inside, copies)
                else:
                    rest += many
            self.count(fun, (None,) * len(fun.params), rest, copies)

    def count(
        self, fun: Function, known: Known, many: int, copies: dict[str, dict[Known, int]]
    ) -> None:
        """Count the calls made by `many` copies of a function's body."""
        if not many:
            return
        values = _values(fun, known)
        for call in _host_calls(fun.body.stms):
            found = copies[call.fun]
            given = _literals(call.args, values) if call.fun in self.may else ()
            found[given] = found.get(given, 0) + many

    def stays(self, fun: Function, copies: int) -> bool:
        """True if so many copies of a function should be one."""
        size, limit = self.whole[fun.name], self.ctx.options.limit
        large = size >= limit(LEAST) and size * (copies - 1) >= limit(COPIES)
        return fun.name in self.may and copies > 1 and large

    def commit(self, fun: Function, version: _Version, copies: int) -> bool:
        """Share a version, unless the rule is switched off."""
        because = (
            f"`{base_of(fun.name)}` is not inlined: that would make {copies} copies of "
            f"its {self.whole[fun.name]} statements."
        )
        name = self.ctx.fresh(fun.name) if any(version.known) else fun.name
        made = self.ctx.commit(SHARED, fun.prov, Applied(name, because))
        if made is not None:
            self.stay[version] = made
        return made is not None

    def program(self) -> tuple[Prog, frozenset[str]]:
        """Return all functions, with calls of the shared ones."""
        funs: list[Function] = []
        for fun in self.prog.funs:
            for version, name in self.stay.items():
                if version.fun == fun.name and any(version.known):
                    funs.append(self.version(fun, version, name))
            results = fun.results
            if _Version(fun.name, (None,) * len(fun.params)) in self.stay:
                results = _as_own(results)
            funs.append(replace(fun, results=results, body=self.calling(fun.body)))
        return Prog(tuple(funs)), frozenset(self.stay.values())

    def version(self, fun: Function, version: _Version, name: str) -> Function:
        """Return a specialised function with fresh names."""
        known = _values(fun, version.known)
        made = with_own_names(fun, self.ctx.fresh, known)
        body = self.calling(made.body)
        results = _as_own(made.results)
        return replace(made, name=name, results=results, body=body, entry=False, implicit=0)

    def calling(self, body: Body) -> Body:
        """Redirect the calls of a body outside parallel operators."""
        return replace(body, stms=self.stms(body.stms))

    def stms(self, stms: tuple[Stm, ...]) -> tuple[Stm, ...]:
        return tuple(self.stm(stm) for stm in stms)

    def stm(self, stm: Stm) -> Stm:
        exp = stm.exp
        if isinstance(exp, Call) and exp.fun in self.may:
            known = _literals(exp.args, {})
            name = self.stay.get(_Version(exp.fun, known))
            if name is None:
                return stm
            args = tuple(arg for arg, one in zip(exp.args, known, strict=True) if one is None)
            return Stm(stm.pat, Call(name, args), stm.prov)
        if isinstance(exp, If | Loop):
            return Stm(stm.pat, walk.map_stms(exp, self.stms), stm.prov)
        return stm


def with_own_names(
    fun: Function,
    fresh: Callable[[str], Name],
    known: Mapping[Name, Lit] = MappingProxyType({}),
    prov: Callable[[Prov], Prov] | None = None,
) -> Function:
    """Copy a function with fresh names, specialised to `known` parameters.

    `prov` maps the provenance of statements.
    """
    given: dict[Name, Replacement] = dict(known)
    params: list[Param] = []
    results: list[Param] = []
    for params_of, made in ((fun.params, params), (fun.results, results)):
        for param in params_of:
            if param.name not in known:
                made.append(replace(param, name=fresh(param.name)))
                given[param.name] = as_operand(made[-1])
    return replace(
        fun,
        params=_substituted(params, given),
        results=_substituted(results, given),
        body=walk.rename(fun.body, fresh, given, prov),
    )


def _substituted(params: list[Param], given: Mapping[Name, Replacement]) -> tuple[Param, ...]:
    return tuple(replace(param, type=walk.subst(param.type, given)) for param in params)


def _as_own(results: tuple[Param, ...]) -> tuple[Param, ...]:
    """Mark array results as fresh."""
    return tuple(replace(r, unique=isinstance(r.type, Array)) for r in results)


def _literals(args: Sequence[Operand], values: Mapping[Name, Lit]) -> Known:
    """Return the literal arguments; `values` are the caller's known parameters."""
    return tuple(
        arg if isinstance(arg, Lit) else values.get(arg.name) if isinstance(arg, Var) else None
        for arg in args
    )


def _values(fun: Function, known: Known) -> dict[Name, Lit]:
    pairs = zip(fun.params, known, strict=True)
    return {param.name: value for param, value in pairs if value is not None}


def _whole(
    prog: Prog, calls: Mapping[str, Sequence[tuple[Stm, str]]], sizes: Mapping[str, int]
) -> dict[str, int]:
    """Return the statements of each function, including all that it calls."""
    whole: dict[str, int] = {}
    for fun in prog.funs:
        whole[fun.name] = sizes[fun.name] + sum(whole[callee] for _, callee in calls[fun.name])
    return whole


def _host_calls(stms: Sequence[Stm]) -> Iterator[Call]:
    """Yield the calls outside of parallel operators."""
    for stm in stms:
        if isinstance(stm.exp, Call):
            yield stm.exp
        elif isinstance(stm.exp, If | Loop):
            for body in walk.children(stm.exp):
                yield from _host_calls(walk.stms_of(body))


def _candidates(prog: Prog, calls: Mapping[str, Sequence[tuple[Stm, str]]]) -> frozenset[str]:
    """Return the functions that may be shared: those called only outside parallel operators."""
    inner: set[str] = set()
    for fun in reversed(prog.funs):
        here = [callee for _, callee in calls[fun.name]]
        if fun.name not in inner:
            for call in _host_calls(fun.body.stms):
                here.remove(call.fun)
        inner.update(here)
    own = _with_own_results(prog)
    return frozenset(
        fun.name
        for fun in prog.funs
        if fun.name in own and fun.name not in inner and not any(p.unique for p in fun.params)
    )


# --- which results share memory ---------------------------------------------------------------


def _with_own_results(prog: Prog) -> frozenset[str]:
    """Return the functions whose array results alias no parameter and not each other."""
    own: set[str] = set()
    functions: dict[str, Function] = {}
    for fun in prog.funs:
        functions[fun.name] = fun
        roots = _of_body(fun.body, {}, own, functions)
        arrays = [found for found, r in zip(roots, fun.results, strict=True) if _is_array(r)]
        seen: set[Name] = {param.name for param in fun.params}
        for found in arrays:
            if not seen.isdisjoint(found):
                break
            seen.update(found)
        else:
            own.add(fun.name)
    return frozenset(own)


def _is_array(param: Param) -> bool:
    return isinstance(param.type, Array)


def _of_body(
    body: Body, outer: Mapping[Name, _Roots], own: set[str], functions: Mapping[str, Function]
) -> list[_Roots]:
    """Return for each result the arrays that it may alias: inner ones, or outer roots."""
    roots: dict[Name, _Roots] = dict(outer)

    def of(value: Operand) -> _Roots:
        return roots.get(value, frozenset((value,))) if isinstance(value, str) else frozenset()

    for stm in body.stms:
        if not any(map(_is_array, stm.pat)):
            continue
        for param, found in zip(stm.pat, _of_stm(stm, of, roots, own, functions), strict=True):
            roots[param.name] = found
    return [of(value) for value in body.results]


def _of_stm(
    stm: Stm,
    of: Callable[[Operand], _Roots],
    roots: Mapping[Name, _Roots],
    own: set[str],
    functions: Mapping[str, Function],
) -> list[_Roots]:
    """Return for each bound name the arrays that it may alias."""
    exp: Exp = stm.exp
    names = [frozenset((param.name,)) for param in stm.pat]
    match exp:
        case If(_, then, orelse):
            one, other = (_of_body(body, roots, own, functions) for body in (then, orelse))
            return [a | b for a, b in zip(one, other, strict=True)]
        case Loop(params, init, _, body):
            after = _of_body(body, roots, own, functions)
            found = {p.name: of(value) for p, value in zip(params, init, strict=True)}
            for _ in params:
                found = {
                    p.name: found[p.name].union(*(found.get(x, (x,)) for x in ends))
                    for p, ends in zip(params, after, strict=True)
                }
            return [found[param.name] for param in params]
        case Call(name, args) if name not in own:
            some = frozenset((stm.pat[0].name,)).union(*map(of, args))
            return [some for _ in names]
    if isinstance(exp, Soac | Call):
        return names
    views = aliases(stm, functions)
    return [
        frozenset((param.name,)).union(*map(of, found)) if found else name
        for param, name, found in zip(stm.pat, names, views, strict=True)
    ]
