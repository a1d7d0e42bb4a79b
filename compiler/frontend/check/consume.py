"""Uniqueness: what is consumed is not used again, and only what one owns is consumed.

Runs over the typed expression of a definition in the order of evaluation. Every variable has its
aliases; consuming a value consumes all names that it aliases. Rules:

1. a name that was consumed, or aliases one that was, is not used after that;
2. a parameter is consumed only if its type has `*`; constants of the program never are;
3. a lambda, a local function or a loop's body consumes nothing that is bound outside of it;
4. what a consuming loop parameter becomes in the next turn aliases nothing from outside;
5. a result whose type has `*` aliases no parameter without `*`, and no other part of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from compiler.base.errors import TypeError_
from compiler.base.names import Name
from compiler.base.spans import Span
from compiler.frontend import typed as t
from compiler.frontend.check.aliases import (
    NONE,
    Aliases,
    Names,
    both,
    flat,
    leaves,
    pattern_variables,
    root,
    shown,
    spread,
    with_field,
    with_name,
    without,
)
from compiler.frontend.check.aliases import field as field_aliases
from compiler.frontend.types import Arrow, PrimT, Record, Type


@dataclass(frozen=True, slots=True)
class Variable:
    """A bound variable; `depth` counts the barriers around its binding."""

    aliases: Aliases
    depth: int
    consumable: bool
    what: str


@dataclass(slots=True)
class Walk:
    """The state of the walk over one definition."""

    variables: dict[Name, Variable] = field(default_factory=dict)
    consumed: dict[Name, Span] = field(default_factory=dict)
    observed: dict[Name, Span] = field(default_factory=dict)
    """Names read since the innermost loop's body began."""
    fresh_results: dict[Name, bool] = field(default_factory=dict)
    """Local functions, and whether their results are fresh."""
    returns: dict[Name, Names] = field(default_factory=dict)
    """Definitions, and the constants that their results may be."""
    depth: int = 0
    barrier: str = ""
    """What one may not consume out of: "lambda", "loop", .."""

    # --- variables -----------------------------------------------------------------------------

    def bind(self, pat: t.Pat, aliases: Aliases, consumable: bool, what: str = "") -> None:
        """Bind a pattern to a value with these aliases."""
        match pat:
            case t.PVar(type=type_, name=name, consumes=consumes):
                if not isinstance(type_, PrimT):
                    own = with_name(aliases, type_, name)
                    self.variables[name] = Variable(own, self.depth, consumable or consumes, what)
            case t.PRecord(fields=fields):
                for f, p in fields:
                    self.bind(p, field_aliases(aliases, f), consumable, what)
            case t.PConstr(args=args):
                for p in args:
                    self.bind(p, flat(aliases), consumable, what)

    def nameless(self) -> Names:
        """A name for a value whose parts may share memory with each other."""
        name = f"result_{len(self.variables)}"
        own: Names = frozenset((name,))
        self.variables[name] = Variable(own, self.depth, consumable=True, what="")
        return own

    def use(self, e: t.Var, path: tuple[str, ...] = (), but: bool = False) -> Aliases:
        """The aliases of the field `path` of a variable that is read here.

        With `but`, it is all the rest that is read, and the whole is the result. Errors: what is
        read, or what it aliases, was consumed.
        """
        if isinstance(e.type, PrimT):
            return NONE
        variable = self.variables.get(e.name)
        if variable is None:
            instance = e.type_args or e.size_args or isinstance(e.type, Arrow)
            return NONE if instance else spread(e.type, frozenset((e.name,)))
        aliases = variable.aliases
        read = aliases
        if but:
            read = with_field(aliases, path, NONE)
        else:
            for f in path:
                read = aliases = field_aliases(aliases, f)
        names = flat(read)
        for name in names:
            self.observed[name] = e.span
            if name in self.consumed:
                raise _used_after(e, path, name, self.consumed[name])
        return aliases

    def consume(self, aliases: Aliases, span: Span) -> None:
        """Consume everything that a value aliases.

        Errors: something in it may not be consumed here.
        """
        for name in flat(aliases):
            variable = self.variables.get(root(name))
            if variable is None:
                raise TypeError_(
                    f"This consumes `{shown(name)}`, a constant of the program.", span, _COPY
                )
            if variable.depth < self.depth:
                raise TypeError_(
                    f"This consumes `{shown(name)}`, which is bound outside of {self.barrier}.",
                    span,
                    _COPY,
                )
            if not variable.consumable:
                raise TypeError_(f"This consumes `{shown(name)}`, {variable.what}.", span, _STAR)
        for name in flat(aliases):
            self.consumed.setdefault(name, span)

    # --- expressions ---------------------------------------------------------------------------

    def exp(self, e: t.Exp) -> Aliases:
        """Walk an expression; its value's aliases."""
        return _EXPS[type(e)](self, e)

    def all(self, es: tuple[t.Exp, ...]) -> None:
        """Walk expressions whose values matter only as values."""
        for e in es:
            _EXPS[type(e)](self, e)

    def inside(self, barrier: str) -> tuple[int, str, dict[Name, Span]]:
        """Enter a body that may not consume what is bound outside; give `leave` the result."""
        before = (self.depth, self.barrier, self.consumed)
        self.depth += 1
        self.barrier = barrier
        self.consumed = dict(self.consumed)
        return before

    def leave(self, before: tuple[int, str, dict[Name, Span]]) -> None:
        """Leave a body; what it consumed was its own."""
        self.depth, self.barrier, self.consumed = before


