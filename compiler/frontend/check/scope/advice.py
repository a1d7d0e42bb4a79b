"""Hints for errors that people make who come from other languages, or are new to this one."""

from __future__ import annotations

from compiler.frontend import ast
from compiler.frontend.check.scope.builtins import member_names
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.frontend.check.scope.state import Checker
from compiler.frontend.check.types.metas import resolve
from compiler.frontend.types import Record, Type

_VALUES = {
    "and": "Both of two conditions is `a && b`.",
    "or": "One of two conditions is `a || b`.",
    "return": "A function's result is the value of its body; nothing needs to be written.",
    "len": "The length of an array is `length xs`.",
    "size": "The length of an array is `length xs`.",
    "null": "Every variable has a value; what may be missing is a sum type, `#some i32 | #none`.",
    "fold": "Write `reduce` for an operator that may be regrouped, else `foldl` or a `loop`.",
    "print": "Programs do not print; a result is what an entry point returns.",
    "range": "The numbers from 0 to n - 1 are `iota n`.",
    "True": "It is written `true`.",
    "False": "It is written `false`.",
}
_TYPES = {
    "int": "Integers are `i32` and `i64` (also `i8`, `i16`), unsigned `u8` to `u64`.",
    "long": "The type is called `i64`.",
    "float": "Floating-point numbers are `f32`, `f64` and `f16`.",
    "double": "The type is called `f64`.",
    "char": "A byte is a `u8`.",
    "string": "A text is an array of bytes, `[]u8`.",
    "str": "A text is an array of bytes, `[]u8`.",
    "boolean": "The type is called `bool`.",
    "unit": "The unit type is written `()`.",
    "void": "The unit type is written `()`.",
}


def unknown_value(st: Checker, name: str) -> str:
    """What may be meant by a name that no value has."""
    later = st.declared_later.get(("value", name))
    if later is not None:
        return _later(name, later)
    if name in st.scope.modules:
        return f"`{name}` is a module here; values and modules share their names."
    if name in _VALUES:
        return _VALUES[name]
    owners = [prim for prim in ("i32", "f32", "bool") if _has(st, prim, name)]
    if owners:
        written = " or ".join(f"`{prim}.{name}`" for prim in owners)
        return f"`{name}` is a function of the number types: write {written}, for example."
    return did_you_mean(name, st.scope.values)


def unknown_type(st: Checker, name: str, known: list[str]) -> str:
    """What may be meant by a name that no type has."""
    later = st.declared_later.get(("type", name))
    if later is not None:
        return _later(name, later)
    return _TYPES.get(name) or did_you_mean(name, known)


def unknown_module(st: Checker, path: str) -> str:
    """What may be meant by a name that no module has."""
    later = st.declared_later.get(("module", path))
    if later is not None:
        return _later(path, later)
    return did_you_mean(path, st.scope.modules)


def unknown_size(st: Checker, name: str) -> str:
    """How to bring a size into scope."""
    later = st.declared_later.get(("value", name))
    if later is not None:
        return _later(name, later)
    near = did_you_mean(name, st.scope.values) if len(name) > 1 else ""
    return near or (
        f"Declare it before the parameters, as in `def f [{name}] (xs: [{name}]i32) = ..`;"
        f" with `let`, as in `let [{name}] (ys: [{name}]i32) = ..`."
    )


def _later(name: str, line: int) -> str:
    return f"`{name}` is defined below, at line {line}; a definition can use only those above it."


def _has(st: Checker, prim: str, name: str) -> bool:
    module = st.scope.modules.get(prim)
    return module is not None and (name in module.values or name in member_names(prim))


def applied_number(args: tuple[ast.Exp, ...]) -> str:
    """A number stands where a function would: `map -1 xs`, `reduce + 0 xs`, `a > 1 and b`."""
    for arg in args:
        if isinstance(arg, ast.Var) and arg.name[0] in ("and", "or"):
            return _VALUES[arg.name[0]]
    return (
        "An operator or a negative number that is an argument is written in parentheses:"
        " `reduce (+) 0 xs`, `f (-1) x`."
    )


def unlike_tuple(want: Type, got: Type, count: int) -> str:
    """One tuple was given for several arguments, or several arguments for one tuple."""
    if want is got:
        return ""
    left, right = isinstance(resolve(want), Record), isinstance(resolve(got), Record)
    if right and not left and count == 1:
        return "Arguments are written one after the other, without commas: `f a b`."
    if left and not right and count > 1:
        return "This function takes a tuple: write `f (a, b)`."
    return ""


def operand_is_function(op: str) -> str:
    """A function stands on the left of an operator: `f -1`, `reduce + 0 xs`."""
    if op == "-":
        return "A negative number that is an argument is written in parentheses: `f (-1)`."
    return f"An operator that is an argument is written in parentheses: `reduce ({op}) 0 xs`."
