"""Index functions of arrays as three generations of Futhark's compiler would write them.

The program is walked before fusion (stage `simplified`), with the algebra
of all generations at once: the index function after a change of layout, or a copy if there is
none. For the third generation, which is the compiler's own,
the index function of stage `funmem` is shown wherever the array is in memory there.

Note [What only moves elements]
A `map` whose body does nothing but read one element, or take a view of a row, is a change of layout
as well, such as `rotate`. It can be done without a copy if neither array is overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from compiler.algebra.index_functions import (
    Chain,
    Composition,
    Permute,
    Reshape,
    Rotate,
    Select,
    Step,
    unify,
    view,
)
from compiler.algebra.layouts import complement
from compiler.algebra.lmad import Dim, Lmad, NoView
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.spans import Prov, user_spans
from compiler.explain.index_text import IndexText
from compiler.ir import nodes as ir
from compiler.ir.aliases import overwritten
from compiler.ir.known import Known
from compiler.ir.sharing import classes
from compiler.ir.sizes import poly_of
from compiler.ir.slices import as_lmad, itself
from compiler.ir.source_names import Spelling
from compiler.ir.types import shape_of
from compiler.ir.walk import all_stms, bound
from compiler.protocol.storage import Generation, IndexForm, IndexFunctions, LayoutChange

Function = Chain[Poly] | Composition[Poly] | Lmad[Poly]
Forms = dict[Generation, Function]
_ZERO, _ONE = Poly.const(0), Poly.const(1)
_READ = "computed where they are read, and never in memory"
_ANEW = "The array under this view is fused away: a kernel writes only these elements, here."
_AT = "the result must be row-major from the start of its block"


@dataclass(frozen=True, slots=True)
class _Way:
    """A generation's algebra of index functions."""

    start: Callable[[Lmad[Poly]], Any]
    then: Callable[[Any, Step[Poly]], Any]
    lmad: Callable[[Any], Lmad[Poly] | None]
    """Return the LMAD, where the form is one and the generation sees that."""


WAYS: dict[Generation, _Way] = {
    "structural": _Way(Chain, Chain.then, lambda fn: None if fn.steps else fn.base),
    "composed": _Way(Composition.of, lambda fn, step: fn.then(step).merged(), lambda fn: fn.single),
    "single": _Way(lambda lmad: lmad, view, lambda lmad: lmad),
}


def index_functions(
    prog: ir.Prog, flat: ir.Prog, memory: ir.Prog, said: Callable[[Name], str | None]
) -> list[IndexFunctions]:
    """Return each function's changes of layout in order, in all generations.

    `prog` is a program before fusion, `flat` and `memory` the same before and after memory is
    introduced; `said`: the author's name, or None.
    """
    kept = {fun.name: fun for fun in memory.funs}
    return [
        _Walk(prog, fun, _Memory(flat, kept[fun.name]), Spelling.of(fun, said)).told()
        for fun in prog.funs
        if fun.name in kept
    ]


class _Memory:
    """The compiler's own layout: places of arrays, and those that it copies."""

    def __init__(self, flat: ir.Prog, fun: ir.Function) -> None:
        self.binds: dict[Name, ir.MemBind] = {}
        self._copied: set[Name] = set()
        before = next(one for one in flat.funs if one.name == fun.name)
        asked = {p.name: stm for stm in all_stms(before.body.stms) for p in stm.pat}
        params = list(fun.params)
        for stm in all_stms(fun.body.stms):
            params += stm.pat
            if isinstance(stm.exp, ir.Loop):
                params += stm.exp.params
            for param in stm.pat:
                if param.name in asked and _replaced(asked[param.name].exp, stm.exp):
                    self._copied.add(param.name)
        for param in params:
            if isinstance(param.type, ir.Array) and param.type.mem is not None:
                self.binds[param.name] = param.type.mem
        self.results = set(before.body.results) - set(fun.body.results)
        """Results that are copied."""

    def copies(self, name: Name, source: Name | None) -> bool:
        """Return True if an array's elements were written anew, apart from the viewed array's."""
        if source is None:
            return name in self._copied
        return self.binds[name].block != self.binds[source].block


