"""Hints for errors typical of beginners and users of other languages."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from compiler.base.prim import INTS, NUMBERS, PRIMS
from compiler.base.spans import Span
from compiler.frontend import ast
from compiler.frontend.check.scope.builtins import member_names
from compiler.frontend.check.scope.scope import Scheme, did_you_mean
from compiler.frontend.check.scope.state import Checker
from compiler.frontend.check.types.metas import MetaT, resolve
from compiler.frontend.check.types.wording import NO_TEXT, has_names
from compiler.frontend.syntax_hints import EXPONENT, MISSING, TYPES, points_digits
from compiler.frontend.types import UNIT, Array, Arrow, PrimT, Record, Sum, Type

_ASSIGNED = "A value cannot be changed: `let y = x + 1` binds a new name."
_CONVERTED = "Convert a number with a function of the target type's module, as in `f64.i32 x`."
_AMONG = "To test if an array contains a value, write `any (== x) xs`."
_PART = "The components of a tuple are `p.0` and `p.1`."
_SAME = "`replicate n 0` makes an array of n equal values."
_MATRIX = "`replicate n (replicate m 0)` makes a matrix of zeros."
_RANGE = "`iota n` makes the numbers from 0 to n - 1."
_PRINTED = "Programs cannot print; return the result from an entry point."
_FAILS = "To fail, use `assert c x`: its value is `x` if `c` holds."
_CLOSES = "Group expressions with parentheses."
PLACE = "To replace an element, write `xs with [i] = v`, as in `let ys = xs with [0] = 3`."
_SUMMED = (
    "Write a dot product as `f32.sum (map2 (*) xs ys)`, and a matrix product as a `map` of "
    "dot products."
)
ONE_EQUATION = (
    "A function has one equation. Distinguish cases with `match x case 0 -> a case _ -> b`."
)
COMPARED = (
    'A string is an array, and patterns cannot match arrays. Compare it, as in `if s == "a"`.'
)
_COMPARISONS = frozenset(("<", ">", "<=", ">="))
UPDATES = frozenset(("<-", "+=", "-=", "*=", ":="))
"""In-place update operators of other languages."""
_VALUES = {
    "and": 'Write "and" as `a && b`.',
    "or": 'Write "or" as `a || b`.',
    "return": "A function returns the value of its body; there is no `return`.",
    "len": "Write the length of an array as `length xs`.",
    "size": "Write the length of an array as `length xs`.",
    "null": MISSING,
    "fold": "Use `reduce` for an associative operator, and `foldl` or a `loop` for any other.",
    **dict.fromkeys(("print", "printf", "println", "putStrLn", "echo", "puts"), _PRINTED),
    **dict.fromkeys(("raise", "throw", "error", "failwith", "fail", "panic", "try"), _FAILS),
    **dict.fromkeys(("range", "arange"), _RANGE),
    **dict.fromkeys(("begin", "end"), _CLOSES),
    **dict.fromkeys(("dot", "matmul", "mm"), _SUMMED),
    "as": _CONVERTED,
    "ref": _ASSIGNED,
    "T": "To go over columns, use the rows of `transpose xss`.",
    "mean": "A mean is `f32.sum xs / f32.i64 (length xs)`.",
    "append": "Concatenate arrays with `xs ++ ys`; `[x]` is an array of one element.",
    "enumerate": "`zip (indices xs) xs` pairs elements with their indices.",
    "zipWith": "To map over two arrays, write `map2 f xs ys`.",
    "argmax": "Reduce pairs of an element and its index: `zip xs (indices xs)`.",
    "argmin": "Reduce pairs of an element and its index: `zip xs (indices xs)`.",
    "linspace": "For evenly spaced numbers, write `tabulate n (\\i -> f32.i64 i * step)`.",
    "otherwise": "Write a choice as `if c then a else b`.",
    "True": "Write `true`.",
    "False": "Write `false`.",
    "nil": MISSING,
    "None": MISSING,
    "Nothing": MISSING,
    "undefined": "For an expression that you write later, put the hole `???`.",
    "sort": "Sort by bits: `radix_sort_int i32.num_bits i32.get_bit xs`.",
    "mod": "Write the remainder of a division as `a % b`.",
    "xor": "Write bitwise exclusive or as `a ^ b`.",
    "fst": _PART,
    "snd": _PART,
    "show": NO_TEXT,
    "str": NO_TEXT,
    "toString": NO_TEXT,
    "elem": _AMONG,
    "contains": _AMONG,
    "member": _AMONG,
    "fromIntegral": _CONVERTED,
    "toFloat": _CONVERTED,
    "float": _CONVERTED,
    "int": _CONVERTED,
    "zeros": _SAME,
    "ones": _SAME,
    "!!": "Read one element by its index, `xs[i]`.",
    "=>": "Write an anonymous function as `\\x -> x + 1`.",
    "<-": "Futhark has no comprehensions: write `map (\\x -> x * 2) xs`, or `filter`.",
    "+=": _ASSIGNED,
    "-=": _ASSIGNED,
    "*=": _ASSIGNED,
    "/=": "Write inequality as `a != b`.",
    "<>": "Write inequality as `a != b`.",
    "===": "Write equality as `a == b`.",
    "!==": "Write inequality as `a != b`.",
}


_LIBRARIES = ("np", "numpy", "math", "Math")
_COLLECTIONS = ("List", "Array", "Seq", "Vector", "Data.List", "Iter")
_CALLED = {
    "`reduce`": "`reduce (+) 0 xs`, with the neutral element before the array",
    "`reduce_comm`": "`reduce_comm (+) 0 xs`, with the neutral element before the array",
    "`scan`": "`scan (+) 0 xs`, with the neutral element before the array",
    "`foldl`": "`foldl f start xs`",
    "`foldr`": "`foldr f start xs`",
    "`scatter`": "`scatter target indices values`",
    "`tabulate`": "`tabulate n f`",
    "`replicate`": "`replicate n x`",
}
"""Usage of functions that are often called with arguments swapped or missing."""


_FEW = 6
"""Most names that a hint lists."""
_DEFINED = {
    "mut": (
        "a name cannot be assigned again. Write `let y = x`, and a new `let` for the next value."
    ),
    "rec": "write a top-level `def f n = ..`, which may call itself, or a `loop`.",
}
"""Words of other languages between `let` and a name, and their replacements."""


def unknown_value(st: Checker, name: str, span: Span) -> str:
    """Suggest a meaning for an unknown value."""
    later = st.declared_later.get(("values", name))
    if later is not None:
        return _defined_later(name, later, span)
    if name in NUMBERS and name in st.scope.modules:
        return _CONVERTED.replace("f64.i32", f"{name}.{'i32' if name == 'i64' else 'i64'}")
    if name in st.scope.modules:
        return f"`{name}` is a module here; values and modules share one namespace."
    if name in st.scope.types and name not in _VALUES:
        return f"`{name}` is a type. Write a value of it directly, as in `(1, 2)` or `{{x = 1}}`."
    if name in _VALUES:
        return _VALUES[name]
    owners = [prim for prim in ("i32", "f32", "bool") if _has(st, prim, name)]
    if owners:
        written = " or ".join(f"`{prim}.{name}`" for prim in owners)
        return f"`{name}` is a function of the number types: write {written}, for example."
    for word, way_out in _DEFINED.items():
        if isinstance(st.scope.values.get(word), Scheme):
            return f"`let {word} {name}` defines a function `{word}` of `{name}`: {way_out}"
    inside = (m for m, of in st.scope.modules.items() if name in of.values and not of.prim)
    if name not in st.scope.values and (module := next(inside, "")) not in ("", "intrinsics"):
        return f"It belongs to a module: `{module}.{name}`."
    return did_you_mean(name, st.scope.values)


def unknown_type(st: Checker, name: str, known: list[str], span: Span) -> str:
    """Suggest a meaning for an unknown type."""
    later = st.declared_later.get(("types", name))
    if later is not None and later <= span.line:
        return (
            f"`{name}` is not defined before this, and a type cannot contain itself. "
            "Put its values into an array, and refer to them by index."
        )
    if later is not None:
        return _defined_later(name, later, span)
    if name in st.scope.values:
        return (
            f"`{name}` is a value, but `:` must be followed by a type. Concatenate arrays "
            "with `++`."
        )
    if len(name) == 1 and name.islower():
        return (
            f"Declare a type parameter before the other parameters: `def f '{name} (x: "
            f"{name}) = ..`."
        )
    return TYPES.get(name.lower()) or did_you_mean(name, known)


def first_and_others(inner: ast.Pat, type_: ast.TypeExp) -> str:
    """Suggest a replacement for the list pattern `(x:xs)`, with `xs` parsed as a type; or ""."""
    if not (isinstance(inner, ast.PName) and isinstance(type_, ast.TName)):
        return ""
    first, others = inner.name, ".".join(type_.name)
    if others not in (f"{first}s", "rest", "tail", "tl", *"t"[: first == "h"]):
        return ""
    return (
        "A pattern cannot match an array: read its first element as `xs[0]`, and the "
        "others as `xs[1:]`."
    )


def one_by_one(pattern: ast.Pat, wanted: Arrow) -> str:
    """Suggest curried parameters for a lambda with a tuple pattern; or ""."""
    if not isinstance(pattern, ast.PTuple):
        return ""
    given: Type = wanted
    for _ in pattern.elems:
        if not isinstance(given, Arrow):
            return ""
        given = resolve(given.result)
    names = " ".join(chr(ord("a") + k) for k in range(min(len(pattern.elems), 26)))
    return f"The function gets its arguments one after the other: `\\{names} -> ..`."


def unknown_module(st: Checker, path: str, span: Span) -> str:
    """Suggest a meaning for an unknown module."""
    later = st.declared_later.get(("modules", path))
    if later is not None:
        return _defined_later(path, later, span)
    if path in _LIBRARIES:
        return (
            "Make arrays with `iota n` and `replicate n 0`. Mathematical functions are "
            "in modules, as `f64.sqrt x`."
        )
    if path in _COLLECTIONS:
        return "Functions on arrays need no module: `map f xs`, `length xs`."
    return did_you_mean(path, st.scope.modules)


def unknown_member(prim: str, name: str) -> str:
    """Suggest a meaning for an unknown member of a primitive type's module; or ""."""
    found = re.fullmatch("(to|of|from)_?([a-z]+[0-9]*)", name)
    if found is not None and found[2] in PRIMS:
        to, source = (found[2], prim) if found[1] == "to" else (prim, found[2])
        return f"Convert it with `{to}.{source}`."
    if name in ("pow", "square", "power"):
        return "Write a power as `a ** b`."
    if prim in INTS and name in member_names("f32"):
        return f"It is in the modules of the floating-point types, as `f32.{name}`."
    return _VALUES.get(name, "")


