"""Inline calls; entry points remain, and large functions.

Functions come in order of dependence. Statements keep their source places and get the call's in
addition; places in the prelude are dropped, since the author never sees it.

A scalar function that a large program would copy many times is not inlined, and its calls become
`Apply` (`ir/scalar_functions.py`). Large functions with arrays also remain (`shared_functions.py`).
In a large program, calls with known arguments are evaluated at compile time, such as constants
computed by a loop, which shrinks what depends on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from functools import partial
from operator import is_

from compiler.base.context import Ctx
from compiler.base.lazy import later
from compiler.base.names import Name, base_of
from compiler.base.remarks import Applied
from compiler.base.rules import Limit, Pass, Rule
from compiler.base.spans import Prov, merge_prov
from compiler.ir import walk
from compiler.ir.nodes import (
    Apply,
    Array,
    ArrayLit,
    Body,
    Call,
    Exp,
    Function,
    Lit,
    Operand,
    Param,
    Prog,
    Scalar,
    Stm,
    Var,
)
from compiler.ir.scalar_functions import is_of_scalars
from compiler.ir.sharing import unique_arrays
from compiler.ir.sizes import poly_of
from compiler.ir.walk import Replacement
from compiler.optimise.dead import remove_dead
from compiler.optimise.forwarded_results import remove_forwarded_results
from compiler.optimise.shared_functions import PROGRAM as MANY
from compiler.optimise.shared_functions import SHARED, shared, with_own_names
from compiler.optimise.simplify import SIMPLIFY, arith, settled
from compiler.optimise.simplify.bodies import Instead, splice
from compiler.optimise.simplify.engine import BY_CLASS, HANDLERS, simplify_function
from compiler.optimise.simplify.scalars import operands
from compiler.optimise.simplify.state import State

_results_of = later("compiler.semantics.computed", "results_of")

INLINED = Rule(
    "simplify/inline",
    "Inlines functions.",
    optional=False,
)
PROGRAM = Limit(
    "simplify/keep-function/program", "statements in the copies of all functions", 2_000
)
"""Limit above which functions are simplified before they are copied."""
LEAST = Limit("simplify/keep-function/least", "statements of the function", 24)
"""Minimum size of a function that is not inlined: the simplifier sees through calls of smaller
ones."""
COPIES = Limit("simplify/keep-function/copies", "statements in all copies of the function", 240)
"""Minimum total size of the copies of a function that is not inlined."""
KEPT = Rule(
    "simplify/keep-function",
    "Does not inline a function of scalars that would be copied many times.",
    limits=(PROGRAM, LEAST, COPIES),
)

STEPS = Limit(
    "simplify/compute-call/steps", "statements that are evaluated for all such calls", 40_000
)
"""Evaluation budget; a call may take half of the rest."""
COMPUTED = Rule(
    "simplify/compute-call",
    "Evaluates a call at compile time, if its arguments are known and its results are scalars.",
    limits=(PROGRAM, STEPS),
)

_LARGE = 20_000
"""Number of statements above which functions are simplified before they are copied, where none
may remain."""
NEAREST = 16
"""Maximum number of places kept at each end of a chain of calls."""

Known = tuple[Lit | ArrayLit | None, ...]
"""Known values of a call's arguments, by position."""


def inline(prog: Prog, ctx: Ctx) -> Prog:
    """Inline every call, and drop functions that are no entries."""
    if len(prog.funs) == 1 and not _calls(prog.funs[0]):
        return prog
    calls = {fun.name: _calls(fun) for fun in prog.funs}
    sizes = _sizes(prog)
    stay: frozenset[str] = frozenset()
    if _copied(_uses(prog, calls, stay), sizes) > ctx.options.limit(MANY):
        slim = remove_forwarded_results(prog)
        less = {fun.name: _calls(fun) for fun in slim.funs}
        slim, stay = shared(slim, less, _sizes(slim), ctx)
        if stay:
            prog = slim
            calls = {fun.name: _calls(fun) for fun in prog.funs}
            sizes = _sizes(prog)
    functions = {fun.name: fun for fun in prog.funs}
    _remark(functions, calls, stay, ctx)
    uses = _uses(prog, calls, stay)
    roots = [fun for fun in prog.funs if fun.entry or fun.name in stay]
    few = ctx.options.limit(PROGRAM) if _may_stay(prog, calls, uses, sizes, ctx) else _LARGE
    if _copied(uses, sizes) > few and not ctx.options.is_off(SIMPLIFY):
        made = _Simplified(ctx, functions, uses, unique_arrays(prog), stay)
        whole = [made.function(fun) for fun in roots]
        return Prog((*made.kept.values(), *whole))

    def gives_way(stm: Stm) -> bool:
        return isinstance(stm.exp, Call) and stm.exp.fun not in stay

    return _with(prog, [_Inliner(ctx, functions, uses, gives_way).function(fun) for fun in roots])


