"""The shape of the code: who may import whom, and that every file says what it is for."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
COMPILER = ROOT / "compiler"
FILES = sorted([*COMPILER.rglob("*.py"), *(ROOT / "app").rglob("*.py")])
ORDER = (
    "base codes protocol algebra frontend dialect ir semantics analysis lower optimise derive "
    "parallel storage codegen sandbox runtime explain driver testing notebooks classroom editor "
    "command_line public"
).split()
APP_MAY_USE = "codes protocol public sandbox".split()
CHECKER = COMPILER / "frontend" / "check"
ROOMS = "types scope definitions expressions modules consumption finish".split()
"""The folders of the type checker, in the same sense."""
LONGEST = 700
ALONE = "compiler/algebra/checker.py", 800
"""A file that runs without the product cannot be split: it may have more lines, and so many."""
LATE = {
    ("app/__init__.py", "flask"): "only the types are checked with it; `serve --help` needs none",
    (
        "compiler/public/__init__.py",
        "compiler.public.library",
    ): "for types alone",
    ("compiler/sandbox/enter.py", "numpy"): "tries whether it can be read from within the walls",
    ("compiler/sandbox/enter.py", "socket"): "every confined process starts with this file",
}
"""Imports that are not at the top of their file, and why."""


@cache
def tree_of(path: Path) -> ast.Module:
    """What is in a file, read once."""
    return ast.parse(path.read_text("utf-8"))


@cache
def imports(path: Path) -> list[str]:
    """The full names of all modules of ours that a file imports, at whatever depth."""
    found: list[str] = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return [name for name in found if name.split(".")[0] in ("compiler", "app")]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_the_folders_of_the_compiler_are_the_pipeline_in_order() -> None:
    folders = {d.name for d in COMPILER.iterdir() if (d / "__init__.py").exists()}
    assert folders == set(ORDER)
    tour = (COMPILER / "__init__.py").read_text("utf-8")
    assert re.findall(r"^    (\w+)/ ", tour, re.M) == ORDER


def wrong_imports(path: Path) -> Iterator[str]:
    """What a file imports that its folder may not."""
    parts = path.relative_to(ROOT).parts
    here = parts[1] if len(parts) > 2 else ""
    for name in imports(path):
        target = name.split(".")
        if parts[0] == "app":
            if target[0] != "app" and target[1] not in APP_MAY_USE:
                yield f"app/ may use {APP_MAY_USE} of the compiler, not {name}"
        elif target[0] == "app":
            yield f"compiler/ may not use {name}"
        elif (
            here
            and name != "compiler.__main__.main"
            and target[1] not in ORDER[: ORDER.index(here) + 1]
        ):
            yield f"{here}/ may not use {name}"


def test_a_folder_imports_only_itself_and_folders_before_it() -> None:
    assert [f"{relative(path)}: {why}" for path in FILES for why in wrong_imports(path)] == []


def test_the_rooms_of_the_checker_are_in_the_order_of_imports() -> None:
    folders = {d.name for d in CHECKER.iterdir() if (d / "__init__.py").exists()}
    assert folders == set(ROOMS)
    assert re.findall(r"^    (\w+)/ ", (CHECKER / "__init__.py").read_text("utf-8"), re.M) == ROOMS
    for here, room in enumerate(ROOMS):
        for path in (CHECKER / room).glob("*.py"):
            names = [n.split(".") for n in imports(path) if n.startswith("compiler.frontend.check")]
            for name in names:
                assert name[3] in ROOMS[: here + 1], f"{room}/ may not use {'.'.join(name)}"


def dependencies() -> dict[str, set[str]]:
    """Which files of ours a file imports, under `TYPE_CHECKING` and inside functions as well."""
    files = {relative(path).removesuffix(".py").replace("/", "."): path for path in FILES}
    files = {name.removesuffix(".__init__"): path for name, path in files.items()}
    found: dict[str, set[str]] = {}
    for module, path in files.items():
        names = [name if name in files else name.rpartition(".")[0] for name in imports(path)]
        found[module] = {name for name in names if name in files and name != module}
    return found


def a_cycle(graph: dict[str, set[str]]) -> list[str]:
    """Nodes of a graph each of which leads to the next, and the last to the first; [] if none."""
    done: set[str] = set()
    path: list[str] = []

    def search(node: str) -> list[str]:
        if node in path:
            return path[path.index(node) :]
        if node in done:
            return []
        path.append(node)
        for after in sorted(graph[node]):
            if found := search(after):
                return found
        done.add(path.pop())
        return []

    return next((found for node in graph if (found := search(node))), [])


def test_a_cycle_is_found() -> None:
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": set(), "d": {"e"}, "e": {"b"}}
    assert a_cycle(graph) == ["b", "d", "e"]
    assert a_cycle({**graph, "e": {"c"}}) == []


def test_no_file_imports_itself_through_others() -> None:
    assert a_cycle(dependencies()) == []


APART = {"tests": "bench", "bench": "tests", "testing": "tests bench app"}
"""Who may not import whom. Benchmarks may start the server, what they share with tests may not."""


@pytest.mark.parametrize("folder", APART)
def test_tests_and_benchmarks_share_only_what_is_in_testing(folder: str) -> None:
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(tree_of(path)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                found = name.split(".")[0]
                assert found not in APART[folder].split(), f"{relative(path)} imports {name}"


def test_imports_stand_at_the_top() -> None:
    late: set[tuple[str, str]] = set()
    for path in FILES:
        tree = tree_of(path)
        for node in set(ast.walk(tree)) - set(tree.body):
            if isinstance(node, ast.ImportFrom):
                late.add((relative(path), str(node.module)))
            elif isinstance(node, ast.Import):
                late |= {(relative(path), alias.name) for alias in node.names}
    assert late == set(LATE)


def test_a_file_says_what_it_is_for() -> None:
    assert [relative(path) for path in FILES if not ast.get_docstring(tree_of(path))] == []


def test_a_file_fits_in_the_head() -> None:
    """Split a longer one by concept."""
    lengths = {relative(path): path.read_text("utf-8").count("\n") for path in FILES}
    most = dict([ALONE])
    assert {name: n for name, n in lengths.items() if n > most.get(name, LONGEST)} == {}


def public(path: Path) -> list[ast.FunctionDef | ast.ClassDef]:
    """The public functions and classes of a file."""
    found = [n for n in tree_of(path).body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    return [node for node in found if not node.name.startswith("_")]


def test_public_functions_and_classes_have_docstrings() -> None:
    without = [f"{relative(p)}: {n.name}" for p in FILES for n in public(p) if not told(n)]
    assert without == []


def told(node: ast.FunctionDef | ast.ClassDef) -> str:
    """Its docstring, or nothing."""
    return ast.get_docstring(node) or ""


TOLD = (
    "Failed InputError Limitation Mismatch NoWindow Refused RuntimeError_ SyntaxError_ TypeError_"
)
TOLD += " UsageError"
"""Errors that somebody catches, or reads."""


def raised(node: ast.FunctionDef) -> set[str]:
    """The classes of errors that a function raises by itself, but what its inner functions do."""
    found: set[str] = set()
    pending: list[ast.AST] = list(node.body)
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Raise) and isinstance(part.exc, ast.Call):
            found.add(ast.unparse(part.exc.func).rpartition(".")[2])
        if not isinstance(part, ast.FunctionDef | ast.ClassDef):
            pending += ast.iter_child_nodes(part)
    return found


def methods(path: Path) -> Iterator[ast.FunctionDef]:
    """The public functions of a file, and those of its public classes."""
    for node in public(path):
        for one in [node, *(node.body if isinstance(node, ast.ClassDef) else ())]:
            if isinstance(one, ast.FunctionDef) and one.name[0] != "_":
                yield one


def test_public_functions_tell_their_errors() -> None:
    silent = [
        f"{relative(path)}: {node.name}"
        for path in FILES
        for node in methods(path)
        if raised(node) & set(TOLD.split()) and not re.search("Errors?_?\\b|[Rr]aise", told(node))
    ]
    assert silent == []


MORE = sorted(path for folder in ("bench", "testing") for path in (ROOT / folder).rglob("*.py"))
"""Files outside of the product whose docstrings are statements as well."""


def docstrings(path: Path) -> Iterator[str]:
    """Yield the docstrings of a file, those behind names included."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)