_COPY = "Copy it first, with `copy`."
_STAR = "Give its type a `*`, such as `*[n]i32`, or copy it first, with `copy`."


def _used_after(e: t.Var, path: tuple[str, ...], name: Name, where: Span) -> TypeError_:
    own = shown(e.name)
    through = "" if root(name) == e.name else f", through its alias `{shown(name)}`"
    return TypeError_(
        f"`{own}` is used here, but was consumed at {where.place}{through}.",
        e.span,
        f"Use `{own}` before that, or consume a copy of it.",
    )


# --- definitions -------------------------------------------------------------------------------


def check_definition(d: t.Def, annotated: bool, returns: dict[Name, Names]) -> bool:
    """Check one definition; whether its result is fresh.

    `returns` holds, for each definition so far, the constants that its result may be; this one is
    added. Errors: `TypeError_` where one of the rules is broken.
    """
    return _function(Walk(returns=returns), d, annotated)


def _function(walk: Walk, d: t.Def, annotated: bool) -> bool:
    owned: set[Name] = set()
    for pat in d.params:
        consumes = _consumes(pat)
        what = "a parameter whose type has no `*`"
        walk.bind(pat, NONE, consumes, what)
        if consumes:
            owned |= {v.name for v in pattern_variables(pat)}
    result = walk.exp(d.body)
    if not d.params and not isinstance(d.ret, Arrow):
        return d.unique
    what = f"`{d.source_name}`"
    walk.returns[d.name] = _constants(walk, result)
    if annotated:
        if d.unique:
            _must_be_fresh(walk, what, d.body, result, owned)
        for f in d.fresh_fields:
            _must_be_fresh(walk, what, d.body, field_aliases(result, f), owned)
        return d.unique
    return _may_alias(d.ret) and _is_fresh(walk, result, owned)


def _constants(walk: Walk, result: Aliases) -> Names:
    """The program's constants that a function's result may be."""
    return frozenset(n for n in flat(result) if root(n) not in walk.variables)


def _may_alias(type_: Type) -> bool:
    """Whether a value of this type can share memory with another."""
    if isinstance(type_, Record):
        return any(_may_alias(u) for _, u in type_.fields)
    return not isinstance(type_, (PrimT, Arrow))


def _consumes(pat: t.Pat) -> bool:
    """A `*` anywhere in a parameter's type makes all of it consumable."""
    return any(v.consumes for v in pattern_variables(pat))


