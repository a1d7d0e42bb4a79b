"""Print the typed program: Futhark with every binding's type, sizes, uniqueness and instances.

`f{i32, [n]}` is the instance of `f` at those type and size arguments; `?[k]` after an expression
names the sizes that it brings forth. Names are the program's unique names. An expression stays on
one line where there is room; otherwise its parts stand below it, two columns further in. A line is
linked to the source of the expression that begins on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial

from compiler.base.names import Name, base_of
from compiler.base.spans import Span
from compiler.base.text import Line, Text, narrow
from compiler.frontend import typed as t
from compiler.frontend.show_type import is_tuple, show_size, show_type
from compiler.frontend.shown import shown

WIDTH = 96


def show(prog: t.TypedProg) -> Text:
    """Print the definitions, file by file; list those of the prelude in the last line."""
    printer = _Printer({d.name: d.source_name for d in prog.defs if d.span.in_prelude})
    file = ""
    for d in shown(prog):
        if d.span.file != file:
            file = d.span.file
            printer.emit("", ())
            printer.emit(f"-- {file}", ())
        printer.definition(d)
    used = [d.source_name for d in prog.defs if d.span.in_prelude]
    if used:
        printer.emit(f"-- from the prelude: {', '.join(used)}", ())
    return tuple(printer.lines)


class _TooLong(Exception):
    """Raised if an expression does not fit on one line."""


class _Printer:
    """Collects lines; `prelude` maps unique names of its definitions to source names."""

    def __init__(self, prelude: dict[Name, str]) -> None:
        self.lines: list[Line] = []
        self.prelude = prelude
        self.node = -1

    def emit(self, text: str, src: tuple[Span, ...]) -> None:
        """Add one line."""
        self.lines.append(Line(narrow(text.rstrip()), tuple(s for s in src if s.line), self.node))

    # --- definitions ---------------------------------------------------------------------------

    def definition(self, d: t.Def) -> None:
        """Print `def f [n] 't (x: t): r =` and its body."""
        if self.lines:
            self.emit("", ())
        self.node += 1
        for attr in d.attrs:
            self.emit(f"#[{attr}]", (d.span,))
        self.emit(f"{head('entry' if d.is_entry else 'def', d)} =", (d.span,))
        self.block(d.body, 2)

    # --- expressions over several lines --------------------------------------------------------

    def block(self, e: t.Exp, indent: int, before: str = "", after: str = "") -> None:
        """Print `e` from column `indent` on, between `before` and `after`."""
        room = WIDTH - indent - len(before) - len(after)
        if not isinstance(e, (t.Let, t.LetFun)):
            text = self.fits(e, room)
            if text is not None:
                self.node += 1
                self.emit(f"{' ' * indent}{before}{text}{after}", (e.span,))
                return
        _BLOCKS.get(type(e), _Printer._parts)(self, e, indent, before, after)

    def fits(self, e: t.Exp, room: int) -> str | None:
        """Print `e` on one line of at most `room` characters, or return None."""
        if room <= 0:
            return None
        try:
            return _Flat(self.prelude, room).exp(e)
        except _TooLong:
            return None

    def _let(self, e: t.Exp, indent: int, before: str, after: str) -> None:
        pad = " " * indent
        if before:
            self.emit(f"{pad}{before}", (e.span,))
            indent, pad, before = indent + 2, pad + "  ", ""
        body = e
        while isinstance(body, (t.Let, t.LetFun)):
            if isinstance(body, t.LetFun):
                self.node += 1
                self.emit(f"{pad}{head('let', body.fun)} =", (body.fun.span,))
                self.block(body.fun.body, indent + 2)
            else:
                self._binding(body, indent)
            body = body.body
        self.block(body, indent, "in ", after)

    def _binding(self, e: t.Let, indent: int) -> None:
        sizes = "".join(f"[{n}] " for n in e.sizes)
        head = f"let {sizes}{pattern(e.pat)} ="
        text = self.fits(e.rhs, WIDTH - indent - len(head) - 1)
        self.node += 1
        at = (e.rhs.span,)
        if text is not None:
            self.emit(f"{' ' * indent}{head} {text}", at)
        else:
            self.emit(f"{' ' * indent}{head}", at)
            self.block(e.rhs, indent + 2)

    def _if(self, e: t.Exp, indent: int, before: str, after: str) -> None:
        assert isinstance(e, t.If)
        self.block(e.cond, indent, f"{before}if ", "")
        self.block(e.then, indent + 2, "then ", "")
        self.block(e.orelse, indent + 2, "else ", f"{_ext(e.ext)}{after}")

    def _loop(self, e: t.Exp, indent: int, before: str, after: str) -> None:
        assert isinstance(e, t.Loop)
        sizes = "".join(f"[{n}] " for n in e.sizes)
        self.block(e.init, indent, f"{before}loop {sizes}{pattern(e.pat)} = ", "")
        match e.form:
            case t.For(name=name, prim=prim, bound=bound):
                self.block(bound, indent, f"for {name}: {prim} < ", " do")
            case t.ForIn(pat=pat, array=array):
                self.block(array, indent, f"for {pattern(pat)} in ", " do")
            case t.While(cond=cond):
                self.block(cond, indent, "while ", " do")
        self.block(e.body, indent + 2, "", f"{_ext(e.ext)}{after}")

    def _match(self, e: t.Exp, indent: int, before: str, after: str) -> None:
        assert isinstance(e, t.Match)
        self.block(e.exp, indent, f"{before}match ", "")
        for case in e.cases:
            last = case is e.cases[-1]
            end = f"{_ext(e.ext)}{after}" if last else ""
            self.block(case.body, indent + 2, f"case {pattern(case.pat)} -> ", end)

    def _lambda(self, e: t.Exp, indent: int, before: str, after: str) -> None:
        assert isinstance(e, t.Lambda)
        params = " ".join(f"({pattern(p)})" for p in e.params)
        self.node += 1
        self.emit(f"{' ' * indent}{before}(\\{params} ->", (e.span,))
        self.block(e.body, indent + 2, "", f"){after}")

    def _operation(self, e: t.Exp, indent: int, before: str, after: str) -> None:
        """Print the right operand below the left one, after the operator."""
        assert isinstance(e, t.PrimOp)
        if len(e.args) != 2 or e.op.isalpha():
            self._parts(e, indent, before, after)
            return
        self._argument(e.args[0], indent, before, "", _needs(e.args[0], e.op, left=True))
        right = _needs(e.args[1], e.op, left=False)
        self._argument(e.args[1], indent + 2, f"{e.op} ", after, right)

    def _parts(self, e: t.Exp, indent: int, before: str, after: str) -> None:
        """Print the head on one line, every part on lines of its own."""
        head, parts, tail = _split(e, self.prelude)
        listed = isinstance(e, (t.RecordExp, t.ArrayLit))
        self.node += 1
        self.emit(f"{' ' * indent}{before}{head}", (e.span,))
        for i, (label, part) in enumerate(parts):
            last = i == len(parts) - 1
            end = f"{tail}{after}" if last else "," if listed else ""
            wrap = not listed and not label and not isinstance(part, (*_ATOMS, t.Lambda))
            self._argument(part, indent + 2, label, end, wrap)

    def _argument(self, e: t.Exp, indent: int, before: str, after: str, wrap: bool) -> None:
        if wrap:
            self.block(e, indent, f"{before}(", f"){after}")
        else:
            self.block(e, indent, before, after)


_BLOCKS: dict[type, Callable[[_Printer, t.Exp, int, str, str], None]] = {
    t.Let: _Printer._let,
    t.LetFun: _Printer._let,
    t.If: _Printer._if,
    t.Loop: _Printer._loop,
    t.Match: _Printer._match,
    t.Lambda: _Printer._lambda,
    t.PrimOp: _Printer._operation,
}

_OPEN = (t.If, t.Let, t.LetFun, t.Loop, t.Match, t.Lambda, t.Attr, t.Coerce)
"""Expressions that go on as far as they can, and stand in parentheses among others."""
_LEVEL = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 1),
    **dict.fromkeys(("&", "|", "^"), 2),
    **dict.fromkeys(("<<", ">>"), 3),
    **dict.fromkeys(("+", "-"), 4),
    **dict.fromkeys(("*", "/", "%", "//", "%%"), 5),
    "**": 6,
}


def _needs(e: t.Exp, op: str, left: bool) -> bool:
    """Test whether an operand of `op` needs parentheses."""
    if isinstance(e, t.PrimOp) and len(e.args) == 2 and not e.op.isalpha():
        inner, outer = _LEVEL.get(e.op, 0), _LEVEL.get(op, 0)
        return inner < outer or (inner == outer and not left)
    return isinstance(e, _OPEN)


def _split(e: t.Exp, prelude: dict[Name, str]) -> tuple[str, list[tuple[str, t.Exp]], str]:
    """Split an expression into its head, its labelled parts, and its tail."""
    flat = partial(_short, prelude)
    match e:
        case t.Apply(fn=t.Var() as fn, args=args, ext=ext):
            return flat(fn), [("", a) for a in args], _ext(ext)
        case t.Apply(fn=fn, args=args, ext=ext):
            return "apply", [("", fn), *(("", a) for a in args)], _ext(ext)
        case t.PrimOp(op=op, args=args):
            return f"({op})", [("", a) for a in args], ""
        case t.PrimFun(fun=fun, at=at, args=args):
            return f"{at}.{fun}", [("", a) for a in args], ""
        case t.Convert(to=to, exp=inner):
            return f"{to}.of", [("", inner)], ""
        case t.RecordExp(fields=fields):
            tuple_ = is_tuple(fields)
            parts = [("" if tuple_ else f"{name} = ", value) for name, value in fields]
            return ("(" if tuple_ else "{"), parts, ")" if tuple_ else "}"
        case t.ArrayLit(elems=elems):
            return "[", [("", x) for x in elems], "]"
        case t.Project(exp=inner, field=field):
            return f"(.{field})", [("", inner)], ""
        case t.RecordUpdate(exp=inner, path=path, value=value):
            return "update", [("", inner), (f"with {'.'.join(path)} = ", value)], ""
        case t.Index(array=array, dims=dims, ext=ext):
            return "index", [("", array), *_dim_parts(dims)], _ext(ext)
        case t.Update(array=array, dims=dims, value=value):
            return "update", [("", array), *_dim_parts(dims), ("= ", value)], ""
        case t.Coerce(type=type_, exp=inner):
            return f"coerce to {show_type(type_, True)}", [("", inner)], ""
        case t.Assert(cond=cond, exp=inner):
            return "assert", [("", cond), ("", inner)], ""
        case t.Attr(attr=attr, exp=inner):
            return f"#[{attr}]", [("", inner)], ""
        case t.Constr(name=name, args=args):
            return f"#{name}", [("", a) for a in args], ""
        case t.Range(first=first, second=second, kind=kind, end=end, ext=ext):
            parts = [("from ", first)]
            if second is not None:
                parts.append(("then ", second))
            return f"range {kind}", [*parts, ("to ", end)], _ext(ext)
        case t.StringConst(value=value):
            return repr(value.decode("utf-8", "replace")), [], ""
    return flat(e), [], ""


def _dim_parts(dims: tuple[t.DimIndex, ...]) -> list[tuple[str, t.Exp]]:
    parts: list[tuple[str, t.Exp]] = []
    for dim in dims:
        if isinstance(dim, t.IndexFix):
            parts.append(("at ", dim.at))
        else:
            bounds = (("from ", dim.start), ("to ", dim.stop), ("by ", dim.step))
            parts.extend((label, b) for label, b in bounds if b is not None)
    return parts


def _short(prelude: dict[Name, str], e: t.Exp) -> str:
    return _Flat(prelude, 1 << 30).exp(e)


# --- one line ----------------------------------------------------------------------------------


class _Flat:
    """Prints expressions on one line; gives up as soon as a budget of characters is spent.

    An operator is counted before its operands: of a long chain, only the end is visited.
    """

    def __init__(self, prelude: dict[Name, str], room: int) -> None:
        self.prelude = prelude
        self.room = room

    def spend(self, text: str) -> str:
        """Charge characters to the budget."""
        self.room -= len(text)
        if self.room < 0:
            raise _TooLong
        return text

    def exp(self, e: t.Exp) -> str:
        """Print an expression without parentheses around it."""
        match e:
            case t.Const(type=type_, value=value):
                return self.spend(_literal(value, show_type(type_)))
            case t.StringConst(value=value):
                return self.spend(repr(value.decode("utf-8", "replace")))
            case t.Var():
                return self.spend(self._var(e))
            case t.Hole():
                return self.spend("???")
            case t.PrimOp(op=op, args=(lhs, rhs)):
                if op.isalpha():
                    return f"{self.spend(op)} {self.atom(lhs)} {self.atom(rhs)}"
                middle = self.spend(f" {op} ")
                left = self.operand(lhs, _needs(lhs, op, left=True))
                return f"{left}{middle}{self.operand(rhs, _needs(rhs, op, left=False))}"
            case t.PrimOp(op=op, args=args):
                return f"{self.spend(_UNARY.get(op, op))}{self.atom(args[0])}"
            case t.Convert(to=to, exp=inner):
                source = show_type(inner.type)
                return f"{self.spend(f'{to}.{source} ')}{self.atom(inner)}"
            case t.PrimFun(fun=fun, at=at, args=args):
                return f"{self.spend(f'{at}.{fun}')} {self.atoms(args)}"
            case t.Apply(fn=fn, args=args, ext=ext):
                return f"{self.atom(fn)} {self.atoms(args)}{self.spend(_ext(ext))}"
            case t.Lambda(params=params, body=body):
                head = " ".join(f"({pattern(p)})" for p in params)
                return self.spend(f"(\\{head} -> ") + self.exp(body) + ")"
            case t.If(cond=cond, then=then, orelse=t.Const(value=False)):
                return self._logic("&&", cond, then)
            case t.If(cond=cond, then=t.Const(value=True), orelse=orelse):
                return self._logic("||", cond, orelse)
            case t.If(cond=cond, then=then, orelse=orelse, ext=ext):
                self.spend("if  then  else ")
                parts = f"if {self.exp(cond)} then {self.exp(then)} else {self.exp(orelse)}"
                return parts + self.spend(_ext(ext))
            case t.Let() | t.LetFun() | t.Loop() | t.Match():
                raise _TooLong
        return self._other(e)

    def _logic(self, op: str, lhs: t.Exp, rhs: t.Exp) -> str:
        middle = self.spend(f" {op} ")
        left = self.operand(lhs, isinstance(lhs, _OPEN))
        return f"{left}{middle}{self.operand(rhs, isinstance(rhs, _OPEN))}"

    def _other(self, e: t.Exp) -> str:
        match e:
            case t.RecordExp(fields=fields):
                return self._record(fields)
            case t.Project(exp=inner, field=field):
                label = self.spend(f".{field}")
                return f"{self.atom(inner)}{label}"
            case t.RecordUpdate(exp=inner, path=path, value=value):
                label = self.spend(f" with {'.'.join(path)} = ")
                return f"{self.atom(inner)}{label}{self.exp(value)}"
            case t.ArrayLit(elems=elems):
                return f"[{', '.join(self.exp(x) + self.spend(', ')[2:] for x in elems)}]"
            case t.Range(first=first, second=second, kind=kind, end=end, ext=ext):
                middle = "" if second is None else f"..{self.atom(second)}"
                ends = f"{self.atom(first)}{middle}{self.spend(kind)}{self.atom(end)}"
                return ends + self.spend(_ext(ext))
            case t.Index(array=array, dims=dims, ext=ext):
                return f"{self.atom(array)}[{self._dims(dims)}]{self.spend(_ext(ext))}"
            case t.Update(array=array, dims=dims, value=value):
                target = f"{self.atom(array)}{self.spend(' with []')[:-2]}[{self._dims(dims)}]"
                return f"{target} = {self.exp(value)}"
            case t.Coerce(type=type_, exp=inner):
                return f"{self.atom(inner)}{self.spend(f' :> {show_type(type_, True)}')}"
            case t.Assert(cond=cond, exp=inner):
                return f"{self.spend('assert')} {self.atom(cond)} {self.atom(inner)}"
            case t.Constr(name=name, args=args):
                return " ".join([self.spend(f"#{name}"), *(self.atom(a) for a in args)])
            case t.Attr(attr=attr, exp=inner):
                return f"{self.spend(f'#[{attr}]')} {self.exp(inner)}"
        raise TypeError(e)

    def atom(self, e: t.Exp) -> str:
        """Print an expression, in parentheses where it needs them as an argument."""
        text = self.exp(e)
        if isinstance(e, _ATOMS) or text.startswith(("(\\", "[")):
            return text
        return f"({text})"

    def operand(self, e: t.Exp, wrap: bool) -> str:
        """Print an operand, in parentheses if asked for."""
        return f"{self.spend('(')}{self.exp(e)})" if wrap else self.exp(e)

    def atoms(self, es: tuple[t.Exp, ...]) -> str:
        """Print arguments."""
        return " ".join([self.atom(e) for e in es])

    def _var(self, e: t.Var) -> str:
        name = self.prelude.get(e.name, e.name)
        if not name[0].isalpha() and name[0] != "_":
            name = f"({name})"
        instance = [show_type(u, True) for u in e.type_args]
        instance += [f"[{show_size(s, True)}]" for s in e.size_args]
        return f"{name}{{{', '.join(instance)}}}" if instance else name

    def _record(self, fields: tuple[tuple[str, t.Exp], ...]) -> str:
        self.spend("  " * len(fields))
        if is_tuple(fields):
            return f"({', '.join([self.exp(v) for _, v in fields])})"
        return f"{{{', '.join([f'{self.spend(f)} = {self.exp(v)}' for f, v in fields])}}}"

    def _dims(self, dims: tuple[t.DimIndex, ...]) -> str:
        return ", ".join([self._dim(d) for d in dims])

    def _dim(self, dim: t.DimIndex) -> str:
        if isinstance(dim, t.IndexFix):
            return self.exp(dim.at)
        bounds: Iterable[t.Exp | None] = (dim.start, dim.stop)
        if dim.step is not None:
            bounds = (dim.start, dim.stop, dim.step)
        return ":".join(["" if b is None else self.exp(b) for b in bounds])


_ATOMS = (t.Const, t.StringConst, t.Hole, t.Var, t.RecordExp, t.ArrayLit, t.Project, t.Index)
_UNARY = {"neg": "-", "not": "!", "abs": "abs ", "sgn": "sgn "}


def _literal(value: int | float | bool, type_: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{'-' if value < 0 else ''}{type_}.{'nan' if math.isnan(value) else 'inf'}"
    return f"{value}{type_}"


def _ext(ext: tuple[Name, ...]) -> str:
    return f" ?{''.join(f'[{n}]' for n in ext)}" if ext else ""


# --- patterns and heads ------------------------------------------------------------------------


def pattern(pat: t.Pat, full: bool = True) -> str:
    """Print a pattern with the type of every name; `full`: with unique names."""
    called: Callable[[Name], str] = str if full else base_of
    match pat:
        case t.PVar(type=type_, name=name, consumes=consumes):
            return f"{called(name)}: {_star(consumes)}{show_type(type_, full)}"
        case t.PRecord(fields=fields) if is_tuple(fields):
            return f"({', '.join(pattern(p, full) for _, p in fields)})"
        case t.PRecord(fields=fields):
            return f"{{{', '.join(f'{f} = {pattern(p, full)}' for f, p in fields)}}}"
        case t.PLit(value=value, type=type_):
            return _literal(value, show_type(type_))
        case t.PConstr(name=name, args=args):
            return " ".join([f"#{name}", *(f"({pattern(p, full)})" for p in args)])
    return "_"


def _star(unique: bool) -> str:
    return "*" if unique else ""


def head(keyword: str, d: t.Def, full: bool = True) -> str:
    """Print the head of a definition, with parameters and result; `full`: with unique names."""
    called: Callable[[Name], str] = str if full else base_of
    sizes = "".join(f" [{called(n)}]" for n in d.size_params)
    types = "".join(f" '{called(n)}" for n in d.type_params)
    params = "".join(f" ({pattern(p, full)})" for p in d.params)
    exists = f"?{''.join(f'[{called(n)}]' for n in d.ext)}." if d.ext else ""
    result = _star(d.unique) + show_type(d.ret, full)
    own = d.name if full else d.source_name
    name = own if own[0].isalpha() or own[0] == "_" else f"({d.source_name})"
    return f"{keyword} {name}{sizes}{types}{params}: {exists}{result}"