def unknown_size(st: Checker, name: str, span: Span) -> str:
    """Suggest how to bring a size into scope."""
    later = st.declared_later.get(("values", name))
    if later is not None:
        return _defined_later(name, later, span)
    near = did_you_mean(name, st.scope.values) if len(name) > 1 else ""
    return near or (
        f"Declare it before the parameters, as in `def f [{name}] (xs: [{name}]i32) = ..`;"
        f" with `let`, as in `let [{name}] (ys: [{name}]i32) = ..`."
    )


def _defined_later(name: str, line: int, span: Span) -> str:
    if line <= span.line:
        return f"`{name}` is not defined before this, and a value cannot be defined by itself."
    return f"`{name}` is defined below, at line {line}; a definition can use only those above it."


def _has(st: Checker, prim: str, name: str) -> bool:
    module = st.scope.modules.get(prim)
    return module is not None and (name in module.values or name in member_names(prim))


def applied_number(number: ast.Exp, args: tuple[ast.Exp, ...]) -> str:
    """Hint at a number in a function's place: `map -1 xs`, `reduce + 0 xs`, `a > 1 and b`, `2n`."""
    first = args[0]
    follows = first.span[:2] == number.span[2:4]
    if follows and isinstance(number, ast.IntLit) and not number.value:
        name = first.name[0] if isinstance(first, ast.Var) else "b"
        if re.match("[oObBxXrR]", name):
            return "Numbers are decimal, hexadecimal `0x1f`, binary `0b101` or Roman `0rXIV`."
    if follows and isinstance(first, ast.IntLit):
        return "The digits of a binary number are 0 and 1, as in `0b101`."
    if follows and isinstance(first, ast.Var):
        if re.fullmatch("[fFdDLluU]|i[0-9]+|[uf][0-9]+", first.name[0]):
            return "Write a number with its type as `2.5f32`, `2i64` or `2u8`."
        if first.name[0][0] == "_" or re.match("[eE]_", first.name[0]):
            return EXPONENT
        if first.name[0] in ("e", "E"):
            return "An exponent needs digits, as in `1.5e3`. Write a product as `2 * e`."
        if re.fullmatch("[pP][0-9]+", first.name[0]) and isinstance(number, ast.IntLit):
            return points_digits(f"{number.value:#x}.0{first.name[0]}")
        return f"Write a product with `*`, as in `2 * {'.'.join(first.name)}`."
    if all(isinstance(arg, ast.IntLit | ast.FloatLit) for arg in args):
        return "Separate array elements and tuple components by commas: `[1, 2]`."
    for arg in args:
        if isinstance(arg, ast.Var) and arg.name[0] in ("and", "or"):
            return _VALUES[arg.name[0]]
    return (
        "Put an operator or a negative number in parentheses to pass it: `reduce (+) 0 "
        "xs`, `f (-1) x`."
    )


