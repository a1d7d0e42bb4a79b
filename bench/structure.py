"""Count the costs of the code's structure: `python -m bench.structure`.

    python -m bench.structure            # a line for each figure
    python -m bench.structure --json     # the same as an object
    python -m bench.structure --list     # and the places of dispatches and wide classes
    python -m bench.structure --root FOLDER    # of another checkout, without its times

A dispatch is a `match`, a table (a `dict` display) or a function's chain of `isinstance` that names
four or more node classes of one language. Tables that functions enter themselves into
(`base/by_class.py`), and classes of rules (`NodeRules`), are counted apart. A wide class has more
than 12 attributes and is no frozen record. CPU seconds are the least of five starts, with
everything compiled; the machine may be busy.
"""

from __future__ import annotations

import argparse
import ast
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = "compiler", "app"
LEAST_CLASSES, MOST_ATTRIBUTES, STARTS = 4, 12, 5
NODES = "nodes scalar_nodes ast decs typed types syntax terms".split()
"""Names of files that declare the nodes of a language."""
ENGINES = "printer", "parser", "verify", "verifier", "walk"
"""Names of files that print, read, check or traverse the programs of a language."""


@cache
def files() -> dict[Path, ast.Module]:
    """All files of the product, read once."""
    found = (path for top in FOLDERS for path in sorted((ROOT / top).rglob("*.py")))
    return {path: ast.parse(path.read_text("utf-8")) for path in found}


def lines() -> int:
    """Lines of `compiler/` and `app/`."""
    return sum(len(path.read_text("utf-8").splitlines()) for path in files())


@cache
def languages() -> dict[str, frozenset[str]]:
    """The node classes of each language, by the file that declares them."""
    found = {}
    for path, tree in files().items():
        if path.stem in NODES:
            names = [one.name for one in tree.body if isinstance(one, ast.ClassDef)]
            found[str(path.relative_to(ROOT))] = frozenset(n for n in names if n[0] != "_")
    return found


def _named(node: ast.AST) -> set[str]:
    """Classes that a pattern, a test of `isinstance` or a key of a table names."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, ast.Attribute):
            found.add(part.attr)
    return found


def _tested(function: ast.FunctionDef) -> set[str]:
    """The classes that the calls of `isinstance` in a function name, but not inner functions'."""
    found: set[str] = set()
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
            found |= _named(node.args[1])
        pending += ast.iter_child_nodes(node)
    return found


def _choices(tree: ast.Module) -> Iterator[tuple[int, set[str]]]:
    """Lines where something is chosen by classes, and the names there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Match):
            patterns = [p for case in node.cases for p in ast.walk(case.pattern)]
            classes = [p.cls for p in patterns if isinstance(p, ast.MatchClass)]
            yield node.lineno, set().union(*map(_named, classes)) if classes else set()
        elif isinstance(node, ast.Dict):
            keys = [key for key in node.keys if isinstance(key, ast.Name | ast.Attribute)]
            yield node.lineno, set().union(*map(_named, keys)) if keys else set()
        elif isinstance(node, ast.FunctionDef):
            yield node.lineno, _tested(node)


def dispatches() -> list[str]:
    """Where four or more node classes of a language are told apart, as `file:line`."""
    return [
        f"{path.relative_to(ROOT)}:{line}"
        for path, tree in files().items()
        for line, names in _choices(tree)
        if any(len(names & nodes) >= LEAST_CLASSES for nodes in languages().values())
    ]


def rule_tables() -> set[str]:
    """Tables that functions enter themselves into, and classes with a rule for each statement."""
    found = set()
    for path, tree in files().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "handles":
                found.add(f"{path.relative_to(ROOT)} {ast.unparse(node.args[0])}")
            elif isinstance(node, ast.ClassDef) and "NodeRules" in map(ast.unparse, node.bases):
                found.add(f"{path.relative_to(ROOT)} {node.name}")
    return found


def _is_frozen(node: ast.ClassDef) -> bool:
    return any("frozen=True" in ast.unparse(one) for one in node.decorator_list)


def _attributes(node: ast.ClassDef) -> set[str]:
    """The attributes that a class declares, or gives its values in a method."""
    found = {one.target.id for one in node.body if isinstance(one, ast.AnnAssign)
             and isinstance(one.target, ast.Name)}  # fmt: skip
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
            found |= {part.attr} if getattr(part.value, "id", "") == "self" else set()
    return found


@cache
def _answers() -> frozenset[str]:
    """The classes that are shapes of answers: `TypedDict`, and what extends one."""
    bases = {
        node.name: set(map(ast.unparse, node.bases))
        for tree in files().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found, before = {"TypedDict"}, 0
    while len(found) > before:
        before = len(found)
        found |= {name for name, above in bases.items() if above & found}
    return frozenset(found)


def wide_classes() -> list[str]:
    """Classes with more than 12 attributes that are no frozen records, nor shapes of answers."""
    return [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name} {len(_attributes(node))}"
        for path, tree in files().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and not _is_frozen(node)
        and _answers().isdisjoint(map(ast.unparse, node.bases))
        and len(_attributes(node)) > MOST_ATTRIBUTES
    ]


def engines() -> list[str]:
    """Files of languages that print, read, check or go through programs."""
    return [
        str(path.relative_to(ROOT))
        for path in files()
        if path.stem in ENGINES and path.parts[-2] != "dialect"
    ]


def cpu(*command: str) -> float:
    """The least CPU seconds of some starts of `stridescope COMMAND`."""
    found = []
    for _ in range(STARTS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "compiler", *command], cwd=ROOT, capture_output=True, check=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return round(min(found), 3)


def counted() -> dict[str, float]:
    """Return the counts of the source texts, by name."""
    return {
        "lines of compiler/ and app/": lines(),
        "files of compiler/ and app/": len(files()),
        "dispatches over four or more node classes": len(dispatches()),
        "tables that rules enter themselves into": len(rule_tables()),
        "files that dispatch": len({one.partition(":")[0] for one in dispatches()}),
        "printers, parsers, verifiers, traversals outside of the engine": len(engines()),
        "classes with more than 12 attributes": len(wide_classes()),
    }


def timed() -> dict[str, float]:
    """CPU seconds of starts."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "one.fut"
        program.write_text("entry main (x: i32) = x + 1\n")
        return {
            "CPU seconds of --help": cpu("--help"),
            "CPU seconds of check on one line": cpu("check", str(program)),
        }


def figures(root: Path) -> dict[str, float]:
    """All figures of a checkout; times of this one alone."""
    global ROOT
    own, ROOT = ROOT, root.resolve()
    return counted() | (timed() if own == ROOT else {})


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description="Count what the structure of the code costs.")
    parser.add_argument("--json", action="store_true", help="as an object")
    parser.add_argument("--list", action="store_true", help="and the places that are counted")
    parser.add_argument("--root", type=Path, default=ROOT, help="another checkout")
    args = parser.parse_args()
    found = figures(args.root)
    if args.json:
        print(json.dumps(found, indent=1))
        return
    for name, value in found.items():
        print(f"{value:>10}  {name}")
    if args.list:
        print(*dispatches(), *engines(), *wide_classes(), sep="\n")


if __name__ == "__main__":
    main()