def test_docstrings_begin_with_no_question_word() -> None:
    """They are statements: `Return ..`, `True if ..`."""
    question = re.compile(r"(What|Whether|Which|How|Who|Whose|Why)\b")
    found = [
        f"{relative(path)}: {text.partition(chr(10))[0]}"
        for path in [*FILES, *MORE]
        for text in docstrings(path)
        if question.match(text)
    ]
    assert found == []


def test_comments_of_the_page_begin_with_no_question_word() -> None:
    question = re.compile(r" */\*\* (What|Whether|Which|How)\b")
    found = [
        f"{relative(path)}: {line.strip()}"
        for path in sorted((ROOT / "static" / "src").rglob("*.ts"))
        for line in path.read_text("utf-8").splitlines()
        if question.match(line)
    ]
    assert found == []


LANGUAGES = (
    "frontend/ast.py frontend/typed.py frontend/types.py ir/array_nodes.py ir/nodes.py "
    "ir/scalar_nodes.py codegen/imp/nodes.py codegen/kernels/nodes.py frontend/flatpack/syntax.py "
    "frontend/flatpack/terms.py"
).split()
"""Their classes are called as the constructs are, of which several languages have the same."""


def test_no_two_classes_share_a_name() -> None:
    """But those of languages, shapes of answers (`protocol/`), and private ones of a file."""
    homes: dict[str, set[str]] = {}
    for path in FILES:
        home = str(path.relative_to(COMPILER)) if path.is_relative_to(COMPILER) else relative(path)
        if home in LANGUAGES or home.startswith("protocol/"):
            continue
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, set()).add(home)
    assert {name for name, found in homes.items() if len(found) > 1} == set()


