"""The language server, as an editor talks to it: the real process over its standard streams."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compiler.__main__ import main

pytest.importorskip("pygls", reason="the extra `lsp` is not installed")
Json = dict[str, Any]
LONGEST = 300.0
"""Seconds for a test, after which the server is killed: a test must end."""
SUMS = "-- | Sums of all.\ndef total [n] (xs: [n]i32): i32 = reduce (+) 0 xs\n"
MAIN = """\
import "lib/sums"

type point = {x: f32, y: f32}
def s = "𝄞" def after (p: point) = p.x -- 𝄞
entry main [n] (xs: [n]i32): i32 = total xs
"""


class Editor:
    """A client that waits for each answer."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "compiler", "lsp"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.folder, self.number = folder, 0
        self.told: list[Json] = []
        """What has come and nobody has asked for yet."""
        self.shown: set[str] = set()
        """The paths of the documents that are open."""
        given = {
            "processId": None,
            "rootUri": None,
            "capabilities": {},
            "workspaceFolders": [named(folder)],
        }
        self.can = self.ask("initialize", given)["result"]["capabilities"]
        self.tell("initialized", {})

    def send(self, *messages: Json) -> None:
        """Write messages in one go, so that the server has them all before it can answer one."""
        bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
        assert self.process.stdin
        self.process.stdin.write(
            b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)
        )
        self.process.stdin.flush()

    def tell(self, method: str, params: Json) -> None:
        self.send({"method": method, "params": params})

    def receive(self) -> Json:
        assert self.process.stdout
        length = 0
        while line := self.process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        assert length, "the server has ended, or says nothing"
        found: Json = json.loads(self.process.stdout.read(length))
        return found

    def begin(self, method: str, params: Json) -> int:
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        return self.number

    def answer(self, number: int) -> Json:
        """The answer to that request; answers may come in any order."""
        while True:
            for one in self.told:
                if one.get("id") == number and "method" not in one:
                    self.told.remove(one)
                    return one
            self.told.append(self.receive())

    def ask(self, method: str, params: Json) -> Json:
        return self.answer(self.begin(method, params))

    def uri(self, path: str) -> str:
        return (self.folder / path).as_uri()

    def open(self, path: str, text: str) -> None:
        document = {"uri": self.uri(path), "languageId": "futhark", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})
        self.shown.add(path)

    def close(self, path: str) -> None:
        self.tell("textDocument/didClose", {"textDocument": {"uri": self.uri(path)}})
        self.shown.remove(path)

    def move(self, folder: Path) -> None:
        """Close all that is open, and go to another folder when the server is at rest."""
        for path in sorted(self.shown):
            self.close(path)
        event = {"added": [named(folder)], "removed": [named(self.folder)]}
        self.tell("workspace/didChangeWorkspaceFolders", {"event": event})
        self.folder = folder
        document = {"textDocument": {"uri": self.uri("main.fut")}}
        self.ask("textDocument/documentSymbol", document)  # waits for its turn, after all others
        self.told.clear()

    def change(
        self, path: str, version: int, start: tuple[int, int], end: tuple[int, int], text: str
    ) -> None:
        document = {"uri": self.uri(path), "version": version}
        one = {"range": {"start": position(start), "end": position(end)}, "text": text}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [one]})

    def at(self, method: str, path: str, place: tuple[int, int], **more: Any) -> Json:
        document = {"uri": self.uri(path)}
        given = {"textDocument": document, "position": position(place), **more}
        return self.ask(f"textDocument/{method}", given)

    def problems(self, path: str) -> list[Json]:
        """The diagnostics of a document that come next."""
        while True:
            for one in self.told:
                params = one.get("params", {})
                if one.get("method") == "textDocument/publishDiagnostics" and params[
                    "uri"
                ] == self.uri(path):
                    self.told.remove(one)
                    found: list[Json] = params["diagnostics"]
                    return found
            self.told.append(self.receive())


def named(folder: Path) -> Json:
    return {"uri": folder.as_uri(), "name": "all"}


def position(place: tuple[int, int]) -> Json:
    return {"line": place[0], "character": place[1]}


def ends(found: Json) -> tuple[int, int, int, int]:
    start, end = found["start"], found["end"]
    return start["line"], start["character"], end["line"], end["character"]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """One server for all tests of this file: most of their time would go into its start."""
    found = Editor(tmp_path_factory.mktemp("empty"))
    yield found
    found.ask("shutdown", {})
    found.tell("exit", {})
    assert found.process.wait(LONGEST) == 0


