"""Resolve the names of a file to declarations, from its concrete syntax.

Scopes are those of the checker, without its types: so names are known in a program with errors too.
Fields of records and constructors of sums have no declarations: see `labels.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from lark import Token, Tree

from compiler.base.dataclass import dataclass
from compiler.base.spans import Span

Node = Tree[Token] | Token
VALUE, TYPE, MODULE_TYPE = "value", "type", "module type"
"""Namespaces: names hide others of the same one only; modules are among the values."""
Table = dict[tuple[str, str], "Symbol"]
_WORDS = {"size_param": "size", "type_param": "type parameter"}


@dataclass(eq=False, slots=True)
class Symbol:
    """A declaration."""

    kind: str
    """`function`, `constant`, `variable`, `size`, `type`, `type parameter`, `module`, .."""
    name: str
    span: Span
    """The span of the name."""
    start: int = 0
    """The offset of the name."""
    whole: tuple[int, int] = (0, 0)
    """Start and end offsets of the declaration."""
    doc: str = ""
    members: Table = field(default_factory=dict)
    """Members of a module or module type, or of a parametric module's result."""
    inside: list[Symbol] = field(default_factory=list)
    """Declarations nested in its text."""
    is_local: bool = False


@dataclass(frozen=True, slots=True)
class Use:
    """An occurrence of a name."""

    start: int
    end: int
    symbol: Symbol
    declares: bool
    field: bool
    """It also names a field: `{x}` is `{x = x}`."""


@dataclass(slots=True)
class Names:
    """The resolved names of a file."""

    uses: list[Use] = field(default_factory=list)
    exports: Table = field(default_factory=dict)
    symbols: list[Symbol] = field(default_factory=list)
    """Its declarations."""
    scope: Table = field(default_factory=dict)
    """Names in scope at the requested place."""
    imports: list[tuple[int, int, str]] = field(default_factory=list)
    """Start and end offsets of import strings, with the paths that they name."""


Import = Callable[[str, Span], tuple[str, Mapping[tuple[str, str], Symbol]]]