COPIES = {
    "ir/scalar_nodes.py": r'\bLit\([01], "i64"\)|\bLit\((?:True|False), "bool"\)',
    "ir/types.py": r"\bVar\((\w+)\.name, \1\.type\.prim\)\s+if\b|\bArray\((?:\w+\.)?prim, \w+\) if",
    "ir/build.py": r"\bDimSlice\((?:ir\.)?ZERO, \w+, (?:ir\.)?ONE\)",
}
"""What may be written in one file only, which gives it a name."""


@pytest.mark.parametrize("home", COPIES)
def test_what_has_a_name_is_written_once(home: str) -> None:
    found = [p for p in COMPILER.rglob("*.py") if re.search(COPIES[home], p.read_text("utf-8"))]
    assert found == [COMPILER / home]


def test_dataclasses_are_those_that_are_cheap_to_make() -> None:
    theirs = re.compile(r"from dataclasses import .*\bdataclass\b|@dataclasses\.")
    found = {p for p in COMPILER.rglob("*.py") if theirs.search(p.read_text("utf-8"))}
    assert found == {COMPILER / "base" / "dataclass.py"}


READS_NAMES = re.compile(r"_\\d|_\(\\d|>=|\\\)\\/\\\(|\\\*\\\*|\\\)\\\}")
"""What a pattern over names with tags, inequalities, quotients, powers or LMADs has in it."""
PROGRAM_TEXT = {
    "static/src/numbers.ts": "hides the numbers of names where they tell apart nothing",
    "static/src/diff.ts": "compares lines of stages, whatever the numbers of their names",
    "static/src/arithmetic.ts": "reads sizes in types, as the author of the program wrote them",
    "static/src/proof/words.ts": "reads assumptions that somebody types",
}


def test_nothing_reads_names_or_polynomials_out_of_printed_text() -> None:
    """Answers have them as data (`compiler/protocol/polynomials.py`)."""
    found = set()
    for path in sorted([*(ROOT / "static" / "src").rglob("*.ts"), *(ROOT / "app").rglob("*.py")]):
        for line in path.read_text("utf-8").splitlines():
            patterns = re.findall(r"(?<![\w)\]*/])/(?![/* ])(?:[^/\\\n]|\\.)+/[dgimsuy]*", line)
            if path.suffix == ".py":
                patterns = [line] if "re.compile(" in line else []
            if any(READS_NAMES.search(pattern) for pattern in patterns):
                found.add(relative(path))
    assert found == set(PROGRAM_TEXT)