def inline_some(prog: Prog, ctx: Ctx, gives_way: Callable[[Stm], bool]) -> Prog:
    """Inline the calls that `gives_way` selects, without simplifying.

    Drops functions without remaining calls.
    """
    calls = {fun.name: _calls(fun) for fun in prog.funs}
    if not any(calls.values()):
        return prog
    functions = {fun.name: fun for fun in prog.funs}
    gone = {name: [call for call in found if gives_way(call[0])] for name, found in calls.items()}
    _remark(functions, gone, frozenset(), ctx)
    uses = _uses(prog, calls, frozenset())
    inliner = partial(_Inliner, ctx, functions, uses, gives_way=gives_way, is_last=True)
    made = [inliner().function(fun) for fun in prog.funs]
    before = {callee for found in calls.values() for _, callee in found}
    return _with(prog, _called_still(made, before))


def _called_still(funs: list[Function], before: Set[str]) -> list[Function]:
    """Drop functions that were called `before` and no longer are."""
    kept: list[Function] = []
    needed: set[str] = set()
    for fun in reversed(funs):
        if fun.entry or fun.name not in before or fun.name in needed:
            kept.append(fun)
            needed.update(callee for _, callee in _calls(fun))
    return kept[::-1]


def _with(prog: Prog, funs: list[Function]) -> Prog:
    """Return a program of these functions; the same object if they are its own."""
    same = len(funs) == len(prog.funs) and all(map(is_, funs, prog.funs))
    return prog if same else Prog(tuple(funs))


def _sizes(prog: Prog) -> dict[str, int]:
    """Return the number of statements of each function."""
    return {fun.name: sum(1 for _ in walk.all_stms(fun.body.stms)) for fun in prog.funs}


def _copied(uses: dict[str, int], sizes: dict[str, int]) -> int:
    """Return the number of statements after all copies are made."""
    return sum(uses[name] * size for name, size in sizes.items())


def _calls(fun: Function) -> list[tuple[Stm, str]]:
    """Return the calls in a function, with their callees."""
    every = walk.all_stms(fun.body.stms)
    return [(stm, stm.exp.fun) for stm in every if isinstance(stm.exp, Call)]


def _uses(prog: Prog, calls: dict[str, list[tuple[Stm, str]]], stay: Set[str]) -> dict[str, int]:
    """Count the final copies of each function's body, its own included if it remains."""
    uses = {fun.name: int(fun.entry or fun.name in stay) for fun in prog.funs}
    for fun in reversed(prog.funs):
        for _, callee in calls[fun.name]:
            if callee not in stay:
                uses[callee] += uses[fun.name]
    return uses


def _may_stay(
    prog: Prog,
    calls: dict[str, list[tuple[Stm, str]]],
    uses: dict[str, int],
    sizes: dict[str, int],
    ctx: Ctx,
) -> bool:
    """True if a function is scalar, with all that it calls, and would be copied many times."""
    whole: dict[str, int] = {}
    for fun in prog.funs:
        if is_of_scalars(replace(fun, entry=False), whole.keys()):
            size = sizes[fun.name] + sum(whole[callee] for _, callee in calls[fun.name])
            if _are_many(size, uses[fun.name], ctx):
                return True
            whole[fun.name] = size
    return False


