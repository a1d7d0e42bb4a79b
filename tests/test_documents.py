"""What README and `docs/` say: links and commands work, lists are whole, numbers are the code's."""

import importlib.util
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, get_args

import pytest

from app import create_app, fair_queue, gallery, intake, link_contents, pool, server
from app.jobs import OPS
from app.links import parser as links_parser
from app.version import compiler_version
from compiler.__main__ import main
from compiler.base.errors import CompileError, ErrorKind
from compiler.command_line.parser import parser
from compiler.driver import api, checking
from compiler.driver.pipeline import STAGES
from compiler.explain import lifetimes
from compiler.frontend.lint.unused import ATTRIBUTES
from compiler.parallel import attributes
from compiler.protocol.fields import fields
from compiler.protocol.kinds import Own
from compiler.protocol.operations import OPERATIONS
from compiler.protocol.programs import CheckRequest, ShowRequest
from compiler.protocol.runs import RunRequest
from compiler.runtime import libraries, runner
from docs.screenshots import PICTURES

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "tests" / "README.md"]
)
TEXTS = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in DOCUMENTS}
EXAMPLES = sorted((ROOT / "app" / "examples").glob("*.fut"))
FILES = [
    f"/{path.relative_to(ROOT).as_posix()}"
    for folder in (
        "app",
        "bench",
        "compiler",
        "docs",
        "findings",
        "static",
        "templates",
        "testing",
        "tests",
    )
    for path in (ROOT / folder).rglob("*.*")
    if "__pycache__" not in path.parts
] + [f"/{path.name}" for path in ROOT.iterdir()]

each = pytest.mark.parametrize("name", TEXTS)


def flat(name: str) -> str:
    return " ".join(TEXTS[name].split())


def code_lines(name: str) -> list[str]:
    """Indented lines, without the comments behind them."""
    lines = re.findall(r"^    (\S.*)$", TEXTS[name], re.M)
    return [line.partition("  #")[0].strip() for line in lines]


# --- links, paths, commands ------------------------------------------------------------------


def anchors(text: str) -> set[str]:
    """The names of a document's titles."""
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@each
def test_links_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", TEXTS[name]):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        path = (ROOT / name).parent / file if file else ROOT / name
        assert path.exists(), target
        assert not anchor or anchor in anchors(path.read_text("utf-8")), target


def test_every_picture_is_shown_and_made_anew_unless_it_is_said_to_stay() -> None:
    there = set((ROOT / "docs").rglob("*.png"))
    texts = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {
        text.parent / file
        for text in texts
        for file in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text.read_text("utf-8"))
    }
    walks = ROOT / "docs" / "walks"
    stay = re.findall(r"`([\w-]+\.png)`", (walks / "README.md").read_text("utf-8"))
    made = {ROOT / "docs" / one.file for one in PICTURES}
    assert shown == there
    assert made == there - {walks / file for file in stay}


def test_all_findings_are_listed() -> None:
    told = re.findall(
        r"^\| `([\w.-]+)` \|", (ROOT / "findings" / "README.md").read_text("utf-8"), re.M
    )
    assert told == sorted(path.name for path in (ROOT / "findings").glob("*.sh"))


@pytest.mark.parametrize("name", sorted(TEXTS.keys() - {"docs/thesis.md"}))  # has its own test
def test_files_that_are_named_exist(name: str) -> None:
    for path in re.findall(r"`([\w./-]+\.(?:py|md|ts|css|fut|lark|cases|json|html))`", TEXTS[name]):
        if path in MADE_UP:
            continue
        assert any(file.endswith(f"/{path}") for file in FILES), path


MADE_UP = {
    "app/examples/my_sum.fut",
    "a.fut",
    "b.fut",
    "c.fut",
    "sums.fut",
    "app/examples/name.fut",
    "lib/sums.fut",
    "page.css",
}
"""A name to fill in; what is built."""


@each
def test_commands_are_taken(name: str) -> None:
    for line in code_lines(name):
        for command in re.findall(r"(?:^|\| )stridescope (.*)$", line):
            given = shlex.split(re.split(r" [<>|] ", command)[0], comments=True)
            if given[0] == "links":
                links_parser().parse_args(given[1:])
            elif given[0] != "serve":  # the server's own parser has that
                parser().parse_args(given)
    for module in re.findall(r"python -m ([\w.]+)", TEXTS[name]):
        assert importlib.util.find_spec(module), module