def unlike_tuple(want: Type, got: Type, count: int) -> str:
    """Hint at one tuple passed for several arguments, or several arguments for one tuple."""
    if want is got:
        return ""
    wanted, given = resolve(want), resolve(got)
    left, right = isinstance(wanted, Record), isinstance(given, Record)
    if right and not left and count == 1:
        return "Write arguments one after the other, without commas: `f a b`."
    if right and not left and isinstance(resolve(want), PrimT):
        return "A tuple is one value: pass its components as separate arguments."
    is_one = isinstance(resolve(got), PrimT) or _is_number(got)
    if isinstance(wanted, Record) and has_names(wanted):
        if (right and not has_names(given)) or (not right and (count > 1 or is_one)):
            fields = ", ".join(f"{name} = .." for name, _ in wanted.fields)
            return f"This function takes a record: write `f {{{fields}}}`."
        return ""
    if left and not right and (count > 1 or (is_one and wanted != UNIT)):
        return "This function takes a tuple: write `f (a, b)`."
    return ""


def _is_number(type_: Type) -> bool:
    known = resolve(type_)
    return isinstance(known, MetaT) and known.prims is not None


def applied_value(applied: Type, first: object, what: str) -> str:
    """Hint at a value in a function's place: `xs [0]`, `x mod 2`."""
    if isinstance(first, ast.Var) and first.name[0] in _VALUES:
        return _VALUES[first.name[0]]
    if isinstance(resolve(applied), Array) and isinstance(first, ast.ArrayExp):
        return f"Write the index without a space: `{what.strip('`')}[0]`."
    if isinstance(resolve(applied), Array) and what.startswith("`"):
        return f"Read one element by its index, `{what.strip('`')}[i]`."
    return ""