def _are_many(size: int, uses: int, ctx: Ctx) -> bool:
    """True if so many copies of so many statements should be one function."""
    limit = ctx.options.limit
    return size >= limit(LEAST) and size * uses >= limit(COPIES)


def _remark(
    functions: dict[str, Function],
    calls: dict[str, list[tuple[Stm, str]]],
    stay: Set[str],
    ctx: Ctx,
) -> None:
    """Remark on inlined calls of the author's functions."""
    for name in functions:
        for stm, callee in calls[name]:
            if callee not in stay and any(span.is_own for span in functions[callee].prov):
                said = f"`{base_of(callee)}` is inlined here."
                ctx.tell("applied", INLINED, stm.prov, said)


class _Inliner:
    """Inlines one entry; `aliases` maps a bound result to the actual array.

    Replaces a call by a copy of its function's body as written, whose calls are inlined in turn:
    each statement is copied once, to its final place.
    """

    __slots__ = ("aliases", "ctx", "functions", "gives_way", "is_last", "uses")

    def __init__(
        self,
        ctx: Ctx,
        functions: dict[str, Function],
        uses: dict[str, int],
        gives_way: Callable[[Stm], bool],
        *,
        is_last: bool = False,
    ) -> None:
        """`gives_way`: selects calls to inline. `is_last`: no simplification follows."""
        self.ctx = ctx
        self.is_last = is_last
        self.functions = functions
        self.uses = uses
        self.gives_way = gives_way
        self.aliases: dict[Name, Name] = {}

    def function(self, fun: Function) -> Function:
        stms = self.stms(fun.body.stms)
        if stms is fun.body.stms:
            return fun
        body = replace(fun.body, stms=stms)
        if self.aliases:
            body = walk.subst(body, {name: self.resolve(name) for name in self.aliases})
        return replace(fun, body=body)

    def resolve(self, name: Name) -> Name:
        """Return the array at the end of a chain of aliases."""
        while name in self.aliases:
            name = self.aliases[name]
        return name

    def stms(self, stms: tuple[Stm, ...]) -> tuple[Stm, ...]:
        """Inline the calls of statements; the same tuple if there are none."""
        new: list[Stm] = []
        changed = False
        todo = [*reversed(stms)]
        while todo:
            stm = todo.pop()
            if isinstance(stm.exp, Call) and self.gives_way(stm):
                todo.extend(reversed(self.call(stm, stm.exp)))
                changed = True
                continue
            exp: Exp = walk.map_stms(stm.exp, self.stms)
            if exp is not stm.exp:
                changed = True
                stm = Stm(stm.pat, exp, stm.prov)
            new.append(stm)
        return tuple(new) if changed else stms

    def call(self, stm: Stm, call: Call) -> list[Stm]:
        """Return the callee's statements, with parameters bound before and results after."""
        fresh = _same_name if self.uses[call.fun] == 1 else self.ctx.fresh
        fun = self.functions[call.fun]
        sizes = _sizes_of(fun) if self.is_last else frozenset()
        body = called(fun, stm, call.args, fresh, self.ctx, sizes)
        stms = [*body.stms]
        for target, value in zip(stm.pat, body.results, strict=True):
            if value == target.name or (isinstance(value, Var) and value.name == target.name):
                continue
            if isinstance(value, str):
                self.aliases[target.name] = value
            else:
                stms.append(Stm((target,), value, body.prov or stm.prov))
        return stms