def _borrowed(walk: Walk, names: Names, owned: set[Name]) -> Name | None:
    """A name that belongs to somebody else: a parameter without `*`, or something from outside."""
    for name in sorted(names):
        variable = walk.variables.get(root(name))
        if variable is None or variable.depth < walk.depth:
            return name
        if not variable.consumable and root(name) not in owned:
            return name
    return None


def _is_fresh(walk: Walk, result: Aliases, owned: set[Name]) -> bool:
    parts = leaves(result)
    if _borrowed(walk, flat(result), owned) is not None:
        return False
    return sum(len(p) for p in parts) == len(flat(result))


def _must_be_fresh(walk: Walk, what: str, body: t.Exp, result: Aliases, owned: set[Name]) -> None:
    name = _borrowed(walk, flat(result), owned)
    if name is not None:
        raise TypeError_(
            f"The result of {what} is declared fresh (`*`), but may alias `{shown(name)}`.",
            _result_span(body),
            "Return a copy, or leave the `*` out of the result's type.",
        )
    seen: set[Name] = set()
    for part in leaves(result):
        again = seen & part
        if again:
            raise TypeError_(
                f"Two parts of the result of {what} share `{shown(min(again))}`, but"
                " the result is declared fresh (`*`).",
                _result_span(body),
                "Return a copy of one of them.",
            )
        seen |= part


def _result_span(e: t.Exp) -> Span:
    while isinstance(e, (t.Let, t.LetFun)):
        e = e.body
    return e.span


# --- expressions -------------------------------------------------------------------------------


def _nothing(walk: Walk, e: t.Exp) -> Aliases:
    return NONE


def _var(walk: Walk, e: t.Var) -> Aliases:
    return walk.use(e)


def _operation(walk: Walk, e: t.PrimOp | t.PrimFun) -> Aliases:
    walk.all(e.args)
    return NONE


def _convert(walk: Walk, e: t.Convert) -> Aliases:
    walk.exp(e.exp)
    return NONE


def _apply(walk: Walk, e: t.Apply) -> Aliases:
    given: list[Aliases] = [NONE] * len(e.args)
    for i in range(len(e.args) - 1, -1, -1):
        given[i] = walk.exp(e.args[i])
    fn = walk.exp(e.fn)
    _still_there(walk, e, given)
    arrow: Type = e.fn.type
    shared: Names = flat(fn)
    if isinstance(e.fn, t.Var):
        shared |= walk.returns.get(e.fn.name, NONE)
    unique = False
    fields: tuple[str, ...] = ()
    for i, aliases in enumerate(given):
        if not isinstance(arrow, Arrow):
            break
        if arrow.consumes:
            if isinstance(e.type, Arrow) and flat(aliases):
                raise TypeError_(
                    "A function that consumes this argument cannot be applied to some of its"
                    " arguments only.",
                    e.args[i].span,
                    "Give all arguments at once, or write a lambda.",
                )
            others = [a for j, a in enumerate(given) if j != i]
            _consume_argument(walk, e, i, aliases, others)
        else:
            shared |= flat(aliases)
        unique, fields = arrow.unique, arrow.fresh_fields
        arrow = arrow.result
    if isinstance(e.fn, t.Var) and walk.fresh_results.get(e.fn.name):
        unique = unique or not isinstance(e.type, Arrow)
    if unique or isinstance(e.type, PrimT):
        return NONE
    result = spread(e.type, shared)
    if len(leaves(result)) > 1:
        result = spread(e.type, shared | walk.nameless())
    for f in fields:
        result = with_field(result, (f,), NONE)
    return result


def _still_there(walk: Walk, e: t.Apply, given: list[Aliases]) -> None:
    """An argument may not be consumed by the evaluation of another one."""
    if walk.consumed:
        for arg, aliases in zip(e.args, given, strict=True):
            for name in flat(aliases):
                if name in walk.consumed:
                    where = walk.consumed[name].place
                    raise TypeError_(
                        f"This argument aliases `{shown(name)}`, which another argument consumes"
                        f" at {where}.",
                        arg.span,
                        _COPY,
                    )


