"""Build syntax nodes from parse trees: one method per alternative of `grammar.lark`.

A method gets the matched children, tokens included. A result without a syntax node of its own is a
`Part`: its span and its data.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Literal, cast

from lark import Token, Transformer

from compiler import codes
from compiler.base.dataclass import dataclass
from compiler.base.errors import SyntaxError_
from compiler.base.spans import Span
from compiler.frontend import ast, decs
from compiler.frontend.literals import characters, literal
from compiler.frontend.operators import tree_of

Kids = list[Any]
_SECTION_PARAM = "it''"


@dataclass(slots=True)
class Part:
    """A parsed piece without a syntax node: its data and its span."""

    span: Span
    data: Any


def _span_of(item: Any) -> Span:
    if isinstance(item, Token):
        line, column = item.line or 1, item.column or 1
        return Span(
            line, column, item.end_line or line, item.end_column or column, TreeBuilder.file
        )
    return cast(Span, item.span)


def _span(kids: Kids) -> Span:
    return _span_of(kids[0]).to(_span_of(kids[-1]))


def _has(kids: Kids, kind: str) -> bool:
    return any(isinstance(k, Token) and k.type == kind for k in kids)


def _nodes(kids: Kids) -> Kids:
    return [k for k in kids if not isinstance(k, Token)]


def _pick(kids: Kids, *kinds: type) -> tuple[Any, ...]:
    return tuple(k for k in kids if isinstance(k, kinds))


def _data(kids: Kids, tag: str) -> Any:
    """Return the data of the part with that tag, or None.

    Tagged parts hold `(tag, data)`.
    """
    for k in kids:
        if isinstance(k, Part) and isinstance(k.data, tuple) and k.data[:1] == (tag,):
            return k.data[1]
    return None


class TreeBuilder(Transformer[Token, decs.Program]):
    """Transforms parse trees to syntax nodes.

    `file` and `docs` (by start of a token) are those of the text read.
    """

    file: ClassVar[str] = ""
    docs: ClassVar[dict[int, str]] = {}

    @classmethod
    @contextmanager
    def reading(cls, file: str, docs: dict[int, str]) -> Iterator[None]:
        """Build nodes for one text."""
        before = cls.file, cls.docs
        cls.file, cls.docs = file, docs
        try:
            yield
        finally:
            cls.file, cls.docs = before

    def _doc(self, kids: Kids) -> str:
        first = kids[0]
        token = first.data if isinstance(first, Part) else first
        return self.docs.get(token.start_pos or 0, "") if isinstance(token, Token) else ""

    # --- declarations ------------------------------------------------------------------------

    def program(self, kids: Kids) -> decs.Program:
        return decs.Program(tuple(kids))

    def defkind(self, kids: Kids) -> Part:
        return Part(_span_of(kids[0]), kids[0])

    def bind_name(self, kids: Kids) -> Part:
        return Part(_span(kids), str(kids[0]))

    def bind_op(self, kids: Kids) -> Part:
        return Part(_span(kids), _bindable(kids[1]))

    def retype(self, kids: Kids) -> Part:
        return Part(_span(kids), ("ret", kids[1]))

    lamret = retype

    def val_dec(self, kids: Kids) -> decs.ValDec:
        binder = kids[1]
        return self._value(kids, binder.data, binder.span, _pick(kids, ast.Pat))

    def op_dec(self, kids: Kids) -> decs.ValDec:
        operator = kids[2]
        return self._value(kids, _bindable(operator), operator.span, (kids[1], kids[3]))

    def _value(self, kids: Kids, name: str, span: Span, params: tuple[ast.Pat, ...]) -> decs.ValDec:
        kind = cast(Literal["def", "entry", "let"], str(kids[0].data))
        return decs.ValDec(
            _span(kids),
            kind,
            name,
            span,
            _pick(kids, ast.TypeParam),
            params,
            _data(kids, "ret"),
            kids[-1],
            self._doc(kids),
            (),
        )

    def size_param(self, kids: Kids) -> ast.TypeParam:
        return ast.TypeParam(_span(kids), str(kids[1]), "size")

    def type_param(self, kids: Kids) -> ast.TypeParam:
        text = str(kids[0])
        if text[1] == "~":
            return ast.TypeParam(_span(kids), text[2:], "sizelifted")
        if text[1] == "^":
            return ast.TypeParam(_span(kids), text[2:], "lifted")
        return ast.TypeParam(_span(kids), text[1:], "type")

    def open_dec(self, kids: Kids) -> decs.OpenDec:
        return decs.OpenDec(_span(kids), kids[1])

    def import_dec(self, kids: Kids) -> decs.ImportDec:
        return decs.ImportDec(_span(kids), characters(kids[1], _span_of(kids[1])))

    def local_dec(self, kids: Kids) -> decs.LocalDec:
        return decs.LocalDec(_span(kids), kids[1])

    def attr_dec(self, kids: Kids) -> decs.Dec:
        attr, dec = _attr(kids[0]), kids[1]
        if isinstance(dec, decs.ValDec):
            return decs.ValDec(
                attr.span.to(dec.span),
                dec.kind,
                dec.name,
                dec.name_span,
                dec.type_params,
                dec.params,
                dec.ret,
                dec.body,
                dec.doc or self.docs.get(kids[0].start_pos or 0, ""),
                (attr, *dec.attrs),
            )
        return cast(decs.Dec, dec)

    def type_dec(self, kids: Kids) -> decs.TypeDec:
        kind, params = _kind_of_type(kids[0]), _pick(kids, ast.TypeParam)
        return decs.TypeDec(_span(kids), kind, str(kids[1]), params, kids[-1], self._doc(kids))

    def mod_dec(self, kids: Kids) -> decs.ModDec:
        params, asc = _pick(kids, decs.ModParam), _data(kids, "sig")
        return decs.ModDec(_span(kids), str(kids[1]), params, asc, kids[-1], self._doc(kids))

    def modasc(self, kids: Kids) -> Part:
        return Part(_span(kids), ("sig", kids[1]))

    def mod_type_dec(self, kids: Kids) -> decs.ModTypeDec:
        return decs.ModTypeDec(_span(kids), str(kids[2]), kids[-1], self._doc(kids))

    def mod_param(self, kids: Kids) -> decs.ModParam:
        return decs.ModParam(_span(kids), str(kids[1]), _span_of(kids[1]), kids[3])

    def m_name(self, kids: Kids) -> decs.MName:
        return decs.MName(kids[0].span, kids[0].data)

    def m_import(self, kids: Kids) -> decs.MImport:
        return decs.MImport(_span(kids), characters(kids[1], _span_of(kids[1])))

    def m_body(self, kids: Kids) -> decs.MBody:
        return decs.MBody(_span(kids), tuple(_nodes(kids)))

    def m_paren(self, kids: Kids) -> decs.ModExp:
        return cast(decs.ModExp, kids[1])

    def m_apply(self, kids: Kids) -> decs.MApply:
        return decs.MApply(_span(kids), kids[0], kids[1])

    def m_ascript(self, kids: Kids) -> decs.MAscript:
        return decs.MAscript(_span(kids), kids[0], kids[2])

    def m_lambda(self, kids: Kids) -> decs.MLambda:
        return decs.MLambda(_span(kids), kids[1], _data(kids, "sig"), kids[-1])

    def mt_name(self, kids: Kids) -> decs.MTName:
        return decs.MTName(kids[0].span, kids[0].data)

    def mt_sig(self, kids: Kids) -> decs.MTSig:
        return decs.MTSig(_span(kids), tuple(_nodes(kids)))

    def mt_paren(self, kids: Kids) -> decs.ModTypeExp:
        return cast(decs.ModTypeExp, kids[1])

    def mt_pi(self, kids: Kids) -> decs.MTArrow:
        return decs.MTArrow(_span(kids), str(kids[1]), kids[3], kids[6])

    def mt_arrow(self, kids: Kids) -> decs.MTArrow:
        return decs.MTArrow(_span(kids), None, kids[0], kids[2])

    def mt_with(self, kids: Kids) -> decs.MTWith:
        params = _pick(kids, ast.TypeParam)
        return decs.MTWith(_span(kids), kids[0], kids[2].data, params, kids[-1])

    def val_spec(self, kids: Kids) -> decs.ValSpec:
        params = _pick(kids, ast.TypeParam)
        return decs.ValSpec(_span(kids), kids[1].data, params, kids[-1])

    def val_op_spec(self, kids: Kids) -> decs.ValSpec:
        params = _pick(kids, ast.TypeParam)
        return decs.ValSpec(_span(kids), _bindable(kids[1]), params, kids[-1])

    def type_spec(self, kids: Kids) -> decs.TypeSpec:
        type_ = kids[-1] if isinstance(kids[-1], ast.TypeExp) else None
        params = _pick(kids, ast.TypeParam)
        return decs.TypeSpec(_span(kids), _kind_of_type(kids[0]), str(kids[1]), params, type_)

    def mod_spec(self, kids: Kids) -> decs.ModSpec:
        return decs.ModSpec(_span(kids), str(kids[1]), kids[3])

    def include_spec(self, kids: Kids) -> decs.IncludeSpec:
        return decs.IncludeSpec(_span(kids), kids[1])

    def attr_spec(self, kids: Kids) -> decs.Spec:
        return cast(decs.Spec, kids[1])

    # --- types -------------------------------------------------------------------------------

    def qualname(self, kids: Kids) -> Part:
        return Part(_span(kids), (str(kids[0]), *(str(k)[1:] for k in kids[1:])))

    def sizename(self, kids: Kids) -> Part:
        return Part(_span(kids), ("size", str(kids[1])))

    def t_name(self, kids: Kids) -> ast.TName:
        return ast.TName(kids[0].span, kids[0].data)

    def t_pi(self, kids: Kids) -> ast.TArrow:
        return ast.TArrow(_span(kids), str(kids[1]), kids[3], kids[6])

    def t_arrow(self, kids: Kids) -> ast.TArrow:
        return ast.TArrow(_span(kids), None, kids[0], kids[2])

    def t_exists(self, kids: Kids) -> ast.TExists:
        return ast.TExists(_span(kids), _sizes(kids), kids[-1])

    def variant(self, kids: Kids) -> Part:
        return Part(_span(kids), (str(kids[0])[1:], tuple(kids[1:])))

    def t_sum(self, kids: Kids) -> ast.TSum:
        return ast.TSum(_span(kids), tuple(k.data for k in _nodes(kids)))

    def t_array(self, kids: Kids) -> ast.TArray:
        return ast.TArray(_span(kids), kids[1], kids[3])

    def t_array_any(self, kids: Kids) -> ast.TArray:
        return ast.TArray(_span(kids), None, kids[2])

    def t_unique(self, kids: Kids) -> ast.TUnique:
        return ast.TUnique(_span(kids), kids[1])

    def t_apply(self, kids: Kids) -> ast.TApply:
        return ast.TApply(_span(kids), kids[0], tuple(kids[1:]))

    def t_size(self, kids: Kids) -> ast.TSize:
        return ast.TSize(_span(kids), kids[1])

    def t_size_any(self, kids: Kids) -> ast.TSize:
        return ast.TSize(_span(kids), None)

    def t_unit(self, kids: Kids) -> ast.TTuple:
        return ast.TTuple(_span(kids), ())

    def t_paren(self, kids: Kids) -> ast.TypeExp:
        return cast(ast.TypeExp, kids[1])

    def t_tuple(self, kids: Kids) -> ast.TTuple:
        return ast.TTuple(_span(kids), tuple(_nodes(kids)))

    def t_record(self, kids: Kids) -> ast.TRecord:
        return ast.TRecord(_span(kids), tuple(k.data for k in _nodes(kids)))

    def tfield(self, kids: Kids) -> Part:
        return Part(_span(kids), (str(kids[0]), kids[2]))

    # --- patterns ----------------------------------------------------------------------------

    def p_name(self, kids: Kids) -> ast.PName:
        return ast.PName(_span(kids), str(kids[0]))

    def p_op(self, kids: Kids) -> ast.PName:
        return ast.PName(_span(kids), _bindable(kids[1]))

    def p_wild(self, kids: Kids) -> ast.PWild:
        return ast.PWild(_span(kids))

    def p_unit(self, kids: Kids) -> ast.PTuple:
        return ast.PTuple(_span(kids), ())

    def p_paren(self, kids: Kids) -> ast.Pat:
        return cast(ast.Pat, kids[1])

    def p_tuple(self, kids: Kids) -> ast.PTuple:
        return ast.PTuple(_span(kids), tuple(_nodes(kids)))

    def p_record(self, kids: Kids) -> ast.PRecord:
        return ast.PRecord(_span(kids), tuple(k.data for k in _nodes(kids)))

    def p_field_name(self, kids: Kids) -> Part:
        return Part(_span(kids), (str(kids[0]), ast.PName(_span(kids), str(kids[0]))))

    def p_field_typed(self, kids: Kids) -> Part:
        name = ast.PName(_span_of(kids[0]), str(kids[0]))
        return Part(_span(kids), (str(kids[0]), ast.PTyped(_span(kids), name, kids[2])))

    def p_field(self, kids: Kids) -> Part:
        return Part(_span(kids), (str(kids[0]), kids[2]))

    def p_typed(self, kids: Kids) -> ast.PTyped:
        return ast.PTyped(_span(kids), kids[0], kids[2])

    def p_constr(self, kids: Kids) -> ast.PConstr:
        return ast.PConstr(_span(kids), str(kids[0])[1:], ())

    def p_constr_args(self, kids: Kids) -> ast.PConstr:
        return ast.PConstr(_span(kids), str(kids[0])[1:], tuple(kids[1:]))

    def p_lit(self, kids: Kids) -> ast.PLit:
        return ast.PLit(_span(kids), kids[0])

    def p_neg(self, kids: Kids) -> ast.PLit:
        return ast.PLit(_span(kids), ast.Negate(_span(kids), self.literal(kids[1:])))

    def p_attr(self, kids: Kids) -> ast.PAttr:
        return ast.PAttr(_span(kids), _attr(kids[0]), kids[1])

    # --- expressions -------------------------------------------------------------------------

    def literal(self, kids: Kids) -> ast.Exp:
        return literal(kids[0], _span_of(kids[0]))

    def infix(self, kids: Kids) -> Part:
        if kids[0].type == "TICK":
            return Part(_span(kids), (str(kids[1]), *(str(k)[1:] for k in kids[2:-1])))
        if kids[0].type == "QUALOP":
            return Part(_span(kids), _qualified(str(kids[0])))
        return Part(_span(kids), (str(kids[0]),))

    rinfix = infix

    def opitem(self, kids: Kids) -> Part:
        return Part(_span(kids), ((kids[0].data, kids[0].span), kids[1]))

    def e_ops(self, kids: Kids) -> ast.Exp:
        return tree_of(kids[0], [item.data for item in kids[1:]])

    def e_ascript(self, kids: Kids) -> ast.Ascript:
        return ast.Ascript(_span(kids), kids[0], kids[2])

    def e_coerce(self, kids: Kids) -> ast.Coerce:
        return ast.Coerce(_span(kids), kids[0], kids[2])

    def e_range(self, kids: Kids) -> ast.RangeExp:
        return ast.RangeExp(_span(kids), kids[0], None, _range_kind(kids[1]), kids[2])

    def e_range_step(self, kids: Kids) -> ast.RangeExp:
        return ast.RangeExp(_span(kids), kids[0], kids[2], _range_kind(kids[3]), kids[4])

    def path_index(self, kids: Kids) -> Part:
        return Part(_span(kids), kids[1].data)

    def path_field(self, kids: Kids) -> Part:
        return Part(_span(kids), str(kids[0]).removeprefix("."))

    def path(self, kids: Kids) -> Part:
        return Part(_span(kids), [k.data for k in kids])

    def e_with(self, kids: Kids) -> ast.Exp:
        return _updated(_span(kids), kids[0], kids[2].data, kids[4])

    def e_negate(self, kids: Kids) -> ast.Negate:
        return ast.Negate(_span(kids), kids[1])

    def e_not(self, kids: Kids) -> ast.Not:
        return ast.Not(_span(kids), kids[1])

    def e_if(self, kids: Kids) -> ast.If:
        return ast.If(_span(kids), kids[1], kids[3], kids[5])

    def letbody(self, kids: Kids) -> ast.Exp:
        return cast(ast.Exp, kids[-1])

    def e_let(self, kids: Kids) -> ast.Let:
        pat, rhs, body = _pick(kids, ast.Pat)[0], kids[-2], kids[-1]
        return ast.Let(_span(kids), _sizes(kids), pat, rhs, body)

    def e_letfun(self, kids: Kids) -> ast.LetFun:
        return self._function(kids, str(kids[1]), kids[1], _pick(kids, ast.Pat))

    letdef = e_letfun

    def e_letop(self, kids: Kids) -> ast.LetFun:
        return self._function(kids, _bindable(kids[2]), kids[2], _pick(kids, ast.Pat))

    def e_letinfix(self, kids: Kids) -> ast.LetFun:
        return self._function(kids, _bindable(kids[2]), kids[2], (kids[1], kids[3]))

    def _function(self, kids: Kids, name: str, at: Any, params: tuple[ast.Pat, ...]) -> ast.LetFun:
        types, ret = _pick(kids, ast.TypeParam), _data(kids, "ret")
        return ast.LetFun(_span(kids), name, _span_of(at), types, params, ret, kids[-2], kids[-1])

    def e_letwith(self, kids: Kids) -> ast.Exp:
        steps = [k.data for k in kids if isinstance(k, Part)]
        name, span, value, body = str(kids[1]), _span_of(kids[1]), kids[-2], kids[-1]
        if len(steps) == 1 and not isinstance(steps[0], str):
            return ast.LetWith(_span(kids), name, span, steps[0], value, body)
        new = _updated(span.to(value.span), ast.Var(span, (name,)), steps, value)
        return ast.Let(_span(kids), (), ast.PName(span, name), new, body)

    def e_loop(self, kids: Kids) -> ast.Loop:
        pat = _pick(kids, ast.Pat)[0]
        form = _pick(kids, ast.For, ast.ForIn, ast.While)[0]
        init = kids[kids.index(pat) + 2] if _has(kids, "EQ") else None
        return ast.Loop(_span(kids), _sizes(kids), pat, init, form, kids[-1])

    def l_for(self, kids: Kids) -> ast.For:
        return ast.For(_span(kids), str(kids[1]), _span_of(kids[1]), kids[3])

    def l_for_in(self, kids: Kids) -> ast.ForIn:
        return ast.ForIn(_span(kids), kids[1], kids[3])

    def l_while(self, kids: Kids) -> ast.While:
        return ast.While(_span(kids), kids[1])

    def e_lambda(self, kids: Kids) -> ast.Lambda:
        return ast.Lambda(_span(kids), _pick(kids, ast.Pat), _data(kids, "ret"), kids[-1])

    def case(self, kids: Kids) -> ast.Case:
        return ast.Case(_span(kids), kids[1], kids[3])

    def e_match(self, kids: Kids) -> ast.Match:
        return ast.Match(_span(kids), kids[1], tuple(kids[2:]))

    def e_assert(self, kids: Kids) -> ast.Assert:
        return ast.Assert(_span(kids), kids[1], kids[2])

    def e_attr(self, kids: Kids) -> ast.AttrExp:
        return ast.AttrExp(_span(kids), _attr(kids[0]), kids[1])

    def e_apply(self, kids: Kids) -> ast.Apply:
        return ast.Apply(_span(kids), kids[0], tuple(kids[1:]))

    def e_constr(self, kids: Kids) -> ast.Constr:
        return ast.Constr(_span(kids), str(kids[0])[1:], tuple(kids[1:]))

    def e_var(self, kids: Kids) -> ast.Var:
        return ast.Var(_span(kids), (str(kids[0]),))

    def e_field(self, kids: Kids) -> ast.Exp:
        name = str(kids[1])[1:]
        if isinstance(kids[0], ast.Var) and not name[0].isdigit():
            return ast.Var(_span(kids), (*kids[0].name, name))
        return ast.Project(_span(kids), kids[0], name)

    def e_index(self, kids: Kids) -> ast.Index:
        return ast.Index(_span(kids), kids[0], kids[2].data)

    def e_open_in(self, kids: Kids) -> ast.OpenIn:
        """`m.(e)`. Errors: something else than a module's name before it."""
        if not isinstance(kids[0], ast.Var):
            raise SyntaxError_(
                codes.syntax.UNEXPECTED,
                "Only the name of a module can stand before `.(`.",
                _span_of(kids[0]),
            )
        return ast.OpenIn(_span(kids), kids[0].name, kids[2])

    def e_hole(self, kids: Kids) -> ast.Hole:
        return ast.Hole(_span(kids))

    def e_unit(self, kids: Kids) -> ast.TupleExp:
        return ast.TupleExp(_span(kids), ())

    def e_paren(self, kids: Kids) -> ast.Parens:
        return ast.Parens(_span(kids), kids[1])

    def e_tuple(self, kids: Kids) -> ast.TupleExp:
        return ast.TupleExp(_span(kids), tuple(_nodes(kids)))

    def e_record(self, kids: Kids) -> ast.RecordExp:
        return ast.RecordExp(_span(kids), tuple(k.data for k in _nodes(kids)))

    def f_pair(self, kids: Kids) -> Part:
        return Part(_span(kids), (str(kids[0]), kids[2]))

    def f_pun(self, kids: Kids) -> Part:
        return Part(_span(kids), (str(kids[0]), ast.Var(_span(kids), (str(kids[0]),))))

    def e_array(self, kids: Kids) -> ast.ArrayExp:
        return ast.ArrayExp(_span(kids), tuple(_nodes(kids)))

    def e_op(self, kids: Kids) -> ast.OpSection:
        return ast.OpSection(_span(kids), kids[1].data, None, None)

    def e_op_right(self, kids: Kids) -> ast.OpSection:
        return ast.OpSection(_span(kids), kids[1].data, None, kids[2])

    def e_op_left(self, kids: Kids) -> ast.OpSection:
        left = tree_of(kids[1], [item.data for item in kids[2:-2]])
        return ast.OpSection(_span(kids), kids[-2].data, left, None)

    def e_section(self, kids: Kids) -> ast.Exp:
        span, steps = _span(kids), [k.data for k in kids[1:-1]]
        if all(isinstance(step, str) for step in steps):
            return ast.ProjSection(span, tuple(steps))
        if len(steps) == 1:
            return ast.IndexSection(span, steps[0])
        body: ast.Exp = ast.Var(span, (_SECTION_PARAM,))
        for step in steps:
            is_field = isinstance(step, str)
            body = ast.Project(span, body, step) if is_field else ast.Index(span, body, step)
        return ast.Lambda(span, (ast.PName(span, _SECTION_PARAM),), None, body)

    def dims(self, kids: Kids) -> Part:
        return Part(_span(kids), tuple(_nodes(kids)))

    def d_fix(self, kids: Kids) -> ast.IndexFix:
        return ast.IndexFix(_span(kids), kids[0])

    def d_slice(self, kids: Kids) -> ast.IndexSlice:
        ends: list[ast.Exp | None] = [None]
        for kid in kids:
            if isinstance(kid, Token):
                ends.append(None)
            else:
                ends[-1] = kid
        start, stop, step = (*ends, None)[:3]
        return ast.IndexSlice(_span(kids), start, stop, step)