def called(what: str) -> str:
    """Show the call of a function with arguments swapped or missing; "" if unknown.

    `what`: its name, quoted.
    """
    return f"Call it as {_CALLED[what]}." if what in _CALLED else ""


def no_null(*operands: ast.Exp) -> str:
    """Hint at a comparison with `null`, which is a function on arrays here."""
    return MISSING if any(isinstance(e, ast.Var) and e.name == ("null",) for e in operands) else ""


def member_of_value(st: Checker, field: str, span: Span) -> str:
    """Suggest a replacement for a method: `xs.map`, `xs.mean`, `x.abs`; or ""."""
    if field in st.scope.values:
        return f"A function stands before its argument: `{field} x`."
    return unknown_value(st, field, span) if field in _VALUES or _has(st, "f32", field) else ""


def indexed_by_text(text: str) -> str:
    """Suggest a replacement for `r["x"]`."""
    name = text if text.isidentifier() else "x"
    return f"Read a field of a record by its name, `r.{name}`. Futhark has no dictionaries."


def not_indexed(type_: Type) -> str:
    """Suggest how to read the parts of a value without indices; "" if it has none."""
    if not isinstance(type_, Record) or not type_.fields:
        return ""
    first = type_.fields[0][0]
    return _PART if first.isdigit() else f"Read a field of a record by its name: `r.{first}`."


def other_field(record: Record, field: str) -> str:
    """Suggest a field for an unknown one: a near miss, or a part of a tuple."""
    names = [name for name, _ in record.fields]
    if names and names[0].isdigit() and field.strip("_").isdigit():
        return f"Tuple components count from 0: `p.0` to `p.{len(names) - 1}`."
    return did_you_mean(field, names)


def conditions(op: str, lhs: ast.Exp, types: tuple[Type, Type]) -> str:
    """Hint at `a & b` or `a < b < c` among conditions; or ""."""
    is_bool = [isinstance(known := resolve(u), PrimT) and known.prim == "bool" for u in types]
    if op in ("&", "|") and any(is_bool):
        return _VALUES["and" if op == "&" else "or"]
    if not (op in _COMPARISONS and isinstance(lhs, ast.BinOp) and lhs.op[0] in _COMPARISONS):
        return ""
    if isinstance(lhs.rhs, ast.BinOp) and lhs.rhs.op[0] in ("&", "|"):
        return _VALUES["and" if lhs.rhs.op[0] == "&" else "or"]
    return f"Write two comparisons: `a {lhs.op[0]} b && b {op} c`."


def several_arrays(what: str) -> str:
    """Hint at `map` with a function and two arrays."""
    if what == "`replicate`":
        return _MATRIX
    return "To map over several arrays, use `map2`, `map3` and so on." if what == "`map`" else ""


