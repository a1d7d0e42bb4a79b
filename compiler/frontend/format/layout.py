"""Translate parse trees to documents: the layout of each construct.

A method lays out the alternatives of `grammar.lark` of its name; those without a method are listed
in `_GLUED` and `_SPACED`. Constructs on one line stay there where they fit; those on several lines
stay so. Commas and operators begin lines. The only tokens dropped are `in` before another `let` and
a comma behind the last element.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from lark import Token, Tree

from compiler.base.dataclass import dataclass
from compiler.frontend.format.document import (
    Break,
    Cat,
    Comment,
    Comments,
    Declarations,
    Doc,
    Group,
    Space,
    Text,
    joined,
)
from compiler.frontend.operators import folded, is_right, precedence

Node = Tree[Token] | Token
Items = Sequence[tuple[Break, Doc]]

_GLUED = frozenset(
    "qualname bind_name bind_op size_param type_param sizename t_name t_unit t_unique t_array "
    "t_array_any t_size t_size_any t_exists m_name mt_name p_name p_wild p_unit p_op p_constr "
    "p_neg literal infix rinfix e_field e_unit e_op path e_range e_range_step e_open_in "
    "e_index e_section path_index".split()
)
_SPACED = frozenset(
    "open_dec import_dec local_dec m_apply m_import mt_arrow m_ascript include_spec mod_dec modasc "
    "retype lamret p_constr_args p_attr p_field t_apply variant type_spec mod_type_dec "
    "l_for l_for_in l_while".split()
)
_PARENS = frozenset("t_paren e_paren p_paren m_paren mt_paren".split())
_LISTS = frozenset("t_tuple t_record p_tuple p_record e_tuple e_record e_array".split())
_LETS = frozenset("e_let e_letfun e_letop e_letinfix e_letwith letdef".split())
_TYPE_PARAMS = ("size_param", "type_param")
_SYMBOLS = frozenset("OP MINUS STAR LT BAR BANG EQ QUALOP".split())
_BEFORE_LAMBDA = 60
"""Characters of arguments at most that a last argument may follow on their line."""
SPACE = Space()


def first(node: Node) -> Token:
    """Return the first token of a parse tree."""
    while not isinstance(node, Token):
        node = node.children[0]
    return node


def _is(node: Node, *kinds: str) -> bool:
    return (node.type if isinstance(node, Token) else node.data) in kinds


class Documents:
    """Builds documents from the parse trees of one text."""

    def __init__(self, tokens: Sequence[Token], comments: Sequence[Token]) -> None:
        """Both in order of text; the last token is its end."""
        self._before: dict[int, list[Comment]] = {}
        self._line: dict[int, tuple[bool, bool]] = {}
        """For each token: whether it begins a line, and whether the line above is empty."""
        rest, at = iter((*comments, None)), 0
        comment = next(rest)
        for token in tokens:
            start, above = token.start_pos or 0, at
            here: list[Comment] = []
            while comment is not None and (comment.start_pos or 0) < start:
                line = comment.line or 0
                text = str(comment).rstrip()
                own = line > above or above == 0 or text.startswith("-- |")
                here.append(Comment(text, own, line > above + 1 and above > 0))
                above = line
                comment = next(rest)
            self._before[start] = here
            line = token.line or 0
            self._line[start] = line > at, line > above + 1
            at = token.end_line or 0

    # --- pieces ------------------------------------------------------------------------------

    def doc(self, node: Node) -> Doc:
        """Build the document of a parse tree, with the comments before it."""
        if isinstance(node, Token):
            comments = self._comments(node)
            text = Text(str(node))
            return Cat((comments, text)) if comments else text
        rule = node.data
        if len(node.children) == 1:
            return self.doc(node.children[0])
        if rule in _GLUED:
            return Cat([self.doc(child) for child in node.children])
        if rule in _SPACED:
            return self._spaced(node.children)
        if rule in _PARENS:
            return Cat([self.doc(child) for child in node.children], align=True)
        if rule in _LISTS:
            return self._listed(node.children)
        return _METHODS[rule](self, node.children)

    def _comments(self, token: Token) -> Comments | None:
        """Take the comments before a token; they are placed once."""
        start = token.start_pos or 0
        found = self._before[start]
        self._before[start] = []
        return Comments(found, self._line[start][1]) if found else None

    def _hoist(self, later: Token, token: Token) -> None:
        """Move the comments before one token to another."""
        start = later.start_pos or 0
        self._before[token.start_pos or 0] += self._before[start]
        self._before[start] = []

    def _line_to(self, *nodes: Node, flat: str = " ", keep: bool = False) -> Break:
        """Build a line break before parse trees, broken if one of them began a line."""
        starts = [first(node).start_pos or 0 for node in nodes]
        empty = any(self._before[start] or self._line[start][1] for start in starts)
        return Break(flat, any(self._line[start][0] for start in starts), keep and empty)

    def _spaced(self, nodes: Sequence[Node]) -> Doc:
        return Cat(joined(map(self.doc, nodes), SPACE))

    def _below(self, node: Node) -> Doc:
        """Place a parse tree on the same line, or indented on the next."""
        return Group(self._line_to(node), self.doc(node), nest=2)

    def _listed(self, nodes: Sequence[Node]) -> Doc:
        """Lay out elements in brackets; commas begin lines."""
        opener, *items, closer = nodes
        parts: list[Doc] = [self.doc(opener)]
        if items:
            if _is(items[-1], "COMMA"):
                self._hoist(first(items.pop()), first(closer))
            line = Break("", self._line_to(items[0]).broken, opening=" ")
            comments = self._before[first(items[0]).start_pos or 0]
            comments[:1] = [Comment(comment, own=False, blank=False) for comment in comments[:1]]
            parts += [line, Cat((self.doc(items[0]),), align=True)]
        for comma, item in zip(items[1::2], items[2::2], strict=True):
            self._hoist(first(item), first(comma))
            line = self._line_to(comma, item, flat="", keep=True)
            parts += [line, self.doc(comma), SPACE, self.doc(item)]
        if items:
            line = self._line_to(closer, flat="")
            last = self._comments(first(closer))
            parts += [Cat((last,), nest=2), line] if last else [line]
        return Group(*parts, self.doc(closer), align=True)

    def dims(self, nodes: Sequence[Node]) -> Doc:
        """Lay out indices; a line may begin behind a comma."""
        items = list(nodes)
        if _is(items[-1], "COMMA"):
            self._before[first(items.pop()).start_pos or 0] = []
        parts = [self.doc(items[0])]
        for comma, item in zip(items[1::2], items[2::2], strict=True):
            parts += [self.doc(comma), self._line_to(item), self.doc(item)]
        return Group(*parts, align=True)

    def d_slice(self, nodes: Sequence[Node]) -> Doc:
        """`i:n:s`; spaces around colons where an operand has operators."""
        apart = any(not isinstance(node, Token) and node.data == "e_ops" for node in nodes)
        parts: list[Doc] = []
        for number, node in enumerate(nodes):
            colons = number and _is(node, "COLON") and _is(nodes[number - 1], "COLON")
            parts += [SPACE] if parts and apart and not colons else []
            parts.append(self.doc(node))
        return Cat(parts)

    def _chain(self, start: Doc, items: Items, nest: int = 0) -> Doc:
        """Place items behind each other, or below: all of those between two that begin lines."""
        run, multi = [start], start.multi
        for line, item in items:
            if line.broken or item.multi or item.lead or multi:
                before = Group(*run) if len(run) > 1 else run[0]
                broken = Break(line.flat, True, line.blank)
                run, multi = [Cat((before, broken, item))], True
            else:
                run += [line, item]
        return Group(*run, nest=nest, align=True)

    # --- declarations ------------------------------------------------------------------------

    def program(self, nodes: Sequence[Node], end: Token) -> Doc:
        """Lay out all declarations, and the comments at the end."""
        parts: list[Doc] = [self._block(nodes)]
        if comments := self._comments(end):
            parts.append(comments)
        return Cat(parts)

    def _block(self, nodes: Sequence[Node]) -> Doc:
        items: list[tuple[Comments | None, Doc, bool]] = []
        broken = False
        for node in nodes:
            start = first(node)
            begins, empty = self._line[start.start_pos or 0]
            comments = self._comments(start)
            blank = empty and not comments
            if comments:
                blank = next((c.blank for c in comments.comments if c.own), empty)
            broken = broken or begins
            items.append((comments, self.doc(node), blank))
        return Declarations(items, broken)

    def _braces(self, nodes: Sequence[Node]) -> Doc:
        opener, *inside, closer = nodes
        parts = [self._block(inside)] if inside else []
        comments = self._comments(first(closer))
        return Group(
            self.doc(opener),
            Cat([*parts, *([comments] if comments else [])], nest=2),
            Break("", bool(inside) and self._line_to(closer).broken),
            self.doc(closer),
        )

    def _definition(self, nodes: Sequence[Node]) -> Doc:
        """Lay out `def f 't (x: t): t = e`, parameters as the lines have them."""
        *head, eq, body = nodes
        return Group(self._head(head), SPACE, self.doc(eq), self._body(body))

    def _body(self, body: Node) -> Doc:
        return Cat((self._line_to(body), self.doc(body)), nest=2)

    def _head(self, nodes: Sequence[Node], before_type: Sequence[Doc] = (SPACE,)) -> Doc:
        """Lay out everything before `=`."""
        names: list[Doc] = []
        params: list[Doc] = []
        result: list[Doc] = []
        typed = False
        for number, node in enumerate(nodes):
            if _is(node, "retype"):
                result = [*before_type, self.doc(node)]
            elif number < 2 or _is(node, "infix"):
                names += [self.doc(node), SPACE]
            elif not params:
                params, typed = [self.doc(node)], _is(node, *_TYPE_PARAMS)
            elif _is(node, *_TYPE_PARAMS) and typed:
                params += [SPACE, self.doc(node)]
            else:
                params.append(Group(self._line_to(node), self.doc(node)))
        return Cat((*(names if params else names[:-1]), Cat(params, align=True), *result))

    def attr_dec(self, nodes: Sequence[Node]) -> Doc:
        """Lay out an attribute above its declaration."""
        attr, dec = nodes
        return Cat((self.doc(attr), Break(broken=True), self.doc(dec)))

    def type_dec(self, nodes: Sequence[Node]) -> Doc:
        """`type t = u`."""
        *head, body = nodes
        return Cat((self._spaced(head), self._below(body)))

    def mod_param(self, nodes: Sequence[Node]) -> Doc:
        """`(p: t)`."""
        opener, name, colon, type_, closer = map(self.doc, nodes)
        return Cat((opener, name, colon, SPACE, type_, closer))

    def m_lambda(self, nodes: Sequence[Node]) -> Doc:
        """Lay out an anonymous parametric module."""
        start, *rest = nodes
        return Cat((self.doc(start), self._spaced(rest)))

    def mt_pi(self, nodes: Sequence[Node]) -> Doc:
        """`(p: t) -> u`."""
        return Cat((self.mod_param(nodes[:5]), SPACE, self._spaced(nodes[5:])))

    def mt_with(self, nodes: Sequence[Node]) -> Doc:
        """Lay out a module type and its refinements."""
        base, *rest = nodes
        return Group(self.doc(base), self._line_to(rest[0]), self._spaced(rest), nest=2)

    def val_spec(self, nodes: Sequence[Node]) -> Doc:
        """`val f 't : t -> t`."""
        *head, type_ = nodes
        return Cat((self._spaced(head), self._below(type_)))

    def mod_spec(self, nodes: Sequence[Node]) -> Doc:
        """`module m: t`."""
        module, name, colon, type_ = map(self.doc, nodes)
        return Cat((module, SPACE, name, colon, SPACE, type_))

    def attr_spec(self, nodes: Sequence[Node]) -> Doc:
        """Lay out a specification or expression with an attribute."""
        attr, spec = nodes
        return Group(self.doc(attr), self._line_to(spec), self.doc(spec), align=True)

    # --- types and patterns ------------------------------------------------------------------

    def t_arrow(self, nodes: Sequence[Node]) -> Doc:
        """Lay out arrows, which begin lines: all of those between two that do."""
        return Group(*self._arrows(nodes), align=True)

    def _arrows(self, nodes: Sequence[Node]) -> list[Doc]:
        *param, arrow, result = nodes
        left = self.doc(param[0]) if len(param) == 1 else self.mod_param(param)
        self._hoist(first(result), first(arrow))
        line = self._line_to(arrow, result)
        before = [left, line, self.doc(arrow), SPACE]
        if isinstance(result, Token) or not _is(result, "t_arrow", "t_pi"):
            return [*before, self.doc(result)]
        rest = self._arrows(result.children)
        return [*before, Group(*rest)] if line.broken else [*before, *rest]

    def t_sum(self, nodes: Sequence[Node]) -> Doc:
        """Lay out constructors below each other."""
        start, *rest = nodes
        parts: list[Doc] = [Break("", opening="  "), self.doc(start)]
        for bar, variant in zip(rest[::2], rest[1::2], strict=True):
            self._hoist(first(variant), first(bar))
            line = self._line_to(bar, variant)
            parts += [line, self.doc(bar), SPACE, self.doc(variant)]
        return Group(*parts, align=True)

    def p_typed(self, nodes: Sequence[Node]) -> Doc:
        """`x: t`."""
        name, colon, type_ = map(self.doc, nodes)
        return Cat((name, colon, SPACE, type_))

    # --- expressions -------------------------------------------------------------------------

    def e_let(self, nodes: Sequence[Node]) -> Doc:
        """Lay out definitions below each other, then `in`."""
        *head, eq, value, body = nodes
        return self._let(self._spaced(head), eq, value, body)

    def e_letwith(self, nodes: Sequence[Node]) -> Doc:
        """`let a[i] = e`."""
        let, *place, eq, value, body = nodes
        head = Cat((self.doc(let), SPACE, *map(self.doc, place)))
        return self._let(head, eq, value, body)

    def e_letfun(self, nodes: Sequence[Node]) -> Doc:
        """`let f x: t = e`."""
        *head, eq, value, body = nodes
        return self._let(self._head(head, ()), eq, value, body)

    def e_letop(self, nodes: Sequence[Node]) -> Doc:
        """`let (+) x y = e`."""
        return self.e_letfun([nodes[0], Tree("bind_op", list(nodes[1:4])), *nodes[4:]])

    def _let(self, head: Doc, eq: Node, value: Node, body: Node) -> Doc:
        before = Cat((head, SPACE, self.doc(eq), self._below(value)))
        return Group(before, *self._then(body), align=True)

    def _then(self, body: Node) -> tuple[Doc, ...]:
        """Lay out the body of a definition; `in` is dropped before another one."""
        assert not isinstance(body, Token)
        if len(body.children) == 1:
            inner = body.children[0]
        else:
            word, inner = body.children
            if isinstance(inner, Token) or inner.data not in _LETS:
                line = self._line_to(word, keep=True)
                return line, self.doc(word), SPACE, self.doc(inner)
            self._hoist(first(word), first(inner))
        return self._line_to(inner, keep=True), self.doc(inner)

    def e_if(self, nodes: Sequence[Node]) -> Doc:
        """Lay out `if`; `else if` continues at the same column."""
        return Group(*self._if(nodes), align=True)

    def _if(self, nodes: Sequence[Node]) -> list[Doc]:
        if_, cond, then, yes, else_, no = nodes
        start = [self.doc(if_), SPACE, self.doc(cond)]
        start += [self._line_to(then), self.doc(then), SPACE, self.doc(yes)]
        parts = [Group(*start), self._line_to(else_), self.doc(else_), SPACE]
        if not isinstance(no, Token) and no.data == "e_if":
            return [*parts, Group(*self._if(no.children))]
        return [*parts, self.doc(no)]

    def e_loop(self, nodes: Sequence[Node]) -> Doc:
        """Lay out `loop x = start`, `for i < n do`, the body."""
        *head, form, do, body = nodes
        parts: list[Doc] = []
        if _is(head[-2], "EQ"):
            parts += [self._spaced(head[:-1]), self._below(head[-1]), self._line_to(form)]
        else:
            line = self._line_to(form)
            parts += [self._spaced(head), line if line.broken else SPACE]
        header = Group(*parts, self.doc(form), SPACE, self.doc(do))
        return Group(header, self._body(body), align=True)

    def e_match(self, nodes: Sequence[Node]) -> Doc:
        """Lay out cases below each other."""
        match, exp, *cases = nodes
        parts = [self.doc(match), SPACE, self.doc(exp)]
        for case in cases:
            parts += [self._line_to(case, keep=True), self.doc(case)]
        return Group(*parts, align=True)

    def case(self, nodes: Sequence[Node]) -> Doc:
        """`case p -> e`."""
        *head, body = nodes
        return Cat((self._spaced(head), self._below(body)))

    def e_lambda(self, nodes: Sequence[Node]) -> Doc:
        r"""`\x -> e`."""
        start, *head, body = nodes
        return Group(self.doc(start), self._spaced(head), self._body(body), align=True)

    def e_apply(self, nodes: Sequence[Node]) -> Doc:
        """Lay out a function and its arguments: on one line, or below each other.

        What follows an argument of several lines on its last line stays there.
        """
        function, *args = nodes
        lines = [self._line_to(arg) for arg in args[1:]]
        last = _lambda_in(args[-1])
        before = [self.doc(arg) for arg in (args[:-1] if last else args)]
        if last and before and not any(line.broken for line in lines):
            width = sum(doc.width + 1 for doc in before)
            if width <= _BEFORE_LAMBDA and not any(doc.multi or doc.lead for doc in before):
                return self._hanging(function, before, last)
        docs = [*before, self.doc(args[-1])] if last else before
        parts, several = docs[:1], docs[0].multi
        for line, doc in zip(lines, docs[1:], strict=True):
            parts += [Group(line, doc)] if several and not line.broken else [line, doc]
            several = several or doc.multi
        return Cat((self.doc(function), SPACE, Group(*parts, align=True)))

    def _hanging(self, function: Node, before: Sequence[Doc], last: Tree[Token]) -> Doc:
        r"""Lay out `f x (\y -> ..)`; the lines of the last part begin at `f`, indented."""
        opener, inner, closer = last.children
        assert isinstance(inner, Tree)
        start, *head, body = inner.children
        parts = [self.doc(function), *(part for doc in before for part in (SPACE, doc)), SPACE]
        parts += [self.doc(opener), self.doc(start), self._spaced(head)]
        return Cat((*parts, Group(self._body(body)), self.doc(closer)), align=True)

    def e_ops(self, nodes: Sequence[Node]) -> Doc:
        """Lay out operators, which begin lines; those of one precedence align."""
        start, *rest = nodes
        operand = _Chain(-1, self.doc(start), [])
        items: list[tuple[tuple[tuple[str, ...], tuple[Break, Doc]], _Chain]] = []
        for item in rest:
            assert isinstance(item, Tree)
            operator, right = item.children
            self._hoist(first(right), first(operator))
            line, sign = self._line_to(operator, right), self.doc(operator)
            items.append((((_symbol(operator),), (line, sign)), _Chain(-1, self.doc(right), [])))
        return self._chained(folded(operand, items, self._combined))

    def _combined(
        self, name: tuple[str, ...], operator: tuple[Break, Doc], left: _Chain, right: _Chain
    ) -> _Chain:
        level, (line, sign) = precedence(name[0]), operator
        if left.level != level or is_right(name[0]):
            left = _Chain(level, self._chained(left), [])
        item = Cat((sign, SPACE, self._chained(right)))
        return _Chain(level, left.start, [*left.items, (line, item)])

    def _chained(self, chain: _Chain) -> Doc:
        return self._chain(chain.start, chain.items) if chain.items else chain.start

    def e_op_left(self, nodes: Sequence[Node]) -> Doc:
        """`(x +)`."""
        opener, *operands, operator, closer = nodes
        parts = [self.doc(opener), self.e_ops(operands), SPACE, self.doc(operator)]
        return Cat((*parts, self.doc(closer)))

    def e_op_right(self, nodes: Sequence[Node]) -> Doc:
        """`(+ x)`."""
        opener, *inside, closer = nodes
        return Cat((self.doc(opener), self._spaced(inside), self.doc(closer)))

    def e_negate(self, nodes: Sequence[Node]) -> Doc:
        """Lay out `-x`; a space separates two symbols that would merge."""
        sign, operand = nodes
        apart = first(operand).type in _SYMBOLS
        return Cat((self.doc(sign), *((SPACE,) if apart else ()), self.doc(operand)))

    def f_pair(self, nodes: Sequence[Node]) -> Doc:
        """`x = e`."""
        name, eq, value = nodes
        return Cat((self.doc(name), SPACE, self.doc(eq), self._below(value)), align=True)

    def e_with(self, nodes: Sequence[Node]) -> Doc:
        """Lay out updates of the same value below each other."""
        items: list[tuple[Break, Doc]] = []
        while True:
            base, *rest = nodes
            items.append((self._line_to(rest[0]), self._update(rest)))
            if isinstance(base, Token) or base.data != "e_with":
                line, update = items[0]
                if len(items) == 1 and not line.broken:
                    return Cat((self.doc(base), SPACE, update), align=True)
                return self._chain(self.doc(base), items[::-1], nest=2)
            nodes = base.children

    def _update(self, nodes: Sequence[Node]) -> Doc:
        word, path, eq, value = nodes
        line = self._line_to(value)
        shown = self._below(value) if line.broken else Cat((SPACE, self.doc(value)))
        return Cat((self._spaced((word, path, eq)), shown))

    def e_ascript(self, nodes: Sequence[Node]) -> Doc:
        """`e : t`, `e :> t`."""
        exp, colon, type_ = nodes
        return Group(
            self.doc(exp), self._line_to(colon), self.doc(colon), SPACE, self.doc(type_), align=True
        )


@dataclass(frozen=True, slots=True)
class _Chain:
    """Operands between operators of one precedence."""

    level: int
    start: Doc
    items: list[tuple[Break, Doc]]


def _lambda_in(node: Node) -> Tree[Token] | None:
    """Return an argument that is a function in parentheses, or None."""
    if isinstance(node, Token) or node.data != "e_paren" or len(node.children) != 3:
        return None
    inner = node.children[1]
    return node if not isinstance(inner, Token) and inner.data == "e_lambda" else None


def _symbol(infix: Node) -> str:
    """Return an operator without its module; or a name in backticks."""
    assert isinstance(infix, Tree)
    token = infix.children[-1] if len(infix.children) == 1 else infix.children[-2]
    return _MODULES.sub("", str(token))


_MODULES = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_']*\.)*")
_METHODS: dict[str, Callable[[Documents, Sequence[Node]], Doc]] = {
    **{name: getattr(Documents, name) for name in vars(Documents) if not name.startswith("_")},
    "val_dec": Documents._definition,
    "op_dec": Documents._definition,
    "m_body": Documents._braces,
    "mt_sig": Documents._braces,
    "val_op_spec": Documents.val_spec,
    "e_attr": Documents.attr_spec,
    "t_pi": Documents.t_arrow,
    "tfield": Documents.p_typed,
    "p_field_typed": Documents.p_typed,
    "letdef": Documents.e_letfun,
    "e_letinfix": Documents.e_letfun,
    "e_constr": Documents.e_apply,
    "e_assert": Documents.e_apply,
    "e_not": Documents.e_negate,
    "e_coerce": Documents.e_ascript,
}