def _consume_argument(
    walk: Walk, e: t.Apply, index: int, aliases: Aliases, others: list[Aliases]
) -> None:
    names = flat(aliases)
    for other in others:
        common = names & flat(other)
        if common:
            raise TypeError_(
                f"`{shown(min(common))}` is consumed by this call, which also gets it in another"
                " argument.",
                e.args[index].span,
                _COPY,
            )
    seen: set[Name] = set()
    for part in leaves(aliases):
        if seen & part:
            raise TypeError_(
                f"Two parts of this consumed argument share `{shown(min(seen & part))}`.",
                e.args[index].span,
                _COPY,
            )
        seen |= part
    walk.consume(aliases, e.args[index].span)


def _lambda(walk: Walk, e: t.Lambda) -> Aliases:
    before = walk.inside("the lambda")
    for pat in e.params:
        walk.bind(pat, NONE, _consumes(pat), "a parameter whose type has no `*`")
    own = {v.name for pat in e.params for v in pattern_variables(pat)}
    result = walk.exp(e.body)
    if _declares_fresh(e):
        owned = {v.name for p in e.params if _consumes(p) for v in pattern_variables(p)}
        _must_be_fresh(walk, "the lambda", e.body, result, owned)
    walk.leave(before)
    return _captured(walk, e.body, own)


def _declares_fresh(e: t.Lambda) -> bool:
    arrow: Type = e.type
    for _ in e.params[:-1]:
        assert isinstance(arrow, Arrow)
        arrow = arrow.result
    return isinstance(arrow, Arrow) and arrow.unique


def _captured(walk: Walk, body: t.Exp, own: set[Name]) -> Names:
    """The variables from outside that a function's body mentions, and their aliases."""
    from compiler.frontend.check.free import free_variables

    names = NONE
    for name in free_variables(body):
        if name not in own and name in walk.variables:
            variable = walk.variables[name]
            if variable.depth <= walk.depth:
                names |= flat(variable.aliases)
    return names


def _let(walk: Walk, e: t.Let) -> Aliases:
    exp: t.Exp = e
    while type(exp) is t.Let:
        walk.bind(exp.pat, walk.exp(exp.rhs), consumable=True)
        exp = exp.body
    return walk.exp(exp)


def _let_fun(walk: Walk, e: t.LetFun) -> Aliases:
    before = walk.inside(f"the function `{e.fun.source_name}`")
    fresh = _function(walk, e.fun, annotated=e.fun.unique or bool(e.fun.fresh_fields))
    walk.leave(before)
    own = {v.name for pat in e.fun.params for v in pattern_variables(pat)}
    captured = _captured(walk, e.fun.body, own)
    walk.fresh_results[e.fun.name] = fresh
    walk.variables[e.fun.name] = Variable(
        captured | {e.fun.name}, walk.depth, consumable=False, what="a function"
    )
    return walk.exp(e.body)


def _if(walk: Walk, e: t.If) -> Aliases:
    walk.exp(e.cond)
    return _branches(walk, (e.then, e.orelse))


def _branches(walk: Walk, bodies: tuple[t.Exp, ...]) -> Aliases:
    before = walk.consumed
    after = dict(before)
    result: Aliases | None = None
    for body in bodies:
        walk.consumed = dict(before)
        aliases = walk.exp(body)
        result = aliases if result is None else both(result, aliases)
        after.update(walk.consumed)
    walk.consumed = after
    if result is None:
        return NONE
    return without(result, frozenset(n for n in after if n not in before))


def _match(walk: Walk, e: t.Match) -> Aliases:
    aliases = walk.exp(e.exp)
    for case in e.cases:
        walk.bind(case.pat, aliases, consumable=True)
    return _branches(walk, tuple(c.body for c in e.cases))