def test_every_command_is_in_the_readme() -> None:
    (commands,) = re.findall(r"\{([\w,]+)\}", parser().format_usage()) or [""]
    names = commands.split(",") if commands else sorted(_commands())
    said = set(re.findall(r"stridescope (\w+)", TEXTS["README.md"]))
    assert set(names) <= said


def _commands() -> set[str]:
    (action,) = [one for one in parser()._actions if one.dest == "command"]
    return set(action.choices or ())


# --- CONTRIBUTING, CHANGELOG -----------------------------------------------------------------


def test_the_first_change_that_is_told_is_right(tmp_path: Path) -> None:
    lines = re.findall(r"^    (.*)$", TEXTS["CONTRIBUTING.md"], re.M)
    first = lines.index("-- My sum")
    program = tmp_path / "my_sum.fut"
    program.write_text("\n".join(lines[first : first + 8]))
    assert gallery.parse("my_sum", program.read_text()).title == "My sum"
    assert main(["test", str(program), "--backend", "ref"]) == 0


def test_the_version_is_one_and_its_changes_are_told() -> None:
    written = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert compiler_version().startswith(f"{written}+")
    assert f"\n## {written}" in TEXTS["CHANGELOG.md"]
    page = json.loads((ROOT / "package.json").read_text("utf-8"))["version"]
    assert page.replace("-", "") == written, "npm writes it with a dash"


# --- README ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_line_up_to_the_imperative_code_is_linked(path: Path) -> None:
    stages = api.show(ShowRequest(path.read_text("utf-8")))["stages"]
    for name in stages.keys() - {"c", "cuda"}:
        for line in stages[name]["lines"]:
            text = line["text"].strip()
            assert line["src"] or not text or text.startswith("--"), f"{name}: {text}"
    for name in ("c", "cuda"):
        assert linked(stages["imp"]) <= linked(stages[name]), name


def linked(stage: dict[str, Any]) -> set[tuple[int, ...]]:
    """The places in the source that lines of a stage show."""
    return {tuple(span) for line in stage["lines"] for span in line["src"]}


# --- docs/language.md ------------------------------------------------------------------------


def test_what_is_not_known_yet_is_refused_at_its_place() -> None:
    """Nothing is left; a row that says so again needs a program here that is refused."""
    rows = re.findall(r"^\| (.*?) \| (.*) \|$", TEXTS["docs/language.md"], re.M)
    assert len(rows) > 10
    assert [part for part, state in rows if state.startswith("not yet")] == []


def test_the_attributes_are_listed() -> None:
    (row,) = re.findall(r"^\| attributes \| (.*) \|$", TEXTS["docs/language.md"], re.M)
    deciding = set(re.findall(r"`(\w+)`", row.partition("decide what")[0]))
    assert deciding == {*attributes.SEQUENTIAL, *attributes.VERSIONS}
    for name, warned in [*((one, 0) for one in sorted(ATTRIBUTES)), ("unheard_of", 1)]:
        source = f"entry main (xs: []i32) = #[{name}] map (+1) xs"
        assert len(checking.check(CheckRequest(source))["warnings"]) == warned
    source = "entry main (xs: []i32) (i: i64) = #[unsafe] xs[i]"
    texts = [
        api.show(ShowRequest(source, {"unsafe": unsafe}, stages=["merged"]))["stages"]["merged"][
            "text"
        ]
        for unsafe in (False, True)
    ]
    assert ["out of bounds" in text for text in texts] == [True, False]


def test_no_function_may_be_the_result_of_a_choice_or_an_element() -> None:
    for body in (
        "(if b then (\\x -> x + 1i32) else (\\x -> x)) 1",
        "(loop f = (\\x -> x + 1i32) for i < 3 do f) 1",
        "[\\(x: i32) -> x][0] 1",
    ):
        with pytest.raises(CompileError, match="function") as refused:
            checking.check(CheckRequest(f"entry main (b: bool) = {body}"))
        assert "choose a number or a variant" in refused.value.hint
        assert refused.value.span.line == 1


