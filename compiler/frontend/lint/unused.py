"""Warn of unused names and unknown attributes, by a walk over the syntax.

Local names count, and the parameters of functions, lambdas and functors; not sizes, nor names that
begin with an underscore, nor top-level definitions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Any

from compiler import codes
from compiler.base.by_class import handles
from compiler.base.dataclass import dataclass
from compiler.base.spans import Span
from compiler.frontend import ast, decs
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.frontend.lint.warning import Warning_

ATTRIBUTES = frozenset(
    # Futhark's, whether they change anything here or not.
    "unsafe sequential sequential_outer sequential_inner unroll noinline inline opaque trace break"
    " blank scratch incremental_flattening flattening no_outer no_inner no_intra only_outer"
    " only_inner only_intra sequentialise_nonuniform warn param stripmine bound true_dep".split()
)
_SPECIAL: dict[type, Any] = {}


def unused(declared: tuple[decs.Dec, ...]) -> list[Warning_]:
    """Return a warning for each unused name and unknown attribute, in no particular order."""
    return unused_and_free(declared)[0]


def unused_and_free(declared: tuple[decs.Dec, ...]) -> tuple[list[Warning_], set[str]]:
    """Return the warnings of `unused`, and the free names."""
    walk = _Walk()
    for dec in declared:
        walk.node(dec)
    return walk.found, walk.free


@dataclass(slots=True)
class _Binding:
    name: str
    span: Span
    used: bool = False


@dataclass(slots=True)
class _Walk:
    found: list[Warning_] = field(default_factory=list)
    scope: dict[str, _Binding] = field(default_factory=dict)
    free: set[str] = field(default_factory=set)

    def node(self, node: Any) -> None:
        """Walk any node."""
        special = _SPECIAL.get(type(node))
        if special is not None:
            special(self, node)
        elif isinstance(node, decs.BodyParts):
            for name in node.mentions:
                self.use(name)
        else:
            for child in ast.parts(node):
                self.node(child)

    def use(self, name: str) -> None:
        """Mark a name as used."""
        binding = self.scope.get(name)
        if binding is not None:
            binding.used = True
        else:
            self.free.add(name)

    def within(self, pats: tuple[ast.Pat, ...], *parts: Any, quiet: tuple[str, ...] = ()) -> None:
        """Walk parts in the scope of patterns; `quiet`: names without a warning."""
        bindings = [one for pat in pats for one in _bound(pat)]
        self.bind([*bindings, *_quiet(quiet)], *parts)

    def bind(self, bindings: list[_Binding], *parts: Any) -> None:
        """Walk parts in the scope of these names; warn of unused ones."""
        scope = self.scope
        before = [(b.name, scope.get(b.name)) for b in bindings]
        for binding in bindings:
            scope[binding.name] = binding
        for part in parts:
            if part is not None:
                self.node(part)
        for name, old in reversed(before):
            if old is None:
                scope.pop(name, None)
            else:
                scope[name] = old
        for binding in bindings:
            if not binding.used and not binding.name.startswith("_"):
                self.found.append(_not_used(binding))


def _not_used(binding: _Binding) -> Warning_:
    """Build the warning; operators get no hint, as they cannot begin with an underscore."""
    name = binding.name
    hint = f"If this is intentional, call it `_{name}` or `_`." if name[0].isalpha() else ""
    return Warning_(codes.warnings.UNUSED, f"`{name}` is not used.", binding.span, hint)


_NO_SPAN = Span(0, 0, 0, 0)
"""Span of bindings without a warning."""


def _quiet(names: Iterable[str]) -> list[_Binding]:
    """Return bindings without a warning."""
    return [_Binding(name, _NO_SPAN, used=True) for name in names]


def _bound(pat: ast.Pat) -> list[_Binding]:
    return [_Binding(one.name, one.span) for one in ast.names_bound(pat)]


# --- nodes that bind or mention names ------------------------------------------------------------


@handles(_SPECIAL, ast.Var)
def _var(walk: _Walk, e: ast.Var) -> None:
    walk.use(e.name[0])


@handles(_SPECIAL, ast.TName)
def _type_name(walk: _Walk, e: ast.TName) -> None:
    """Mark the module of a qualified type: types and values have separate namespaces."""
    if len(e.name) > 1:
        walk.use(e.name[0])


@handles(_SPECIAL, ast.OpenIn)
def _open_in(walk: _Walk, e: ast.OpenIn) -> None:
    walk.use(e.module[0])
    walk.node(e.exp)


@handles(_SPECIAL, decs.MName, decs.MTName)
def _module_name(walk: _Walk, e: decs.MName | decs.MTName) -> None:
    walk.use(e.name[0])


@handles(_SPECIAL, ast.BinOp)
def _binary(walk: _Walk, e: ast.BinOp) -> None:
    walk.use(e.op[0])
    walk.node(e.lhs)
    walk.node(e.rhs)


@handles(_SPECIAL, ast.OpSection)
def _section(walk: _Walk, e: ast.OpSection) -> None:
    walk.use(e.op[0])
    for part in (e.left, e.right):
        if part is not None:
            walk.node(part)


@handles(_SPECIAL, ast.Let)
def _let(walk: _Walk, e: ast.Let) -> None:
    walk.node(e.rhs)
    walk.within((e.pat,), e.pat, e.body, quiet=e.sizes)


@handles(_SPECIAL, ast.LetFun)
def _let_fun(walk: _Walk, e: ast.LetFun) -> None:
    walk.within(e.params, *e.params, e.ret, e.rhs, quiet=_sizes(e.type_params))
    walk.bind([_Binding(e.name, e.name_span)], e.body)


@handles(_SPECIAL, ast.LetWith)
def _let_with(walk: _Walk, e: ast.LetWith) -> None:
    walk.use(e.name)
    for part in (*e.dims, e.value):
        walk.node(part)
    walk.bind([_Binding(e.name, e.name_span)], e.body)


@handles(_SPECIAL, ast.Lambda)
def _lambda(walk: _Walk, e: ast.Lambda) -> None:
    walk.within(e.params, *e.params, e.ret, e.body)


@handles(_SPECIAL, ast.Loop)
def _loop(walk: _Walk, e: ast.Loop) -> None:
    if e.init is not None:
        walk.node(e.init)
    else:
        for one in ast.names_bound(e.pat):
            walk.use(one.name)
    form = e.form
    if isinstance(form, ast.While):
        walk.within((e.pat,), e.pat, form.cond, e.body, quiet=e.sizes)
        return
    walk.node(form.bound if isinstance(form, ast.For) else form.array)
    bindings = [*_bound(e.pat), *_quiet(e.sizes)]
    if isinstance(form, ast.For):
        bindings.append(_Binding(form.name, form.name_span))
    else:
        bindings += _bound(form.pat)
    walk.bind(bindings, e.pat, e.body)


@handles(_SPECIAL, ast.Case)
def _case(walk: _Walk, e: ast.Case) -> None:
    walk.within((e.pat,), e.pat, e.body)


@handles(_SPECIAL, ast.TArrow)
def _arrow(walk: _Walk, e: ast.TArrow) -> None:
    walk.node(e.param)
    walk.bind(_quiet(() if e.name is None else (e.name,)), e.result)


@handles(_SPECIAL, ast.TExists)
def _exists(walk: _Walk, e: ast.TExists) -> None:
    walk.within((), e.elem, quiet=e.names)


@handles(_SPECIAL, ast.Attr)
def _attribute(walk: _Walk, e: ast.Attr) -> None:
    for word in e.text.replace("(", " ").replace(")", " ").replace(",", " ").split():
        if word not in ATTRIBUTES and not word.isdigit():
            message = f"The attribute `{word}` is unknown and has no effect."
            walk.found.append(
                Warning_(codes.warnings.ATTRIBUTE, message, e.span, did_you_mean(word, ATTRIBUTES))
            )
        if word in ("trace", "warn", "param"):
            return


# --- declarations --------------------------------------------------------------------------------


@handles(_SPECIAL, decs.ValDec)
def _value(walk: _Walk, dec: decs.ValDec) -> None:
    for attr in dec.attrs:
        walk.node(attr)
    walk.within(dec.params, *dec.params, dec.ret, dec.body, quiet=_sizes(dec.type_params))


def _sizes(params: tuple[ast.TypeParam, ...]) -> tuple[str, ...]:
    return tuple(p.name for p in params if p.kind == "size")


@handles(_SPECIAL, decs.ModDec)
def _module(walk: _Walk, dec: decs.ModDec) -> None:
    _functor(walk, list(dec.params), dec.type, dec.body)


@handles(_SPECIAL, decs.MLambda)
def _module_lambda(walk: _Walk, exp: decs.MLambda) -> None:
    _functor(walk, [exp.param], exp.type, exp.body)


def _functor(
    walk: _Walk, params: list[decs.ModParam], type_: decs.ModTypeExp | None, body: decs.ModExp
) -> None:
    bindings: list[_Binding] = []
    for param in params:
        walk.node(param.type)
        bindings.append(_Binding(param.name, param.name_span))
    walk.bind(bindings, type_, body)


@handles(_SPECIAL, decs.MBody)
def _body(walk: _Walk, exp: decs.MBody) -> None:
    """Walk a module's body, whose own names hide those around it."""
    names = [dec.name for dec in exp.decs if isinstance(dec, decs.ValDec)]
    parts = [dec for dec in exp.decs if isinstance(dec, decs.BodyParts)]
    bindings = _quiet([*names, *(name for one in parts for name in one.values)])
    walk.bind(bindings, *exp.decs)