# --- tokens -----------------------------------------------------------------------------------


def _bindable(operator: Part) -> str:
    """Return the operator that a definition, pattern or specification binds.

    Errors: one of another module, and `!`, which is no infix operator.
    """
    name: ast.QualName = operator.data
    if len(name) > 1:
        raise SyntaxError_(
            codes.syntax.OPERATOR,
            f"`{'.'.join(name)}` belongs to another module. A definition binds a name "
            "without a module.",
            operator.span,
        )
    if name[0] == "!":
        raise SyntaxError_(
            codes.syntax.OPERATOR, "The operator `!` cannot be redefined.", operator.span
        )
    return name[0]


def _attr(token: Token) -> ast.Attr:
    return ast.Attr(_span_of(token), str(token)[2:-1].strip())


def _sizes(kids: Kids) -> tuple[str, ...]:
    return tuple(
        k.data[1]
        for k in kids
        if isinstance(k, Part) and isinstance(k.data, tuple) and k.data[:1] == ("size",)
    )


def _kind_of_type(token: Token) -> Literal["type", "type^", "type~"]:
    return cast(Literal["type", "type^", "type~"], str(token))


def _range_kind(token: Token) -> Literal["...", "..<", "..>"]:
    return cast(Literal["...", "..<", "..>"], str(token))


def _qualified(text: str) -> ast.QualName:
    """Split `m.n.+.` into ("m", "n", "+."): the operator may contain dots, names may not."""
    parts: list[str] = []
    while text[0].isalpha() or text[0] == "_":
        name, _, text = text.partition(".")
        parts.append(name)
    return (*parts, text)


def _updated(span: Span, source: ast.Exp, steps: list[Any], value: ast.Exp) -> ast.Exp:
    """Build `source with step.. = value`; a step is a field's name or a tuple of indices."""
    fields: list[str] = []
    while steps and isinstance(steps[0], str):
        fields.append(steps[0])
        steps = steps[1:]
    if fields:
        if steps:
            inner: ast.Exp = source
            for name in fields:
                inner = ast.Project(span, inner, name)
            value = _updated(span, inner, steps, value)
        return ast.RecordUpdate(span, source, tuple(fields), value)
    if len(steps) > 1:
        value = _updated(span, ast.Index(span, source, steps[0]), steps[1:], value)
    return ast.Update(span, source, steps[0], value)