def _replaced(before: ir.Exp, after: ir.Exp) -> bool:
    """Return True if a branch or loop takes another array than before, which is then a copy."""
    return bool({x for x in _operands(before) if isinstance(x, str)} - set(_operands(after)))


def _operands(exp: ir.Exp) -> tuple[ir.Operand, ...]:
    match exp:
        case ir.If(_, then, orelse):
            return then.results + orelse.results
        case ir.Loop(_, init, _, body):
            return init + body.results
    return ()


class _Walk:
    """Walks through one function."""

    def __init__(self, prog: ir.Prog, fun: ir.Function, memory: _Memory, spell: Spelling) -> None:
        self.fun = fun
        self.memory = memory
        self.spell = spell
        self.text = IndexText(spell)
        self.known = Known()
        self.forms: dict[Name, Forms] = {}
        self.made: dict[Name, ir.Exp] = {}
        self.above: dict[Name, Name] = {}
        """The array that each view looks at."""
        self.changes: list[LayoutChange] = []
        self.computed: set[Name] = set()
        """Arrays without an LMAD: copies if they are in memory, else fused away."""
        self.varied: dict[Name, None] = {}
        self.returned: dict[Name, Poly] = {}
        """Names that stage `funmem` introduces, with the terms that they stand for here."""
        self.names = {param.name for param in fun.params} | set(bound(fun.body))
        """Names for numbers that differ between branches or iterations."""
        together = classes(prog)
        written = {name for stm in all_stms(fun.body.stms) for name in overwritten(stm.exp)}
        marked = {together.find(name) for name in written}
        self.is_written: Callable[[Name], bool] = lambda name: together.find(name) in marked

    def told(self) -> IndexFunctions:
        """Walk the function and return all changes of layout."""
        for param in self.fun.params:
            self._fresh(param)
        self._body(self.fun.body.stms)
        for result in dict.fromkeys(self.fun.body.results):
            if isinstance(result, str):
                self._result(result)
        forms = [form for change in self.changes for form in change["forms"]]
        return {
            "name": self.fun.name,
            "changes": self.changes,
            "copies": {
                way: sum(form["copies"] for form in forms if form["generation"] == way)
                for way in WAYS
            },
        }

    # --- statements ---

    def _body(self, stms: Iterable[ir.Stm]) -> None:
        for stm in stms:
            self._stm(stm)

    def _stm(self, stm: ir.Stm) -> None:
        exp = stm.exp
        for param in stm.pat:
            self.made[param.name] = exp
        if isinstance(exp, ir.SE_NODES) and stm.pat and stm.pat[0].type == ir.I64:
            self.known.define(stm.pat[0].name, exp)
        if isinstance(exp, ir.Assert):
            self.known.assume(exp.cond)
        match exp:
            case ir.Slice(array, dims):
                parts = tuple([as_lmad(dim, self._number, itself) for dim in dims])
                self._view(stm, array, [Select(parts)])
            case ir.Rearrange(perm, array):
                self._view(stm, array, [Permute(perm)])
            case ir.Reshape(shape, array):
                self._view(stm, array, [Reshape(shape)])
            case ir.Update(array):
                self.forms[stm.pat[0].name] = self.forms[array]
                self.above[stm.pat[0].name] = array
            case ir.If():
                self._if(stm, exp)
            case ir.Loop():
                self._loop(stm, exp)
            case ir.Map() if (moved := self._moves(stm, exp)) is not None:
                self._view(stm, *moved)
            case _:
                self._other(stm)

    def _other(self, stm: ir.Stm) -> None:
        """Record new arrays; updated arrays stay in place."""
        exp = stm.exp
        if isinstance(exp, ir.Soac):
            self._lambda(exp.fn, exp.arrays)
        for param in stm.pat:
            self._fresh(param)
        for param, dest in zip(stm.pat, overwritten(exp), strict=False):
            if dest in self.forms:
                self.forms[param.name] = self.forms[dest]
                self.above[param.name] = dest

    def _lambda(self, fn: ir.Lambda, arrays: Sequence[Name]) -> None:
        """Walk a lambda: its parameters are rows, at an index of the thread's own."""
        row = Poly.var(self.text.fresh("row"))
        for param, array in zip(fn.params, arrays, strict=True):
            kind = param.type
            if isinstance(kind, ir.Array) and array in self.forms:
                step = Select((Lmad(row, ()), *map(_all, kind.shape)))
                self.forms[param.name] = {
                    way: WAYS[way].then(form, step) for way, form in self.forms[array].items()
                }
                self.above[param.name] = array
        self._body(fn.body.stms)

    def _fresh(self, param: ir.Param) -> None:
        if isinstance(param.type, ir.Array):
            base = Lmad.row_major(self._normal(param.type.shape))
            self.forms[param.name] = {way: one.start(base) for way, one in WAYS.items()}

    def _normal(self, shape: Sequence[Poly]) -> tuple[Poly, ...]:
        return tuple(map(self.known.normal, shape))

    def _number(self, se: ir.SE) -> Poly:
        """Return a position as a polynomial, or a name that stands for it."""
        poly = poly_of(se)
        if poly is not None:
            return self.known.normal(poly)
        name = self.text.fresh("at")
        self.spell.stands_for(name, se)
        return Poly.var(name)

    # --- views ---

    def _view(self, stm: ir.Stm, array: Name, steps: Sequence[Step[Poly]]) -> None:
        """Record a change of layout; a generation without a form for it copies to row-major."""
        (param,) = stm.pat
        name, shape = param.name, self._normal(shape_of(param.type))
        if array not in self.forms:
            self._fresh(param)
            return
        self.above[name] = array
        forms: Forms = {}
        why: dict[Generation, str] = {}
        for way, form in self.forms[array].items():
            for step in map(self._normal_step, steps):
                form = WAYS[way].then(form, step)
                if isinstance(form, NoView):
                    why[way] = f"No single LMAD: {form.because(self.spell.poly)}."
                    self.computed.add(name)
                    form = WAYS[way].start(Lmad.row_major(shape))
            forms[way] = form
        if array in self.computed:
            self.computed.add(name)
        source = self._in_memory(array)
        if name in self.memory.binds and source is not None:
            if not self.memory.copies(name, source):
                why.pop("single", None)
            else:
                why.setdefault("single", "A kernel writes new elements.")
        self._tell(stm.prov, name, shape, forms, why)
        if name in self.memory.binds and source is None:
            self.changes[-1]["forms"][-1]["because"] = _ANEW

    def _normal_step(self, step: Step[Poly]) -> Step[Poly]:
        return Reshape(self._normal(step.shape)) if isinstance(step, Reshape) else step

    def _in_memory(self, name: Name) -> Name | None:
        """Return the array, or the next viewed array, that stage `funmem` has in memory."""
        while name not in self.memory.binds:
            if name not in self.above:
                return None
            name = self.above[name]
        return name

    def _tell(
        self,
        prov: Prov,
        name: Name,
        shape: tuple[Poly, ...],
        forms: Forms,
        why: dict[Generation, str],
        does: str = "",
    ) -> None:
        """Record the forms of an array, and report a change."""
        bind = self.memory.binds.get(name)
        if bind is not None:
            forms = {**forms, "single": self._as_compiled(forms["single"], bind)}
            self.computed.discard(name)
        self.forms[name] = forms
        told: list[IndexForm] = [
            {
                "generation": way,
                "text": self.text.of(form),
                "cell": self.text.cell(form, shape),
                "copies": way in why,
                "because": why.get(way, ""),
            }
            for way, form in forms.items()
        ]
        if name in self.computed:
            told[-1] |= {"text": "", "cell": "", "copies": False}
            told[-1]["because"] = f"{why.get('single', '')} Its elements are {_READ}.".strip()
        self.changes.append(
            {
                "array": self.spell.array(name),
                "does": does or self._does(name),
                "index": self.text.index(len(shape)),
                "forms": told,
                "in_memory": bind is not None,
                "tiles": "" if bind is None else self._tiles(name, bind.block, forms["single"]),
                "src": user_spans(prov),
            }
        )

    def _does(self, name: Name) -> str:
        """Name a statement's change of layout."""
        match self.made[name]:
            case ir.Slice(_, dims):
                return "index" if any(isinstance(dim, ir.DimFix) for dim in dims) else "slice"
            case ir.Rearrange(perm, _):
                return "transpose" if len(perm) == 2 else "rearrange"
            case ir.Reshape():
                return "reshape"
        return "gather"

    def _tiles(self, name: Name, block: Name, form: Function) -> str:
        """Return the LMAD whose cells, permuted, let the array fill its block once, or ""."""
        while name in self.above:
            name = self.above[name]
        root = self.memory.binds.get(name)
        if root is None or root.block != block or not root.lmad.is_row_major():
            return ""
        assert isinstance(form, Lmad)
        found = complement(self.known.normal_lmad(form), self._normal(root.lmad.shape))
        return self.text.lmad(found) if isinstance(found, Lmad) and found.dims else ""

    # --- branches, loops, results ---

    def _if(self, stm: ir.Stm, exp: ir.If) -> None:
        before = len(self.varied)
        self._body(exp.then.stms)
        self._body(exp.orelse.stms)
        inside = {*bound(exp.then), *bound(exp.orelse), *[*self.varied][before:]}
        for param, x, y in zip(stm.pat, exp.then.results, exp.orelse.results, strict=True):
            if not isinstance(param.type, ir.Array):
                continue
            both = self.forms.get(str(x)), self.forms.get(str(y))
            if both[0] is None or both[1] is None:
                self._fresh(param)
                continue
            self._joined(stm.prov, param, both[0], both[1], inside)

    def _joined(
        self, prov: Prov, param: ir.Param, one: Forms, other: Forms, inside: set[Name]
    ) -> None:
        """Join the forms of two branches by anti-unification."""
        shape = self._normal(shape_of(param.type))
        forms: Forms = {}
        why: dict[Generation, str] = {}
        said: dict[Generation, str] = {}
        own: dict[tuple[Poly, Poly], Name] = {}
        for way in WAYS:
            pairs: list[str] = []
            found = unify(one[way], other[way], self._differ(pairs, inside, own))
            if found is None:
                texts = " and ".join(self.text.of(form) for form in (one[way], other[way]))
                why[way] = f"The branches differ in structure: {texts}."
                found = WAYS[way].start(Lmad.row_major(shape))
            elif pairs:
                said[way] = f"The branches return {', '.join(pairs)}."
            forms[way] = found
        self._settle(prov, param, forms, why, said, "branches")

    def _settle(
        self,
        prov: Prov,
        param: ir.Param,
        forms: Forms,
        why: dict[Generation, str],
        said: dict[Generation, str],
        does: str,
    ) -> None:
        """Report forms joined over branches or iterations, unless all are row-major."""
        shape = self._normal(shape_of(param.type))
        if param.name in self.memory.binds and self.memory.copies(param.name, None):
            why["single"] = "The compiler copies it, to have one block and one layout."
        if not why and not said and all(self._is_row_major(way, forms[way]) for way in forms):
            self.forms[param.name] = forms
            return
        self._tell(prov, param.name, shape, forms, why, does)
        for form in self.changes[-1]["forms"]:
            form["because"] = form["because"] or said.get(form["generation"], "")

    def _as_compiled(self, own: Function, bind: ir.MemBind) -> Function:
        """Return the compiler's LMAD, in the names of this walk if both are equal up to names."""
        lmad = bind.lmad.subst(self.returned)
        assert isinstance(own, Lmad)
        ours, theirs = (sorted(one.names() - self.names, key=_number_of) for one in (own, lmad))
        if len(ours) == len(theirs):
            same = {a: Poly.var(b) for a, b in zip(theirs, ours, strict=True)}
            normal = self.known.normal_lmad
            if normal(lmad.subst(same)).same_cells(normal(own)):
                self.returned |= same
                return own
        return lmad

    def _differ(
        self, pairs: list[str], inside: set[Name], own: dict[tuple[Poly, Poly], Name]
    ) -> Callable[[Poly, Poly], Poly]:
        """Return a function that generalises two numbers to one of `own`, or to a new name."""

        def differ(one: Poly, other: Poly) -> Poly:
            if one.as_name in own.values():
                return one
            left, right = self.known.normal(one), self.known.normal(other)
            if left == right and not left.names() & inside:
                return left
            name = own.get((left, right)) or self.text.fresh("l")
            self.varied[name], own[left, right] = None, name
            sides = [self.spell.poly(side) for side in (one, other)]
            pairs.append(f"{self.spell.poly(Poly.var(name))} = {' or '.join(sides)}")
            return Poly.var(name)

        return differ

    def _loop(self, stm: ir.Stm, exp: ir.Loop) -> None:
        """Guess that loop arrays keep their forms; widen until an iteration agrees."""
        carried = [k for k, p in enumerate(exp.params) if isinstance(p.type, ir.Array)]
        guess: dict[int, Forms] = {}
        given: set[tuple[int, Generation]] = set()
        decided: set[tuple[int, Generation]] = set()
        pairs: dict[tuple[int, Generation], list[str]] = {}
        for k in carried:
            self._fresh(exp.params[k])
            own = self.forms[exp.params[k].name]
            guess[k] = dict(self.forms.get(str(exp.init[k]), own))
            bind = self.memory.binds.get(exp.params[k].name)
            if bind is not None:  # the compiler has chosen
                guess[k]["single"] = lmad = bind.lmad.subst(self.returned)
                news = sorted(lmad.names() - self.names, key=_number_of)
                pairs[k, "single"] = list(map(self.spell.number, news))
                decided.add((k, "single"))
        inside = set(bound(exp.body))
        ours: list[dict[tuple[Poly, Poly], Name]] = [{} for _ in exp.params]
        stable = False
        while not stable:
            stable, told = True, len(self.changes)
            for k in carried:
                self.forms[exp.params[k].name] = dict(guess[k])
            self._body(exp.body.stms)
            for k in carried:
                end = self.forms.get(str(exp.body.results[k])) or self._row_major(exp.params[k])
                for way in WAYS:
                    if (k, way) in given | decided:
                        continue
                    told_of = pairs.setdefault((k, way), [])
                    wider = unify(guess[k][way], end[way], self._differ(told_of, inside, ours[k]))
                    if wider is None:
                        given.add((k, way))
                        wider = self._row_major(exp.params[k])[way]
                    if wider != guess[k][way]:
                        guess[k][way], stable = wider, False
            if not stable:
                del self.changes[told:]
        for k in carried:
            param = stm.pat[k]
            texts = "The iterations return different layouts, so the compiler makes it row-major."
            why: dict[Generation, str] = {way: texts for way in WAYS if (k, way) in given}
            said: dict[Generation, str] = {
                way: f"The loop carries {', '.join(pairs[k, way])}."
                for way in WAYS
                if way not in why and pairs.get((k, way))
            }
            self.above[param.name] = exp.params[k].name
            self._settle(stm.prov, param, guess[k], why, said, "loop")

    def _shape(self, name: Name) -> tuple[Poly, ...]:
        lmad = self.forms[name]["single"]
        assert isinstance(lmad, Lmad)
        return self._normal(lmad.shape)

    def _row_major(self, param: ir.Param) -> Forms:
        base = Lmad.row_major(self._normal(shape_of(param.type)))
        return {way: one.start(base) for way, one in WAYS.items()}

    def _is_row_major(self, way: Generation, form: Function) -> bool:
        """Return True if a generation sees that an index function is row-major from offset 0."""
        lmad = WAYS[way].lmad(form)
        return lmad is not None and lmad.offset == 0 and lmad.is_row_major()

    def _result(self, name: Name) -> None:
        """Report the form of a result of the function."""
        forms = self.forms.get(name)
        if forms is None:
            return
        shape = self._shape(name)
        why: dict[Generation, str] = {
            way: f"Copied: {_AT}." for way in WAYS if not self._is_row_major(way, forms[way])
        }
        if name in self.memory.binds:
            why.pop("single", None)
            if name in self.memory.results:
                why["single"] = f"Copied: {_AT}."
        if why:
            self._tell(self.fun.prov, name, shape, forms, why, "result")

    # --- maps that only move elements ---

    def _moves(self, stm: ir.Stm, exp: ir.Map) -> tuple[Name, list[Step[Poly]]] | None:
        """Return the array and the steps by which a map's result is a view of it, if it is."""
        if len(stm.pat) != 1 or len(exp.arrays) != 1 or exp.arrays[0] not in self.made:
            return None
        (result,) = exp.fn.body.results
        inner = exp.fn.body.stms
        iota = self.made[exp.arrays[0]]
        for one in inner:
            if isinstance(one.exp, ir.SE_NODES) and one.pat[0].type == ir.I64:
                self.known.define(one.pat[0].name, one.exp)
        last = inner[-1] if inner else None
        if last is None or not isinstance(last.exp, ir.Index) or not isinstance(result, ir.Var):
            return None
        plain = all(isinstance(one.exp, ir.SE_NODES) for one in inner[:-1])
        counts = isinstance(iota, ir.Iota) and (iota.start, iota.step) == (ir.ZERO, ir.ONE)
        array = last.exp.array
        if not plain or not counts or result.name != last.pat[0].name or array not in self.forms:
            return None
        if self.is_written(array) or self.is_written(stm.pat[0].name):
            return None
        steps = self._gathered(last.exp, array, exp.fn.params[0].name, exp.width)
        return None if steps is None else (array, steps)

    def _gathered(
        self, exp: ir.Index, array: Name, index: Name, width: Poly
    ) -> list[Step[Poly]] | None:
        """Return the steps for a read of one element at an index; see the note."""
        shape = self._shape(array)
        by = [_ZERO] * len(shape)
        parts: list[Lmad[Poly]] = []
        for k, (at, size) in enumerate(zip(exp.at, shape, strict=True)):
            poly = poly_of(at)
            if isinstance(at, ir.Bin) and at.op == "%" and _equal(self.known, at.rhs, size):
                poly = poly_of(at.lhs)
                by[k] = _ZERO if poly is None else self.known.normal(poly - Poly.var(index))
                if index in by[k].names() or not self.known.equal(width, size):
                    return None
                poly = Poly.var(index)
            if poly is None or poly.degree(index) > 1:
                return None
            gain = poly.coefficient(index)
            start = poly.subst({index: _ZERO})
            if index in gain.names():
                return None
            parts.append(Lmad(start, (Dim(width, gain),) if gain != 0 else ()))
        if sum(part.rank for part in parts) != 1:
            return None
        steps: list[Step[Poly]] = [Rotate(tuple(by))] if any(r != 0 for r in by) else []
        full = all(p.rank and p == _all(n) for p, n in zip(parts, shape, strict=True))
        return steps if full else [*steps, Select(tuple(parts))]


def _number_of(name: Name) -> int:
    """Return the number of a name, which increases with time."""
    return int(name.rpartition("_")[2])


def _equal(known: Known, se: ir.SE, size: Poly) -> bool:
    poly = poly_of(se)
    return poly is not None and known.equal(poly, size)


def _all(size: Poly) -> Lmad[Poly]:
    """Return the LMAD of all positions of a dimension."""
    return Lmad(_ZERO, (Dim(size, _ONE),))