def function_first(want: Type, got: Type, index: int, what: str) -> str:
    """Hint at swapped arguments: an array in place of a higher-order function's function."""
    wanted, given = resolve(want), resolve(got)
    if index > 0 or not isinstance(wanted, Arrow) or isinstance(given, Arrow):
        return ""
    return f"The function comes first, as in `{what.strip('`')} f ..`."


def by_fields(op: str, exp: ast.BinOp, type_: Type) -> str:
    """Suggest a field-wise operation on two small records; or ""."""
    if not isinstance(type_, Record) or not has_names(type_) or len(type_.fields) > _FEW:
        return ""
    left, right = "a", "b"
    if isinstance(exp.lhs, ast.Var) and isinstance(exp.rhs, ast.Var):
        left, right = ".".join(exp.lhs.name), ".".join(exp.rhs.name)
    fields = ", ".join(f"{f} = {left}.{f} {op} {right}.{f}" for f, _ in type_.fields)
    return f"Compute it field by field: `{{{fields}}}`."


def not_taken_apart(type_: Type) -> str:
    """Suggest a replacement for a tuple pattern whose value is no such tuple."""
    known = resolve(type_)
    if isinstance(known, PrimT) or _is_number(type_):
        return "It is one value without components: bind it to one name, as in `let a = ..`."
    if isinstance(known, Array):
        return "An array has no named components: its elements are `xs[0]`, `xs[1]` and so on."
    if isinstance(known, Record) and has_names(known):
        fields = ", ".join(field for field, _ in known.fields)
        return f"The pattern of a record names its fields: `{{{fields}}}`."
    if isinstance(known, Record) and known.fields:
        names = ", ".join(chr(ord("a") + k) for k in range(min(len(known.fields), 26)))
        return (
            f"It has {len(known.fields)} components: `({names})`. Write `_` for one that "
            "you do not need."
        )
    return ""


def not_of_fields(type_: Type, named: Collection[str]) -> str:
    """Suggest a replacement for a record pattern whose value has other fields."""
    known = resolve(type_)
    if not isinstance(known, Record) or not has_names(known):
        return not_taken_apart(type_)
    names = [field for field, _ in known.fields]
    others = [field for field in named if field not in names]
    shown = ", ".join(f if f in named or others else f"{f} = _" for f in names)
    if others:
        return f"It has no field `{others[0]}`: its pattern is `{{{shown}}}`."
    return f"A record pattern must name all fields: `{{{shown}}}`."


def field_of_sum(type_: Sum, field: str) -> str:
    """Suggest a `match` to read a variant of a sum: `v.some`."""
    found = next((given for name, given in type_.variants if name == field), None)
    if found is None:
        return "Distinguish its variants with `match`, as in `match v case #a x -> ..`."
    names = "".join(f" {chr(ord('a') + k)}" for k in range(min(len(found), 26)))
    value = "a" if len(found) == 1 else f"({names[1:].replace(' ', ', ')})" if found else ".."
    others = " case _ -> .." if len(type_.variants) > 1 else ""
    return f"`{field}` is one of its variants: `match v case #{field}{names} -> {value}{others}`."


def not_applied(name: str, params: int) -> str:
    """Suggest the application of a functor with so many parameters; "" for none."""
    if not params:
        return ""
    which = "a module with a parameter" if params == 1 else f"a module with {params} parameters"
    return (
        f"`{name}` is {which}. Apply it first: `module m = {name}{' arg' * params}`, "
        "then use `m.x`."
    )


def members(known: Iterable[str]) -> str:
    """List the names of a small module."""
    listed = sorted(known)
    return f"It has {', '.join(f'`{n}`' for n in listed)}." if 0 < len(listed) <= _FEW else ""


def operand_is_function(op: str, operand: ast.Exp, type_: Type) -> str:
    """Hint at a function left of an operator: `f -1`, `reduce + 0 xs`, `f + 1` for `f ()`."""
    known = resolve(type_)
    if isinstance(operand, ast.Var) and isinstance(known, Arrow) and resolve(known.param) == UNIT:
        return f"It is applied to `()`: `{'.'.join(operand.name)} ()`."
    if isinstance(operand, ast.Apply) and isinstance(known, Arrow):
        return "It is a function that still takes an argument."
    if op == "-":
        return "Put a negative number in parentheses to pass it: `f (-1)`."
    return f"Put an operator in parentheses to pass it: `reduce ({op}) 0 xs`."
