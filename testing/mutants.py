"""Change one thing in the checker: a number, a comparison, a sign, a name, a condition.

A change in what a checker asks for makes it accept what is false, or only refuse more than it must,
or is none at all. `python -m testing.mutants` lists those whose false claims the search of
`unsound.py` does not find: each is looked at, whether there are any.

Of `_result` what is left only makes the range of a result larger. Of `_solvable` it only looks at
more sums (of indices that are too large or too small, or that cannot be made up for), counts them
otherwise for the limit, or is no change: an annotation, a stride of 0, the step of a range that has
one element since nothing is left to make up for it.
"""

from __future__ import annotations

import ast
import copy
import random
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

from compiler.algebra import checker
from testing import unsound
from testing.meaning import SIX_BITS

SOURCE = Path(checker.__file__).read_text("utf-8")
RULES, SUMS, STEPS, LINES, NUMBERS = "rules", "sums", "steps", "lines", "numbers"
LOOKED_AT = {
    "conclude": (RULES,), "_needs": (RULES,), "_result": (RULES,), "in_range": (RULES,),
    "_within": (RULES, STEPS), "_is_known": (RULES,), "add_up": (SUMS,), "_shown": (SUMS,),
    "_line": (LINES,), "_follow": (STEPS, LINES), "_ends": (STEPS,), "_tidy": (STEPS,),
    "_join": (STEPS,), "_pivot": (STEPS,), "_flipped": (STEPS,), "_solvable": (STEPS, NUMBERS),
    "_negative": (RULES, STEPS), "_plus": (RULES, STEPS),
}  # fmt: skip
"""The functions that say what follows, and where the search may find that they are wrong; the
others read a file, or say what stands in it."""
_OTHER: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add,
}  # fmt: skip
_NAMES = {
    "left": "right", "right": "left", "low": "high", "high": "low", "first": "last",
    "last": "first", "min": "max", "max": "min", "gap": "before", "before": "gap",
}  # fmt: skip


def module(text: str) -> ModuleType:
    """A checker of that text, on a machine with words of 6 bits."""
    made = ModuleType("changed")
    exec(compile(text, "changed", "exec"), made.__dict__)
    made.RANGES.clear()
    made.RANGES.update(SIX_BITS)
    return made


def false_claims(changed: ModuleType, function: str, effort: int) -> Iterator[str]:
    """Yield false claims that a checker with one changed function accepts."""
    rng = random.Random(1)
    parts = LOOKED_AT[function]
    if SUMS in parts:
        yield from unsound.false_sums(changed, rng, 100 * effort)
    if STEPS in parts:
        yield from unsound.false_steps(changed, rng, 100 * effort)
    if NUMBERS in parts:
        yield from unsound.false_numbers(changed, rng, 100 * effort)
    if LINES in parts:
        yield from unsound.false_lines(changed, rng, 20 * effort)
    for rule in changed.RULES if RULES in parts else ():
        if function != "_result" or rule == "range":
            yield from unsound.false_inferences(changed, rule, rng, effort)


def mutants() -> Iterator[tuple[str, str, str]]:
    """In which function what is changed, and the text of the checker with that."""
    tree = ast.parse(SOURCE)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name in LOOKED_AT:
            for node in chain.from_iterable(map(ast.walk, function.body)):
                for change in _changes(node):
                    before = copy.copy(node.__dict__)
                    what = f"{getattr(node, 'lineno', '?')}: {ast.unparse(node)}"
                    node.__dict__.update(change)
                    yield function.name, f"{what}  ->  {ast.unparse(node)}", ast.unparse(tree)
                    node.__dict__.clear()
                    node.__dict__.update(before)


def _changes(node: ast.AST) -> Iterator[dict[str, Any]]:
    match node:
        case ast.Constant(value=int() as number) if type(number) is int:
            yield from ({"value": number + 1}, {"value": number - 1})
        case ast.Compare(ops=[op]) if type(op) in _OTHER:
            yield {"ops": [_OTHER[type(op)]()]}
        case ast.BoolOp(op=op) | ast.BinOp(op=op) if type(op) in _OTHER:
            yield {"op": _OTHER[type(op)]()}
        case ast.Name(id=name) if name in _NAMES:
            yield {"id": _NAMES[name]}
        case ast.UnaryOp(op=ast.USub()):
            yield {"op": ast.UAdd()}
        case ast.If(body=[ast.Raise()]):
            yield {"test": ast.Constant(False)}
        case ast.List(elts=parts) | ast.Tuple(elts=parts) if len(parts) > 1:
            for k in range(len(parts)):
                yield {"elts": parts[:k] + parts[k + 1 :]}
        case ast.Expr(value=ast.Call()):
            yield {"value": ast.Constant(None)}
        case ast.Call(func=ast.Name(id="_plus"), args=[_, _, number]):
            yield {"args": [*node.args[:2], ast.Constant(0)]}


def main() -> None:
    """Lists the changes of which no false claim was found."""
    effort, count, found = int(sys.argv[1]), 0, 0
    for function, what, text in mutants():
        try:
            false = next(false_claims(module(text), function, effort), "")
        except Exception as error:  # what it does then is no answer
            false = repr(error)
        count, found = count + 1, found + bool(false)
        if not false:
            sys.stdout.write(f"{function} {what}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{found} of {count} are found, or give no answer\n")


if __name__ == "__main__":
    main()