PRIMS = {
    "i": "i8 i16 i32 i64".split(),
    "u": "u8 u16 u32 u64".split(),
    "f": "f16 f32 f64".split(),
    "b": ["bool"],
}
CONVERSIONS = "i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 bool".split()
NUMERIC = (
    "+ - * / % ** == < > <= >= != neg max min abs sgn highest lowest sum product maximum minimum "
    "to_i64"
).split()
INTEGRAL = (
    "// %% & | ^ << >> >>> not num_bits get_bit set_bit popc mul_hi mad_hi clz ctz i64 "
).split()
REAL = (
    "from_fraction to_i64 to_f64 sqrt rsqrt cbrt exp exp2 exp10 log log2 log10 log1p sin cos "
    "tan asin acos atan sinh cosh tanh asinh acosh atanh sinpi cospi tanpi asinpi acospi atanpi "
    "atan2 atan2pi hypot gamma lgamma erf erfc lerp fma mad ceil floor trunc round isinf isnan inf "
    "nan pi e epsilon to_bits from_bits num_bits get_bit set_bit copysign nextafter ldexp"
).split()


@pytest.mark.parametrize("kind", PRIMS)
def test_the_modules_of_numbers_have_the_names_of_futhark(kind: str) -> None:
    names = {"i": NUMERIC + INTEGRAL, "u": NUMERIC + INTEGRAL, "f": NUMERIC + REAL, "b": []}[kind]
    for prim in PRIMS[kind]:
        lines = []
        for number, name in enumerate(dict.fromkeys([*CONVERSIONS, *names])):
            value = f"{prim}.{name}" if name[0].isalpha() else f"({prim}.{name})"
            lines.append(f"def name_{number} = {value}")
        checking.check(CheckRequest("\n".join([*lines, "entry main = 1i32"])))


@pytest.mark.parametrize("backend", ["ref", "c"])
def test_floats_become_whole_numbers_as_is_said(backend: str) -> None:
    if backend == "c" and not runner.compiler_available():
        pytest.skip("there is no C compiler")
    cases = {
        "u8.f32 (-1 * x)": "255u8",
        "i8.f32 (200 * x)": "-56i8",
        "i32.f64 (-1.9 * y)": "-1i32",
        "i32.f32 (x * 1e20)": "-2147483648i32",
        "i64.f32 (x * 1e30)": "-9223372036854775808i64",
        "i64.f64 (-y * 1e300)": "-9223372036854775808i64",
        "i32.f32 (x / 0)": "0i32",
        "i32.f32 (x * f32.nan)": "0i32",
        "i64.f64 (-y / 0)": "0i64",
        "u32.f32 (3e9 * x)": "3000000000u32",
        "u64.f64 (1.2e19 * y)": "12000000000000000000u64",
    }
    source = f"entry main (x: f32) (y: f64) = ({', '.join(cases)})"
    answer = api.run(RunRequest(source, entry="main", input="1f32 1f64", backend=backend))
    assert answer["output"].split() == list(cases.values())


# --- docs/server.md --------------------------------------------------------------------------


def test_the_server_does_not_hold_the_compiler() -> None:
    program = "import sys; import app; app.create_app({'WARM': False}); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    loaded = {name for name in done.stdout.split() if name.startswith("compiler.")}
    light = tuple(f"compiler.{one}" for one in "base codes protocol public sandbox".split())
    assert not [name for name in loaded if not name.startswith(light)]


def test_the_routes_are_listed_with_what_the_server_does_not_take() -> None:
    table = TEXTS["docs/server.md"].partition("## JSON routes")[2].partition("\n\nWith")[0]
    listed = set(re.findall(r"`(?:GET|POST) (/api/[\w.]+)`", table))
    rules = {rule.rule for rule in create_app({"WARM": False}).url_map.iter_rules()}
    here = {rule for rule in rules if rule.startswith("/api/") and "<" not in rule} - {"/api/"}
    assert listed == here
    (row,) = (row for row in table.splitlines() if "<operation>" in row)
    but_for, _, own = row.partition("but for ")[2].partition(";")
    assert set(re.findall(r"`(\w+)`", but_for)) == OPERATIONS.keys() - OPS.keys()
    kept = {n for op in OPS.values() for n, one in fields(op.request).items() if one.has(Own)}
    assert set(re.findall(r"`(\w+)`", own)) == kept
    streams = [name for name, op in OPS.items() if op.partial]
    assert f"`{streams[0]}`, `{streams[1]}` and what runs programs send events" in flat(
        "docs/server.md"
    )