def _loop(walk: Walk, e: t.Loop) -> Aliases:
    init = walk.exp(e.init)
    if isinstance(e.form, t.For):
        walk.exp(e.form.bound)
    array = walk.exp(e.form.array) if isinstance(e.form, t.ForIn) else NONE
    before = walk.inside("the loop")
    outer = walk.consumed.copy()
    read_before, walk.observed = walk.observed, {}
    walk.bind(e.pat, NONE, consumable=True)
    if isinstance(e.form, t.ForIn):
        walk.bind(e.form.pat, flat(array), consumable=False, what="an element of the array")
    if isinstance(e.form, t.While):
        walk.exp(e.form.cond)
    result = walk.exp(e.body)
    taken = {n for n in walk.consumed if n not in outer}
    taken_roots = {root(n) for n in taken}
    eaten = {v.name for v in pattern_variables(e.pat) if v.consumes or v.name in taken_roots}
    parts = _loop_parts(e.pat, init, result, eaten)
    _check_turns(walk, e, parts)
    walk.leave(before)
    read, walk.observed = walk.observed, read_before
    walk.observed.update(read)
    final: Names = NONE
    for part in parts:
        if part.eaten:
            _not_read_inside(part, read)
            walk.consume(part.init, e.init.span)
        else:
            final |= flat(part.init) | {n for n in flat(part.result) if _outside(walk, n)}
    return _loop_result(e, parts, final)


def _not_read_inside(part: _Part, read: dict[Name, Span]) -> None:
    """What a loop consumes as its initial value is not read by its body under another name."""
    for name in flat(part.init):
        if name in read:
            raise TypeError_(
                f"`{shown(name)}` is used inside the loop, which consumes it as the initial"
                f" value of `{shown(part.name)}`.",
                read[name],
                _COPY,
            )


@dataclass(frozen=True, slots=True)
class _Part:
    """One variable of a loop's pattern: what it starts as, what a turn makes of it."""

    name: Name
    init: Aliases
    result: Aliases
    eaten: bool


def _loop_parts(pat: t.Pat, init: Aliases, result: Aliases, eaten: set[Name]) -> list[_Part]:
    match pat:
        case t.PVar(name=name):
            return [_Part(name, init, result, name in eaten)]
        case t.PRecord(fields=fields):
            return [
                part
                for f, p in fields
                for part in _loop_parts(p, field_aliases(init, f), field_aliases(result, f), eaten)
            ]
    return [_Part("", init, result, eaten=False)]


def _check_turns(walk: Walk, e: t.Loop, parts: list[_Part]) -> None:
    """What a consumed parameter becomes is its own, and no other parameter's."""
    names = {p.name for p in parts}
    seen: set[Name] = set()
    for part in parts:
        found = flat(part.result)
        if part.eaten:
            for name in sorted(found):
                if root(name) not in names and _outside_loop(walk, name):
                    raise TypeError_(
                        f"The loop consumes `{shown(part.name)}` in every turn, but its next"
                        f" value may alias `{shown(name)}` from outside.",
                        _result_span(e.body),
                        _COPY,
                    )
        if found & seen and (part.eaten or any(p.eaten for p in parts)):
            shared = shown(min(found & seen))
            raise TypeError_(
                f"Two parameters of the loop would both be `{shared}` in the next turn, and one is"
                " consumed.",
                _result_span(e.body),
                _COPY,
            )
        seen |= found


def _outside_loop(walk: Walk, name: Name) -> bool:
    variable = walk.variables.get(root(name))
    return variable is None or variable.depth < walk.depth


def _outside(walk: Walk, name: Name) -> bool:
    variable = walk.variables.get(root(name))
    return variable is None or variable.depth <= walk.depth


def _loop_result(e: t.Loop, parts: list[_Part], shared: Names) -> Aliases:
    """Parameters that are not consumed may still be what they were."""
    table = {p.name: NONE if p.eaten else shared for p in parts}

    def aliases_of(pat: t.Pat) -> Aliases:
        match pat:
            case t.PVar(name=name):
                return spread(pat.type, table.get(name, shared))
            case t.PRecord(fields=fields):
                return {f: aliases_of(p) for f, p in fields}
        return spread(pat.type, shared)

    return aliases_of(e.pat)