class _Simplified:
    """Inlines a large program: functions are simplified before they are copied.

    A call is inlined when the simplifier reaches it, with its arguments known best. The function's
    body is simplified once per set of literal arguments, calls included, and the rest is copied,
    unless it remains a function. Code with arrays is always copied, after all rounds.
    """

    __slots__ = (
        "ctx",
        "functions",
        "handlers",
        "inlined",
        "kept",
        "stay",
        "steps",
        "unique",
        "uses",
        "versions",
    )

    def __init__(
        self,
        ctx: Ctx,
        functions: dict[str, Function],
        uses: dict[str, int],
        unique: set[Name],
        stay: Set[str],
    ) -> None:
        self.ctx = ctx
        self.functions = functions
        self.uses = uses
        self.unique = unique
        self.stay = stay
        self.handlers = {**HANDLERS, Call: self.call}
        self.versions: dict[tuple[str, Known], Function] = {}
        self.kept: dict[int, Function] = {}
        """Remaining functions, by version."""
        self.inlined: set[int] = set()
        self.steps = ctx.options.limit(STEPS)
        """Remaining evaluation budget."""

    def function(self, fun: Function) -> Function:
        fun, uses = remove_dead(fun)
        state = State(self.ctx, self.unique, uses, self.handlers, BY_CLASS, nest=False)
        return remove_dead(simplify_function(state, fun))[0]

    def call(self, s: State, stm: Stm) -> None:
        """Simplify the callee's statements in place of the call."""
        call = stm.exp
        assert isinstance(call, Call)
        if call.fun in self.stay:
            HANDLERS[Call](s, stm)
            return
        fun, args = self.functions[call.fun], operands(s, call.args)
        known: Known = tuple(arg if isinstance(arg, Lit) else None for arg in args)
        every = self.values(s, fun, args)
        if self.uses[call.fun] > 1 or every is not None:
            known = known if every is None else every
            fun = self.version(fun, known)
            args = tuple(arg for arg, value in zip(args, known, strict=True) if value is None)
            kept = self.stays(fun, self.uses[call.fun])
            if kept is not None:
                scalars = tuple(arg for arg in args if not isinstance(arg, str))
                HANDLERS[Apply](s, Stm(stm.pat, Apply(kept.name, scalars), stm.prov))
                return
        fresh = self.fresh if self.uses[call.fun] > 1 else _same_name
        body = called(fun, stm, args, fresh, self.ctx)

        def used(name: Name) -> None:
            s.counts[name] = s.counts.get(name, 0) + 1

        walk.visit(body, used, _same_name)
        splice(s, stm, Instead(body))

    def values(self, s: State, fun: Function, args: Sequence[Operand]) -> Known | None:
        """Return all arguments of a call if they are literals or lists of literals."""
        if self.ctx.options.is_off(COMPUTED) or not _are_scalars(fun.results):
            return None
        values = tuple(_value(s, arg) for arg in args)
        return None if None in values else values

    def version(self, fun: Function, known: Known) -> Function:
        """Return the function specialised to these values, with the other parameters."""
        made = self.versions.get((fun.name, known))
        if made is None:
            mapping: dict[Name, Replacement] = {}
            first: list[Stm] = []
            for param, value in zip(fun.params, known, strict=True):
                if isinstance(value, Lit):
                    mapping[param.name] = value
                elif value is not None:
                    first.append(Stm((replace(param, unique=False),), value, fun.prov))
            params = tuple(p for p, value in zip(fun.params, known, strict=True) if value is None)
            body = replace(fun.body, stms=(*first, *fun.body.stms))
            made = replace(fun, params=params, body=walk.subst(body, mapping))
            if _are_scalars((*made.params, *made.results)):
                made = self.computed(self.function(made))
            else:
                made = settled(made, self.ctx, self.unique, self.handlers)
            self.versions[fun.name, known] = made
        return made

    def computed(self, version: Function) -> Function:
        """Evaluate a version without parameters whose results are scalars."""
        if version.params or not version.body.stms:
            return version
        if self.ctx.options.is_off(COMPUTED):
            return version
        half = self.steps // 2
        callees = (*self.functions.values(), *self.kept.values())
        values, left = _results_of(version, callees, half)
        self.steps -= half - left
        if values is None:
            return version
        pairs = zip(version.results, values, strict=True)
        literals = [arith.literal(value, p.type.prim) for p, value in pairs]
        results = tuple(one for one in literals if one is not None)
        if len(results) < len(version.results):
            return version
        said = f"The compiler evaluated `{base_of(version.name)}`: all of its arguments are known."
        outcome = Applied(Body((), results, version.body.prov), said)
        body = self.ctx.commit(COMPUTED, version.prov, outcome)
        return version if body is None else replace(version, body=body)

    def stays(self, version: Function, uses: int) -> Function | None:
        """Return the function that calls of a version apply; None if it is inlined."""
        key = id(version)
        if key in self.kept or key in self.inlined:
            return self.kept.get(key)
        size = sum(1 for _ in walk.all_stms(version.body.stms))
        fun = replace(version, name=self.ctx.fresh(version.name), entry=False)
        if _are_many(size, uses, self.ctx) and is_of_scalars(fun):
            because = (
                f"`{base_of(fun.name)}` is not inlined: that would make {uses} copies "
                f"of its {size} statements."
            )
            made = self.ctx.commit(KEPT, fun.prov, Applied(fun, because))
            if made is not None:
                self.kept[key] = with_own_names(made, self.ctx.fresh, prov=_Placed(()).__getitem__)
                return self.kept[key]
        self.inlined.add(key)
        return None

    def fresh(self, name: Name) -> Name:
        """Return a fresh name for a copy, unique if the original is."""
        new = self.ctx.fresh(name)
        if name in self.unique:
            self.unique.add(new)
        return new