class Resolver:
    """Resolves one file."""

    def __init__(
        self,
        path: str,
        docs: Mapping[int, str],
        prelude: Mapping[tuple[str, str], Symbol],
        imported: Import,
        at: int = -1,
    ) -> None:
        """`docs` by the start of a token; `at`: the offset whose scope is wanted."""
        self.names = Names()
        self._path, self._docs, self._imported, self._at = path, docs, imported, at
        self._env: Table = dict(prelude)
        self._trail: list[tuple[tuple[str, str], Symbol | None]] = []
        self._inside: list[Symbol] = self.names.symbols

    def program(self, tree: Tree[Token]) -> Names:
        """Resolve a whole file."""
        self.names.exports = self._decs(tree.children)
        if not self.names.scope:
            self.names.scope = dict(self._env)
        return self.names

    # --- scopes ------------------------------------------------------------------------------

    def _bind(self, space: str, symbol: Symbol) -> None:
        self._set((space, symbol.name), symbol)

    def _set(self, key: tuple[str, str], symbol: Symbol) -> None:
        self._trail.append((key, self._env.get(key)))
        self._env[key] = symbol

    def _leave(self, mark: int) -> None:
        while len(self._trail) > mark:
            key, old = self._trail.pop()
            if old is None:
                self._env.pop(key, None)
            else:
                self._env[key] = old

    def _declare(self, token: Token, kind: str, whole: Node | None = None) -> Symbol:
        """Make a declaration, which is not in scope yet."""
        start = token.start_pos or 0
        text = str(token).removeprefix("'").removeprefix("~").removeprefix("^")
        skipped = len(token) - len(text)
        found = Symbol(kind, text, _span(token, self._path, skipped), start + skipped)
        found.whole = (start, token.end_pos or 0)
        if whole is not None:
            begin, end = first(whole), last(whole)
            found.whole = begin.start_pos or 0, end.end_pos or 0
            found.doc = self._docs.get(found.whole[0], "")
        found.is_local = whole is None
        self.names.uses.append(Use(found.start, start + len(token), found, True, False))
        return found

    def _use(self, space: str, token: Token, field: bool = False) -> Symbol | None:
        self._reached(token)
        symbol = self._env.get((space, str(token)))
        self._used(symbol, token, field)
        return symbol

    def _used(self, symbol: Symbol | None, token: Token, field: bool = False) -> None:
        if symbol is not None:
            skipped = 1 if token.type == "FIELD" else 0
            start = (token.start_pos or 0) + skipped
            self.names.uses.append(Use(start, token.end_pos or 0, symbol, False, field))

    def _reached(self, token: Token) -> None:
        start, end = token.start_pos or 0, token.end_pos or 0
        if start <= self._at <= end and not self.names.scope:
            self.names.scope = dict(self._env)

    def _qualified(self, space: str, tokens: Sequence[Token]) -> Symbol | None:
        """Resolve `m.n.x`, each part of it."""
        if len(tokens) == 1:
            return self._use(space, tokens[0])
        symbol = self._use(VALUE, tokens[0])
        for token in tokens[1:]:
            kind = space if token is tokens[-1] else VALUE
            symbol = symbol.members.get((kind, str(token)[1:])) if symbol else None
            self._used(symbol, token)
        return symbol

    # --- declarations ------------------------------------------------------------------------

    def _decs(self, decs: Sequence[Node]) -> Table:
        exports: Table = {}
        for dec in decs:
            if isinstance(dec, Tree):
                mark = len(self._trail)
                self._dec(dec, dec)
                if dec.data not in ("local_dec", "import_dec"):
                    exports |= {key: self._env[key] for key, _ in self._trail[mark:]}
        return exports

    def _dec(self, dec: Tree[Token], whole: Node) -> None:
        nodes = dec.children
        if dec.data in ("val_dec", "op_dec"):
            self._value(nodes, whole)
        elif dec.data in ("local_dec", "attr_dec"):
            inner = nodes[1]
            assert isinstance(inner, Tree)
            self._dec(inner, whole)
        elif dec.data == "type_dec":
            self._type_dec(nodes, whole)
        elif dec.data == "open_dec":
            self._open(self._module(nodes[1]))
        elif dec.data == "import_dec":
            self._open(self._import(nodes[1]))
        elif dec.data == "mod_dec":
            self._module_dec(nodes, whole)
        elif dec.data == "mod_type_dec":
            symbol = self._added(_token(nodes[2]), "module type", whole)
            with_inside = self._enter(symbol)
            symbol.members = self._module_type(nodes[-1])
            self._inside = with_inside
            self._bind(MODULE_TYPE, symbol)

    def _added(self, token: Token, kind: str, whole: Node) -> Symbol:
        symbol = self._declare(token, kind, whole)
        self._inside.append(symbol)
        return symbol

    def _enter(self, symbol: Symbol) -> list[Symbol]:
        """Nest further declarations in `symbol`; return the list to restore."""
        before, self._inside = self._inside, symbol.inside
        return before

    def _open(self, members: Mapping[tuple[str, str], Symbol]) -> None:
        for key, symbol in members.items():
            self._set(key, symbol)

    def _import(self, text: Node) -> Mapping[tuple[str, str], Symbol]:
        token = _token(text)
        path, exports = self._imported(str(token)[1:-1], _span(token, self._path))
        if path:
            self.names.imports.append((token.start_pos or 0, token.end_pos or 0, path))
        return exports

    def _value(self, nodes: Sequence[Node], whole: Node) -> None:
        head, name = _named(nodes)
        params = any(not _is(node, *_HEAD) for node in head)
        symbol = self._added(name, "function" if params else "constant", whole)
        recursive = params and (VALUE, symbol.name) not in self._env
        mark = len(self._trail)
        if recursive:
            self._bind(VALUE, symbol)
        self._function(head, nodes[-1], mark)
        self._bind(VALUE, symbol)

    def _function(self, head: Sequence[Node], body: Node, mark: int) -> None:
        for node in head:
            self._head(node)
        self._walk(body)
        self._leave(mark)

    def _head(self, node: Node) -> None:
        """Resolve a parameter, or the type of the result."""
        if _is(node, "size_param", "type_param"):
            self._type_param(node)
        elif _is(node, "retype", "lamret"):
            self._walk(node)
        elif not isinstance(node, Token) or node.type == "ID":
            self._pattern(node)

    def _type_param(self, node: Node) -> None:
        assert isinstance(node, Tree)
        name = next(t for t in tokens(node) if t.type in ("ID", "TYVAR"))
        space = VALUE if node.data == "size_param" else TYPE
        self._bind(space, self._declare(name, _WORDS[node.data]))

    def _type_dec(self, nodes: Sequence[Node], whole: Node) -> None:
        symbol = self._added(_token(nodes[1]), "type", whole)
        mark = len(self._trail)
        for node in nodes[2:]:
            if _is(node, "size_param", "type_param"):
                self._type_param(node)
            elif isinstance(node, Tree):
                self._walk(node)
        self._leave(mark)
        self._bind(TYPE, symbol)

    # --- modules -----------------------------------------------------------------------------

    def _module_dec(self, nodes: Sequence[Node], whole: Node) -> None:
        symbol = self._added(_token(nodes[1]), "module", whole)
        before = self._enter(symbol)
        mark = len(self._trail)
        ascribed: Table = {}
        for node in nodes[2:-1]:
            if _is(node, "mod_param"):
                self._mod_param(node)
            elif isinstance(node, Tree):
                ascribed = self._module_type(node.children[1])
        symbol.members = self._module(nodes[-1]) or ascribed
        self._leave(mark)
        self._inside = before
        self._bind(VALUE, symbol)

    def _mod_param(self, node: Node) -> None:
        assert isinstance(node, Tree)
        _, name, _, type_, _ = node.children
        symbol = self._declare(_token(name), "module")
        symbol.members = self._module_type(type_)
        self._bind(VALUE, symbol)

    def _module(self, node: Node) -> Table:
        """Return the members of a module, or of a parametric module's result."""
        if isinstance(node, Token):
            return {}
        nodes, mark = node.children, len(self._trail)
        match node.data:
            case "m_name":
                found = self._qualified(VALUE, tokens(node))
                return found.members if found else {}
            case "m_import":
                return dict(self._import(nodes[1]))
            case "m_paren":
                return self._module(nodes[1])
            case "m_apply":
                self._module(nodes[1])
                return self._module(nodes[0])
            case "m_ascript":
                return self._module(nodes[0]) or self._module_type(nodes[2])
            case "m_body":
                exports = self._decs(nodes)
                self._leave(mark)
                return exports
            case "m_lambda":
                self._mod_param(nodes[1])
                ascribed = [self._module_type(n) for n in nodes[2:-1] if isinstance(n, Tree)]
                members = self._module(nodes[-1]) or (ascribed[0] if ascribed else {})
                self._leave(mark)
                return members
        return {}

    def _module_type(self, node: Node) -> Table:
        """Return the members that a module type names."""
        if isinstance(node, Token):
            return {}
        nodes, mark = node.children, len(self._trail)
        match node.data:
            case "mt_name":
                found = self._qualified(MODULE_TYPE, tokens(node))
                return found.members if found else {}
            case "mt_paren" | "modasc":
                return self._module_type(nodes[1])
            case "mt_with":
                members = self._module_type(nodes[0])
                target = tokens(nodes[2])
                self._used(members.get((TYPE, str(target[0]))), target[0])
                for child in nodes[3:]:
                    if _is(child, "size_param", "type_param"):
                        self._type_param(child)
                    elif isinstance(child, Tree):
                        self._walk(child)
                self._leave(mark)
                return members
            case "mt_arrow":
                self._module_type(nodes[0])
                return self._module_type(nodes[-1])
            case "mt_pi":
                self._mod_param(Tree("mod_param", list(nodes[:5])))
                members = self._module_type(nodes[-1])
                self._leave(mark)
                return members
            case "mt_sig":
                members = {}
                for spec in nodes[1:-1]:
                    assert isinstance(spec, Tree)
                    members |= self._spec(spec, spec)
                self._leave(mark)
                return members
        return {}

    def _spec(self, spec: Tree[Token], whole: Node) -> Table:
        nodes, mark = spec.children, len(self._trail)
        if spec.data == "attr_spec":
            inner = nodes[1]
            assert isinstance(inner, Tree)
            return self._spec(inner, whole)
        if spec.data == "include_spec":
            members = self._module_type(nodes[1])
            self._open(members)
            return members
        name = next(token for token in tokens(nodes[1]) if token.type not in ("LPAR", "RPAR"))
        if spec.data == "mod_spec":
            symbol = self._added(name, "module", whole)
            before = self._enter(symbol)
            symbol.members = self._module_type(nodes[3])
            self._inside = before
            self._bind(VALUE, symbol)
            return {(VALUE, symbol.name): symbol}
        space, kind = (TYPE, "type") if spec.data == "type_spec" else (VALUE, "function")
        symbol = self._added(name, kind, whole)
        for node in nodes[2:]:
            if _is(node, "size_param", "type_param"):
                self._type_param(node)
            elif isinstance(node, Tree):
                self._walk(node)
        self._leave(mark)
        self._bind(space, symbol)
        return {(space, symbol.name): symbol}

    # --- types, patterns, expressions --------------------------------------------------------

    def _walk(self, node: Node) -> None:
        """Resolve the names of a type or an expression."""
        if isinstance(node, Token):
            self._reached(node)
            return
        special = _SPECIAL.get(node.data)
        if special is not None:
            special(self, node.children)
            return
        for child in node.children:
            self._walk(child)

    def _pattern(self, node: Node) -> None:
        """Declare the names of a pattern, after resolving its types."""
        if isinstance(node, Token):
            return
        rule, nodes = node.data, node.children
        if rule in ("p_name", "p_field_name"):
            token = tokens(node)[0]
            symbol = self._declare(token, "variable")
            self._bind(VALUE, symbol)
            if rule == "p_field_name":
                self._mark_field()
        elif rule == "p_op":
            self._bind(VALUE, self._declare(tokens(nodes[1])[-1], "variable"))
        elif rule == "p_field_typed":
            self._walk(nodes[2])
            self._bind(VALUE, self._declare(_token(nodes[0]), "variable"))
            self._mark_field()
        elif rule == "p_typed":
            self._walk(nodes[2])
            self._pattern(nodes[0])
        elif rule == "p_field":
            self._pattern(nodes[2])
        else:
            for child in nodes:
                self._pattern(child)

    def _mark_field(self) -> None:
        use = self.names.uses[-1]
        self.names.uses[-1] = Use(use.start, use.end, use.symbol, True, True)

    def _sizes(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            if _is(node, "sizename"):
                name = next(t for t in tokens(node) if t.type == "ID")
                self._bind(VALUE, self._declare(name, "size"))

    def _type_name(self, nodes: Sequence[Node]) -> None:
        self._qualified(TYPE, [token for node in nodes for token in tokens(node)])

    def _pi(self, nodes: Sequence[Node]) -> None:
        """Resolve `(n: t) -> u`."""
        mark = len(self._trail)
        self._walk(nodes[3])
        self._bind(VALUE, self._declare(_token(nodes[1]), "variable"))
        self._walk(nodes[6])
        self._leave(mark)

    def _exists(self, nodes: Sequence[Node]) -> None:
        mark = len(self._trail)
        self._sizes(nodes)
        self._walk(nodes[-1])
        self._leave(mark)

    def _var(self, nodes: Sequence[Node]) -> None:
        self._use(VALUE, _token(nodes[0]))

    def _field(self, nodes: Sequence[Node]) -> None:
        """Resolve `a.b.c`: members of modules, then fields."""
        path = [_token(nodes[1])]
        inner = nodes[0]
        while _is(inner, "e_field") and isinstance(inner, Tree):
            path.append(_token(inner.children[1]))
            inner = inner.children[0]
        if not _is(inner, "e_var") or not isinstance(inner, Tree):
            self._walk(inner)
            return
        symbol = self._use(VALUE, _token(inner.children[0]))
        for token in reversed(path):
            self._reached(token)
            if symbol is None or symbol.kind != "module":
                return
            symbol = symbol.members.get((VALUE, str(token)[1:]))
            self._used(symbol, token)

    def _infix(self, nodes: Sequence[Node]) -> None:
        token = _token(nodes[0])
        if token.type == "TICK":
            self._qualified(VALUE, [_token(node) for node in nodes[1:-1]])
        elif token.type != "QUALOP":
            self._use(VALUE, token)
        else:
            path, at = _parts_of(str(token)), token.start_pos or 0
            symbol: Symbol | None = None
            for number, part in enumerate(path):
                table = self._env if number == 0 else symbol.members if symbol else {}
                symbol = table.get((VALUE, part))
                if symbol is not None:
                    self.names.uses.append(Use(at, at + len(part), symbol, False, False))
                at += len(part) + 1

    def _open_in(self, nodes: Sequence[Node]) -> None:
        """Resolve `m.(e)`."""
        self._walk(nodes[0])
        name = tokens(nodes[0])
        symbol = self._env.get((VALUE, str(name[0])))
        for token in name[1:]:
            symbol = symbol.members.get((VALUE, str(token)[1:])) if symbol else None
        mark = len(self._trail)
        self._open(symbol.members if symbol else {})
        self._walk(nodes[2])
        self._leave(mark)

    def _let(self, nodes: Sequence[Node]) -> None:
        *head, _, value, body = nodes
        self._walk(value)
        mark = len(self._trail)
        self._sizes(head)
        self._pattern(head[-1])
        self._walk(body)
        self._leave(mark)

    def _letfun(self, nodes: Sequence[Node]) -> None:
        *before, value, body = nodes
        head, name = _named(before)
        mark = len(self._trail)
        symbol = self._declare(name, "function")
        self._function(head, value, mark)
        self._bind(VALUE, symbol)
        self._walk(body)
        self._leave(mark)

    def _loop(self, nodes: Sequence[Node]) -> None:
        """Resolve `loop x = e for ..`; without `= e` the names refer to earlier ones."""
        *head, form, _, body = nodes
        assert isinstance(form, Tree)
        mark = len(self._trail)
        if _is(head[-2], "EQ"):
            self._walk(head[-1])
            start = head[:-2]
        else:
            start = head
        if not _is(form, "l_while"):
            self._walk(form.children[3])
        self._sizes(start)
        if start is head:
            self._again(head[-1])
        else:
            self._pattern(start[-1])
        if _is(form, "l_for"):
            self._bind(VALUE, self._declare(_token(form.children[1]), "variable"))
        elif _is(form, "l_for_in"):
            self._pattern(form.children[1])
        else:
            self._walk(form.children[1])
        self._walk(body)
        self._leave(mark)

    def _again(self, node: Node) -> None:
        """Resolve a pattern of names that are in scope already."""
        if isinstance(node, Token):
            return
        if node.data in ("p_typed", "p_field_typed"):
            self._walk(node.children[2])
            self._again(node.children[0])
        elif node.data in ("p_name", "p_field_name"):
            self._use(VALUE, tokens(node)[0], node.data == "p_field_name")
        else:
            for child in node.children:
                self._again(child)

    def _lambda(self, nodes: Sequence[Node]) -> None:
        self._function(nodes[1:-2], nodes[-1], len(self._trail))

    def _case(self, nodes: Sequence[Node]) -> None:
        mark = len(self._trail)
        self._pattern(nodes[1])
        self._walk(nodes[3])
        self._leave(mark)

    def _pun(self, nodes: Sequence[Node]) -> None:
        self._use(VALUE, _token(nodes[0]), field=True)

    def _letwith(self, nodes: Sequence[Node]) -> None:
        """Resolve `let a[i] = e in ..`, which binds no new array."""
        self._use(VALUE, _token(nodes[1]))
        for node in nodes[2:]:
            self._walk(node)


def _letop(resolver: Resolver, nodes: Sequence[Node]) -> None:
    resolver._letfun([nodes[0], Tree("bind_op", list(nodes[1:4])), *nodes[4:]])


_HEAD = ("size_param", "type_param", "retype", "lamret")
_SPECIAL: dict[str, Callable[[Resolver, Sequence[Node]], None]] = {
    "t_name": Resolver._type_name,
    "t_pi": Resolver._pi,
    "t_exists": Resolver._exists,
    "e_var": Resolver._var,
    "e_field": Resolver._field,
    "e_open_in": Resolver._open_in,
    "infix": Resolver._infix,
    "rinfix": Resolver._infix,
    "e_let": Resolver._let,
    "e_letfun": Resolver._letfun,
    "letdef": Resolver._letfun,
    "e_letinfix": Resolver._letfun,
    "e_letop": _letop,
    "e_letwith": Resolver._letwith,
    "e_loop": Resolver._loop,
    "e_lambda": Resolver._lambda,
    "case": Resolver._case,
    "f_pun": Resolver._pun,
}


# --- what the grammar matched ------------------------------------------------------------------


def tokens(node: Node) -> list[Token]:
    """Return all tokens of a node, in order."""
    if isinstance(node, Token):
        return [node]
    return [token for child in node.children for token in tokens(child)]


def first(node: Node) -> Token:
    """Return the first token of a node."""
    while isinstance(node, Tree):
        node = node.children[0]
    return node


def last(node: Node) -> Token:
    """Return the last token of a node."""
    while isinstance(node, Tree):
        node = node.children[-1]
    return node


def _named(nodes: Sequence[Node]) -> tuple[list[Node], Token]:
    """Split a definition before `=` into parameters and result, and the token of its name."""
    head = [node for node in nodes[1:] if not _is(node, "EQ")]
    operator = next((k for k, node in enumerate(head) if _is(node, "infix")), None)
    at = 0 if operator is None else operator
    found = [token for token in tokens(head[at]) if token.type not in ("LPAR", "RPAR", "TICK")]
    body = 1 if any(_is(node, "EQ") for node in nodes) and _is(nodes[-2], "EQ") else 0
    rest = [*head[:at], *head[at + 1 :]]
    return (rest[:-1] if body else rest), found[-1]


def _is(node: Node, *kinds: str) -> bool:
    return (node.type if isinstance(node, Token) else node.data) in kinds


def _token(node: Node) -> Token:
    assert isinstance(node, Token)
    return node


def _span(token: Token, path: str, skipped: int = 0) -> Span:
    line, column = token.line or 1, (token.column or 1) + skipped
    return Span(line, column, token.end_line or line, token.end_column or column, path)


def _parts_of(operator: str) -> Iterator[str]:
    """Split `m.n.+` into `m`, `n` and `+`."""
    while operator[0].isalpha() or operator[0] == "_":
        name, _, operator = operator.partition(".")
        yield name
    yield operator