def _record(walk: Walk, e: t.RecordExp) -> Aliases:
    result: dict[str, Aliases] = {f: walk.exp(v) for f, v in e.fields}
    if walk.consumed:
        for f, v in e.fields:
            for name in flat(result[f]):
                if name in walk.consumed:
                    where = walk.consumed[name].place
                    raise TypeError_(
                        f"This aliases `{shown(name)}`, which is consumed at {where}.",
                        v.span,
                        _COPY,
                    )
    return result


def _project(walk: Walk, e: t.Project) -> Aliases:
    path: tuple[str, ...] = ()
    exp: t.Exp = e
    while isinstance(exp, t.Project):
        path = (exp.field, *path)
        exp = exp.exp
    if isinstance(exp, t.Var):
        return walk.use(exp, path)
    return field_aliases(walk.exp(e.exp), e.field)


def _record_update(walk: Walk, e: t.RecordUpdate) -> Aliases:
    """The old value of the field is not read, and may have been consumed by the new one."""
    if isinstance(e.exp, t.Var):
        value = walk.exp(e.value)
        record = walk.use(e.exp, e.path, but=True)
    else:
        record = walk.exp(e.exp)
        value = walk.exp(e.value)
    return with_field(record, e.path, value)


def _array_lit(walk: Walk, e: t.ArrayLit) -> Aliases:
    walk.all(e.elems)
    return NONE


def _range(walk: Walk, e: t.Range) -> Aliases:
    walk.exp(e.first)
    walk.exp(e.end)
    return NONE


def _dims(walk: Walk, dims: tuple[t.DimIndex, ...]) -> None:
    for dim in dims:
        if isinstance(dim, t.IndexFix):
            walk.exp(dim.at)
        else:
            walk.all(tuple(b for b in (dim.start, dim.stop, dim.step) if b is not None))


def _index(walk: Walk, e: t.Index) -> Aliases:
    array = walk.exp(e.array)
    _dims(walk, e.dims)
    return NONE if isinstance(e.type, PrimT) else spread(e.type, flat(array))


def _update(walk: Walk, e: t.Update) -> Aliases:
    _dims(walk, e.dims)
    value = walk.exp(e.value)
    array = walk.exp(e.array)
    common = flat(array) & flat(value)
    if common:
        raise TypeError_(
            f"The new value may alias `{shown(min(common))}`, the array that is updated.",
            e.value.span,
            _COPY,
        )
    walk.consume(array, e.array.span)
    return NONE


def _through(walk: Walk, e: t.Coerce | t.Attr) -> Aliases:
    return walk.exp(e.exp)


def _assert(walk: Walk, e: t.Assert) -> Aliases:
    walk.exp(e.cond)
    return walk.exp(e.exp)


def _constr(walk: Walk, e: t.Constr) -> Aliases:
    names = NONE
    for arg in e.args:
        names |= flat(walk.exp(arg))
    return names


_EXPS: dict[type, Callable[..., Aliases]] = {
    t.Const: _nothing,
    t.StringConst: _nothing,
    t.Var: _var,
    t.PrimOp: _operation,
    t.PrimFun: _operation,
    t.Convert: _convert,
    t.Apply: _apply,
    t.Lambda: _lambda,
    t.Let: _let,
    t.LetFun: _let_fun,
    t.If: _if,
    t.Match: _match,
    t.Loop: _loop,
    t.RecordExp: _record,
    t.Project: _project,
    t.RecordUpdate: _record_update,
    t.ArrayLit: _array_lit,
    t.Range: _range,
    t.Index: _index,
    t.Update: _update,
    t.Coerce: _through,
    t.Attr: _through,
    t.Assert: _assert,
    t.Constr: _constr,
}