def _are_scalars(params: Sequence[Param]) -> bool:
    return all(isinstance(param.type, Scalar) for param in params)


def _value(s: State, arg: Operand) -> Lit | ArrayLit | None:
    """Return a literal, or a list of literals, or None."""
    if isinstance(arg, Lit):
        return arg
    exp = s.defs.get(arg) if isinstance(arg, str) else None
    is_known = isinstance(exp, ArrayLit) and all(isinstance(one, Lit) for one in exp.elems)
    return exp if isinstance(exp, ArrayLit) and is_known else None


def called(
    fun: Function,
    stm: Stm,
    args: Sequence[Operand],
    fresh: Callable[[str], Name],
    ctx: Ctx,
    sizes: Set[Name] = frozenset(),
) -> Body:
    """Return a copy of a function's body for a call, with its parameters bound to `args`.

    Those in `sizes` are substituted by polynomials where possible, as simplification would.
    """
    given: list[Stm] = []
    mapping: dict[Name, Replacement] = {}
    for param, arg in zip(fun.params, args, strict=True):
        if isinstance(arg, (str, Var, Lit)):
            mapping[param.name] = arg
            continue
        size = poly_of(arg) if param.name in sizes else None
        if size is not None:
            mapping[param.name] = size
            continue
        name = mapping[param.name] = ctx.fresh(param.name)
        given.append(Stm((Param(name, param.type),), arg, stm.prov))
    mapping.update(_caller_names(fun, stm.pat))
    body = walk.rename(fun.body, fresh, mapping, _Placed(stm.prov).__getitem__)
    return replace(body, stms=(*given, *body.stms))


def _sizes_of(fun: Function) -> set[Name]:
    """Return the parameters that are sizes of others."""
    arrays = [param.type for param in fun.params if isinstance(param.type, Array)]
    return {name for kind in arrays for dim in kind.shape for name in dim.names()}


def _same_name(name: Name) -> Name:
    """Return the name unchanged: a body used once has unique names already."""
    return name


def _caller_names(fun: Function, pat: tuple[Param, ...]) -> dict[Name, Replacement]:
    """Rename results bound in the callee's body to the caller's names."""
    own = {param.name for stm in fun.body.stms for param in stm.pat}
    names: dict[Name, Replacement] = {}
    for target, value in zip(pat, fun.body.results, strict=True):
        name = value.name if isinstance(value, Var) else value
        if isinstance(name, str) and name in own and name not in names:
            names[name] = target.name
    return names


class _Placed(dict[Prov, Prov]):
    """Caches the source places of a statement with a call's appended.

    Of a long chain of calls both ends are kept, so that remarks do not grow with its depth.
    """

    def __init__(self, call: Prov) -> None:
        self.call = call

    def __missing__(self, prov: Prov) -> Prov:
        own = tuple(span for span in prov if not span.in_prelude)
        merged = merge_prov(own, self.call)
        if len(merged) > 2 * NEAREST:
            merged = merged[:NEAREST] + merged[-NEAREST:]
        self[prov] = merged
        return self[prov]


INLINE = Pass("inline", "Inlines functions.", inline, (INLINED, KEPT, COMPUTED, SHARED))
