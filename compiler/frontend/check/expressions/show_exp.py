"""Print short expressions for messages of failed assertions."""

from __future__ import annotations

from compiler.frontend import ast


def show_exp(exp: ast.Exp) -> str:
    """Print `x < n && xs[0] == 1`; long and rare parts are abbreviated to `..`."""
    match exp:
        case ast.IntLit(value=value, suffix=suffix):
            return f"{value}{suffix}"
        case ast.FloatLit(text=text, suffix=suffix):
            return f"{text}{suffix}"
        case ast.BoolLit(value=truth):
            return "true" if truth else "false"
        case ast.Var(name=name):
            return ".".join(name)
        case ast.Parens(exp=inner):
            return f"({show_exp(inner)})"
        case ast.TupleExp(elems=elems):
            return f"({_list(elems)})"
        case ast.ArrayExp(elems=elems):
            return f"[{_list(elems)}]"
        case ast.Project(exp=inner, field=field):
            return f"{show_exp(inner)}.{field}"
        case ast.Index(array=array, dims=dims):
            return f"{show_exp(array)}[{', '.join(_dim(d) for d in dims)}]"
        case ast.Apply(fn=fn, args=args):
            return " ".join(show_exp(e) for e in (fn, *args))
        case ast.BinOp(op=op, lhs=lhs, rhs=rhs):
            return f"{show_exp(lhs)} {'.'.join(op)} {show_exp(rhs)}"
        case ast.Negate(exp=inner):
            return f"-{show_exp(inner)}"
        case ast.Not(exp=inner):
            return f"!{show_exp(inner)}"
        case ast.OpSection(op=op, left=None, right=None):
            return f"({'.'.join(op)})"
    return ".."


def _list(exps: tuple[ast.Exp, ...]) -> str:
    return ", ".join(show_exp(e) for e in exps)


def _dim(dim: ast.DimIndex) -> str:
    match dim:
        case ast.IndexFix(at=at):
            return show_exp(at)
        case ast.IndexSlice(start=start, stop=stop, step=step):
            parts = [start, stop] if step is None else [start, stop, step]
            return ":".join("" if p is None else show_exp(p) for p in parts)