def test_the_kinds_of_errors_that_are_the_servers_own_are_listed() -> None:
    text = "".join(path.read_text("utf-8") for path in (ROOT / "app").glob("*.py"))
    used = set(re.findall(r"(?:AppError|failure)\(\s*\"(\w+)\"", text))
    used |= set(re.findall(r"failure\(\"(\w+)\" if", text))
    said = set(re.findall(r"`(\w+)` \(", flat("docs/server.md").partition("the kinds ")[2][:300]))
    protocol = set(get_args(ErrorKind)) - {"usage"}
    assert used - protocol == said


PHRASES = {
    "docs/server.md": [
        f"At most {intake.INCOMING_LIMIT} requests and {intake.INCOMING_BYTES >> 20} MB may be",
        f"of the {intake.CONNECTIONS} connections",
        f"A client that reads nothing for {'ten' * (intake.SOCKET_SECONDS == 10)} seconds",
        f"counts as {'thirty' * (fair_queue.PAGES == 30)} pages",
        f"stopped counts {'ten' * (fair_queue.STOPPED == 10)} times",
        f"and {'one second' * (pool.GRACE == 1.0)} after its client has closed",
        f"for {'two seconds' * (server.GRACE == 2.0)}, and stops the rest",
        f"up to {libraries.MOST_BYTES >> 20} MB, those used last",
        f"the cells of the first {link_contents.PICTURES} pairs",
        f"for sizes of {lifetimes.PROPOSED_SIZE}",
    ],
    "docs/protocol.md": [
        f"get {lifetimes.PROPOSED_SIZE} as sizes of arguments, else {lifetimes.PROPOSED_OTHER}",
    ],
}


@pytest.mark.parametrize("name", PHRASES)
def test_numbers_are_those_of_the_code(name: str) -> None:
    text = flat(name)
    for phrase in PHRASES[name]:
        assert phrase in text


# --- the page's own code ---------------------------------------------------------------------

SCRIPTS = {path: path.read_text("utf-8") for path in (ROOT / "static" / "src").rglob("*.ts")}
CALLS = re.compile(r"\b(?:fetch|EventSource|XMLHttpRequest|sendBeacon|WebSocket)\(")


def test_one_file_calls_the_server() -> None:
    assert {path.name for path, text in SCRIPTS.items() if CALLS.search(text)} == {"client.ts"}


def test_the_page_waits_as_long_as_is_said() -> None:
    script = SCRIPTS[ROOT / "static" / "src" / "compile.ts"]
    ((least, most),) = re.findall(r"LEAST_QUIET, MOST_QUIET\] = \[(\d+), (\d+)\]", script)
    (apart,) = re.findall(r"const APART = (\d+)", script)
    (ahead,) = re.findall(r"const AHEAD = (\d+)", script)
    assert int(ahead) + 60_000 / int(apart) < 300  # what a page may ask for in a minute
    said = flat("docs/server.md")
    assert f"beyond {ahead} requests ahead" in said
    assert f"{least} to {most} ms after the last key" in said
    assert f"{apart} ms after the last request" in said


def test_the_pane_of_a_stage_knows_no_stage() -> None:
    text = SCRIPTS[ROOT / "static" / "src" / "panes" / "stage.ts"]
    assert not [stage.id for stage in STAGES if re.search(rf"""["'`]{stage.id}["'`]""", text)]


def test_all_colours_are_in_one_file() -> None:
    colour = re.compile(r"#[0-9a-fA-F]{3,8}\b|\b(?:rgba?|hsla?|oklch|lab)\(")
    for path in (ROOT / "static" / "css").glob("*.css"):
        if path.name != "tokens.css":
            assert not colour.search(path.read_text("utf-8")), path.name
