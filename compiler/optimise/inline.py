"""Calls replaced by the bodies of the functions called; only entry points remain.

Functions come in order of dependence and there is no recursion, so a function's body has no calls
left when it is put in the place of one. Statements keep the user's places that they had and get
the call's in addition; places in the prelude are dropped, since the user has never seen it.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.base.context import Ctx
from compiler.base.names import Name, base_of
from compiler.base.rules import Pass, Rule
from compiler.base.spans import Prov, merge_prov
from compiler.ir import walk
from compiler.ir.nodes import Body, Call, Exp, Function, Lit, Operand, Param, Prog, Stm, Var
from compiler.ir.walk import Replacement

INLINED = Rule(
    "simplify/inline",
    "Puts functions in the place of calls: no stage behind it has calls.",
    optional=False,
)


def inline(prog: Prog, ctx: Ctx) -> Prog:
    """Every call becomes the body of its function; functions that are no entries are dropped."""
    if len(prog.funs) == 1 and not _calls(prog.funs[0].body.stms):
        return prog
    done: dict[str, Function] = {}
    calls = _call_counts(prog)
    for fun in prog.funs:
        done[fun.name] = _Inliner(ctx, done, calls).function(fun)
    funs = tuple(done[fun.name] for fun in prog.funs if fun.entry)
    if len(funs) == len(prog.funs) and all(a is b for a, b in zip(funs, prog.funs, strict=True)):
        return prog
    return Prog(funs)


def _calls(stms: tuple[Stm, ...]) -> bool:
    return any(type(stm.exp) is Call for stm in walk.all_stms(stms))


def _call_counts(prog: Prog) -> dict[str, int]:
    """How often each function's body will be used: its own copy counts if it is an entry."""
    counts: dict[str, int] = {fun.name: int(fun.entry) for fun in prog.funs}
    for fun in prog.funs:
        for stm in walk.all_stms(fun.body.stms):
            if isinstance(stm.exp, Call):
                counts[stm.exp.fun] = counts.get(stm.exp.fun, 0) + 1
    return counts


class _Inliner:
    """The inlining of one function; `aliases` says which array each bound result really is."""

    __slots__ = ("aliases", "calls", "ctx", "done")

    def __init__(self, ctx: Ctx, done: dict[str, Function], calls: dict[str, int]) -> None:
        self.ctx = ctx
        self.done = done
        self.calls = calls
        self.aliases: dict[Name, Name] = {}

    def function(self, fun: Function) -> Function:
        stms = self.stms(fun.body.stms)
        if stms is fun.body.stms:
            return fun
        body = Body(stms, fun.body.results)
        if self.aliases:
            body = walk.subst(body, {name: self.resolve(name) for name in self.aliases})
        return replace(fun, body=body)

    def resolve(self, name: Name) -> Name:
        """The array at the end of a chain of aliases."""
        while name in self.aliases:
            name = self.aliases[name]
        return name

    def stms(self, stms: tuple[Stm, ...]) -> tuple[Stm, ...]:
        """Statements without calls; the same tuple if there were none."""
        new: list[Stm] = []
        changed = False
        for stm in stms:
            if isinstance(stm.exp, Call):
                new.extend(self.call(stm, stm.exp))
                changed = True
                continue
            exp: Exp = walk.map_stms(stm.exp, self.stms)
            if exp is not stm.exp:
                changed = True
                stm = Stm(stm.pat, exp, stm.prov)
            new.append(stm)
        return tuple(new) if changed else stms

    def call(self, stm: Stm, call: Call) -> list[Stm]:
        """The callee's statements, with its parameters bound before and its results after."""
        fun = self.done[call.fun]
        stms: list[Stm] = []
        mapping: dict[Name, Replacement] = {}
        for param, arg in zip(fun.params, call.args, strict=True):
            mapping[param.name] = self._argument(param, arg, stm.prov, stms)
        mapping.update(_caller_names(fun, stm.pat))
        fresh = _same_name if self.calls[call.fun] == 1 else self.ctx.fresh
        body = walk.rename(fun.body, fresh, mapping)
        stms.extend(placed(body.stms, stm.prov))
        for target, value in zip(stm.pat, body.results, strict=True):
            if value == target.name or (isinstance(value, Var) and value.name == target.name):
                continue
            if isinstance(value, str):
                self.aliases[target.name] = value
            else:
                stms.append(Stm((target,), value, stm.prov))
        self._remark(fun, stm.prov)
        return stms

    def _argument(self, param: Param, arg: Operand, prov: Prov, stms: list[Stm]) -> Replacement:
        if isinstance(arg, (str, Var, Lit)):
            return arg
        name = self.ctx.fresh(param.name)
        stms.append(Stm((Param(name, param.type),), arg, prov))
        return name

    def _remark(self, fun: Function, prov: Prov) -> None:
        if any(span.is_own for span in fun.prov):
            said = f"The body of `{base_of(fun.name)}` stands here instead of the call."
            self.ctx.tell("applied", INLINED, prov, said)


def _same_name(name: Name) -> Name:
    """For a body that is used once: its names are unique already."""
    return name


def _caller_names(fun: Function, pat: tuple[Param, ...]) -> dict[Name, Replacement]:
    """Results that the callee's body binds are called as the caller calls them from now on."""
    own = {param.name for stm in fun.body.stms for param in stm.pat}
    names: dict[Name, Replacement] = {}
    for target, value in zip(pat, fun.body.results, strict=True):
        name = value.name if isinstance(value, Var) else value
        if isinstance(name, str) and name in own and name not in names:
            names[name] = target.name
    return names


def placed(stms: tuple[Stm, ...], call: Prov) -> tuple[Stm, ...]:
    """Statements with the call's places added to the user's places that they have."""
    merged: dict[Prov, Prov] = {}

    def go(todo: tuple[Stm, ...]) -> tuple[Stm, ...]:
        new: list[Stm] = []
        for stm in todo:
            prov = merged.get(stm.prov)
            if prov is None:
                own = tuple(span for span in stm.prov if not span.in_prelude)
                prov = merged[stm.prov] = merge_prov(own, call)
            new.append(Stm(stm.pat, walk.map_stms(stm.exp, go), prov))
        return tuple(new)

    return go(stms)


INLINE = Pass("inline", "Puts functions in the place of calls.", inline, (INLINED,))