@pytest.fixture
def editor(started: Editor, tmp_path: Path) -> Iterator[Editor]:
    """The server in a folder of the test's own, with no document open."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/sums.fut").write_text(SUMS)
    (tmp_path / "main.fut").write_text(MAIN)
    limit = threading.Timer(LONGEST, started.process.kill)
    limit.start()
    started.move(tmp_path)
    yield started
    limit.cancel()


def units(text: str, line: int, what: str) -> int:
    """The column of a text in a line, in UTF-16."""
    whole = text.split("\n")[line]
    return len(whole[: whole.index(what)].encode("utf-16-le")) // 2


def test_types_and_declarations_across_files(editor: Editor) -> None:
    editor.open("main.fut", MAIN)
    found = editor.at("hover", "main.fut", (4, MAIN.split("\n")[4].index("total")))["result"]
    assert found["contents"]["value"] == (
        "```futhark\ndef total [n] (xs: [n]i32): i32\n```\n\nSums of all."
    )
    place = (4, MAIN.split("\n")[4].index("total") + 2)
    target = editor.at("definition", "main.fut", place)["result"]
    assert (target["uri"], ends(target["range"])) == (editor.uri("lib/sums.fut"), (1, 4, 1, 9))
    target = editor.at("definition", "main.fut", (0, 9))["result"]
    assert target["uri"] == editor.uri("lib/sums.fut")


def test_columns_count_utf16_units(editor: Editor) -> None:
    editor.open("main.fut", MAIN)
    column = units(MAIN, 3, "p.x")
    found = editor.at("hover", "main.fut", (3, column))["result"]
    assert found["contents"]["value"].startswith("```futhark\np: {x: f32, y: f32}")
    assert ends(found["range"]) == (3, column, 3, column + 1)
    found = editor.at("rename", "main.fut", (3, column), newName="q")["result"]["changes"]
    places = [ends(one["range"]) for one in found[editor.uri("main.fut")]]
    assert places == [
        (3, units(MAIN, 3, "p: "), 3, units(MAIN, 3, "p: ") + 1),
        (3, column, 3, column + 1),
    ]


def test_what_is_not_saved_wins(editor: Editor) -> None:
    editor.open("main.fut", MAIN)
    assert editor.problems("main.fut") == []
    editor.open("lib/sums.fut", SUMS.replace("total", "sums_up"))
    (problem,) = editor.problems("lib/sums.fut") or [None]
    assert problem is None
    editor.change("main.fut", 2, (4, 0), (4, 0), " ")
    (problem,) = editor.problems("main.fut")
    assert "Unknown name `total`" in problem["message"]
    editor.close("lib/sums.fut")
    editor.change("main.fut", 3, (4, 0), (4, 1), "")
    assert editor.problems("main.fut") == []


def test_an_error_in_an_import_stands_at_the_import(editor: Editor) -> None:
    (editor.folder / "lib/sums.fut").write_text("def total = 1 + true\n")
    editor.open("main.fut", MAIN)
    (problem,) = editor.problems("main.fut")
    assert problem["message"].startswith("sums.fut:1:17: ")
    assert ends(problem["range"]) == (0, 7, 0, 17)


def test_a_path_may_have_spaces(editor: Editor) -> None:
    editor.open("my files/a 100%25 b.fut", "def f = nowhere")
    (problem,) = editor.problems("my files/a 100%25 b.fut")
    assert ends(problem["range"]) == (0, 8, 0, 15)
    editor.change("my files/a 100%25 b.fut", 2, (0, 0), (0, 0), "\n")
    (problem,) = editor.problems("my files/a 100%25 b.fut")
    assert ends(problem["range"]) == (1, 8, 1, 15)


def test_typing_is_checked_when_it_rests(editor: Editor) -> None:
    editor.open("main.fut", MAIN)
    for version, letter in enumerate("true", 2):
        editor.change("main.fut", version, (4, 33 + version), (4, 33 + version), letter)
    text = MAIN.replace("= total", "=true total")
    (problem,) = editor.problems("main.fut")
    assert ends(problem["range"])[:2] == (4, 35), text
    assert not [
        one for one in editor.told if one.get("method") == "textDocument/publishDiagnostics"
    ]


def test_both_places_that_disagree_are_told(editor: Editor) -> None:
    editor.open("both.fut", "def f (xs: *[]i32) =\n  let ys = xs with [0] = 1\n  in (xs, ys)\n")
    (problem,) = editor.problems("both.fut")
    assert problem["code"] == "U001"
    (other,) = problem["relatedInformation"]
    assert other["message"] == "`xs` is consumed here."
    assert other["location"]["uri"] == editor.uri("both.fut")
    assert ends(other["location"]["range"]) == (1, 11, 1, 13)


def test_completion_with_types_in_a_text_that_is_not_done(editor: Editor) -> None:
    text = MAIN + "def more (p: point) = 1 + p."
    editor.open("main.fut", text)
    found = editor.at("completion", "main.fut", (5, 28))["result"]["items"]
    assert [(one["label"], one["detail"]) for one in found] == [("x", "x: f32"), ("y", "y: f32")]
    editor.change("main.fut", 2, (5, 26), (5, 28), "to")
    found = editor.at("completion", "main.fut", (5, 28))["result"]["items"]
    total = next(one for one in found if one["label"] == "total")
    assert total["detail"] == "def total [n] (xs: [n]i32): i32"
    assert ends(total["textEdit"]["range"]) == (5, 26, 5, 28)


def test_references_symbols_folding_and_layout(editor: Editor) -> None:
    editor.open("lib/sums.fut", SUMS)
    context = {"includeDeclaration": False}
    found = editor.at("references", "lib/sums.fut", (1, 5), context=context)["result"]
    assert [(one["uri"], ends(one["range"])) for one in found] == [
        (editor.uri("main.fut"), (4, 35, 4, 40))
    ]
    document = {"textDocument": {"uri": editor.uri("lib/sums.fut")}}
    (symbol,) = editor.ask("textDocument/documentSymbol", document)["result"]
    assert (symbol["name"], ends(symbol["selectionRange"])) == ("total", (1, 4, 1, 9))
    assert editor.ask("textDocument/foldingRange", document)["result"] == []
    options = {"tabSize": 4, "insertSpaces": True}
    (edit,) = editor.ask("textDocument/formatting", {**document, "options": options})["result"]
    assert edit["newText"] == SUMS.replace("): i32", ") : i32")


def test_a_name_that_cannot_be_is_refused_with_a_reason(editor: Editor) -> None:
    editor.open("main.fut", MAIN)
    answer = editor.at("rename", "main.fut", (4, 36), newName="xs")
    assert "would change" in answer["error"]["message"]
    answer = editor.at("prepareRename", "main.fut", (4, 21))
    assert answer["result"] is not None
    editor.open("lib/sums.fut", SUMS)
    answer = editor.at("prepareRename", "lib/sums.fut", (1, units(SUMS, 1, "reduce")))
    assert "the language's library" in answer["error"]["message"]


def test_a_hint_is_a_change(editor: Editor) -> None:
    editor.open("main.fut", MAIN.replace("total xs", "totl xs"))
    problems = editor.problems("main.fut")
    given = {
        "textDocument": {"uri": editor.uri("main.fut")},
        "range": problems[0]["range"],
        "context": {"diagnostics": problems},
    }
    (action,) = editor.ask("textDocument/codeAction", given)["result"]
    assert action["title"] == "Change to `total`"
    (edit,) = action["edit"]["changes"][editor.uri("main.fut")]
    assert (edit["newText"], ends(edit["range"])) == ("total", (4, 35, 4, 39))


def test_what_is_cancelled_is_not_answered(editor: Editor) -> None:
    """The first request takes long: the others are cancelled before their turn."""
    editor.open("main.fut", MAIN + "".join(f"def f{i} = i64.sum [{i}]\n" for i in range(3_000)))
    document = {"textDocument": {"uri": editor.uri("main.fut")}, "position": position((4, 36))}
    ask: Json = {"method": "textDocument/completion", "params": document}
    numbers = range(editor.number + 1, editor.number + 6)
    cancelled, editor.number = numbers[1:], numbers[-1]
    editor.send(
        *({"id": number, **ask} for number in numbers),
        *({"method": "$/cancelRequest", "params": {"id": number}} for number in cancelled),
    )
    answers = [editor.answer(number) for number in numbers]
    assert "result" in answers[0]
    assert [answer["error"]["code"] for answer in answers[1:]] == [-32800] * 4


def test_flatpack_has_shapes_and_a_library(editor: Editor) -> None:
    text = "main (xs : n Of m) =\n  let ys = tail xs in\n  sum ys + sum (hed xs)\n"
    editor.open("a.fp", text)
    (problem,) = editor.problems("a.fp")
    assert (problem["code"], ends(problem["range"])) == ("P002", (2, 16, 2, 19))
    editor.change("a.fp", 2, (2, 16), (2, 19), "head")
    assert editor.problems("a.fp") == []
    found = editor.at("hover", "a.fp", (1, 6))["result"]["contents"]["value"]
    assert found == "```flatpack\nys : n - 1 Of m  -- f64\n```"
    target = editor.at("definition", "a.fp", (1, 12))["result"]
    library = Path(urllib.parse.urlparse(target["uri"]).path)
    line = library.read_text().split("\n")[target["range"]["start"]["line"]]
    assert line.startswith("tail a = ")
    found = editor.at("completion", "a.fp", (2, 5))["result"]["items"]
    assert {"ys", "xs", "n", "sum", "size"} <= {one["label"] for one in found}
    document = {"textDocument": {"uri": editor.uri("a.fp")}}
    (symbol,) = editor.ask("textDocument/documentSymbol", document)["result"]
    assert symbol["name"] == "main"
    editor.change("a.fp", 3, (2, 2), (2, 2), "    ")
    options = {"tabSize": 4, "insertSpaces": True}
    (edit,) = editor.ask("textDocument/formatting", {**document, "options": options})["result"]
    assert "\n    sum ys" in edit["newText"]


def test_it_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert main(["lsp"]) == 2
    assert "stridescope[lsp]" in capsys.readouterr().err
