"""Settings: one list, which `--help`, the documents and the server have alike."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.settings import (
    PREFIX,
    SETTINGS,
    Setting,
    check,
    from_environment,
    markdown,
    public_address,
)
from app.version import compiler_version

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "docs" / "server.md"
NAMES = {f"{PREFIX}{setting.name}" for setting in SETTINGS}


def said_by(command: list[str]) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return done.stdout


@pytest.mark.parametrize("command", [["compiler", "serve", "--help"], ["app", "--help"]])
def test_help_lists_every_setting_with_its_meaning(command: list[str]) -> None:
    text = said_by(command)
    assert set(re.findall(rf"{PREFIX}\w+", text)) == NAMES
    flat = " ".join(text.split())
    for setting in SETTINGS:
        assert setting.help in flat


def test_the_documents_list_every_setting(request: pytest.FixtureRequest) -> None:
    """`pytest --update` writes the table."""
    head, title, rest = SERVER.read_text("utf-8").partition("## Settings\n")
    intro, *_ = rest.lstrip("\n").split("\n\n")
    after = rest.partition("\n## ")[2]
    text = f"{head}{title}\n{intro}\n\n{markdown()}\n\n## {after}"
    if request.config.getoption("--update"):
        SERVER.write_text(text, "utf-8")
    assert SERVER.read_text("utf-8") == text


@pytest.mark.parametrize(
    "name", ["README.md", "SECURITY.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]
)
def test_documents_name_only_settings_that_there_are(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert set(re.findall(rf"\b{PREFIX}[A-Z_]+", text)) <= NAMES
    quoted = set(re.findall(r"`([A-Z]+_[A-Z_]+)`", text)) if name == "docs/server.md" else set()
    assert {f"{PREFIX}{one}" for one in quoted if not one.startswith((PREFIX, "PR_"))} <= NAMES


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_setting_is_used(setting: Setting) -> None:
    """By its name, or as one of a family: `f"LIMIT_{..}"`, `f"{..}_SECONDS"`."""
    words = setting.name.split("_")
    family = [rf'f"{words[0]}_\{{', rf'\}}_{"_".join(words[1:])}"']
    files = {path.name: path.read_text("utf-8") for path in (ROOT / "app").glob("*.py")}
    files["settings.py"] = files["settings.py"].partition("def from_environment")[2]
    text = "".join(files.values())
    assert f'"{setting.name}"' in text or any(re.search(one, text) for one in family)


def test_a_setting_comes_from_the_environment_and_a_wrong_one_is_named() -> None:
    assert from_environment({"STRIDESCOPE_QUEUE_LIMIT": "7"})["QUEUE_LIMIT"] == 7
    assert from_environment({})["QUEUE_LIMIT"] == 100
    with pytest.raises(ValueError, match="STRIDESCOPE_QUEUE_LIMIT must be int"):
        from_environment({"STRIDESCOPE_QUEUE_LIMIT": "many"})
    with pytest.raises(ValueError, match="STRIDESCOPE_QUEUE_LIMIT must be at least 0"):
        check({**from_environment({}), "QUEUE_LIMIT": -1})


def test_the_command_says_exactly_which_version_it_is() -> None:
    for command in (["compiler", "--version"], ["compiler", "serve", "--version"]):
        assert said_by(command) == f"stridescope {compiler_version()}\n"


def test_arguments_that_serving_does_not_have_are_wrong_usage() -> None:
    for arguments in (["--nothing"], ["--port", "x"], ["more"]):
        command = [sys.executable, "-m", "compiler", "serve", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        assert done.returncode == 2
        assert "usage: stridescope serve" in done.stderr


def test_wrong_usage_of_the_server_is_told_before_anything_is_imported() -> None:
    command = [sys.executable, "-m", "compiler", "serve", "--nothing"]
    env = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=env)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "app.settings" in imported
    assert imported.isdisjoint(
        {"app.factory", "compiler.driver.api", "compiler.driver.worker", "flask"}
    )


@pytest.mark.parametrize(
    ("config", "listens", "address"),
    [
        ({}, "127.0.0.1:8000", "http://127.0.0.1:8000"),
        ({}, "[::1]:8000", "http://[::1]:8000"),
        ({}, "0.0.0.0:8000", ""),
        ({}, "", ""),
        ({"HOSTS": "a.example, b.example"}, "0.0.0.0:8000", "http://a.example:8000"),
        ({"HOSTS": ".example, a.example", "PROXIES": 1}, "127.0.0.1:80", "https://a.example"),
        ({"HOSTS": ".example", "PROXIES": 1}, "0.0.0.0:8000", ""),
        ({"HOSTS": "a.example", "ADDRESS": "http://b:1"}, "0.0.0.0:8000", "http://b:1"),
    ],
)
def test_the_address_is_the_one_that_is_set_or_follows_from_the_names(
    config: dict[str, Any], listens: str, address: str
) -> None:
    assert public_address({**from_environment({}), **config}, listens) == address


@pytest.mark.parametrize("wrong", ["a.example", "http://a/b", "ftp://a", "http://a b", "http://"])
def test_an_address_has_a_scheme_and_no_path(wrong: str) -> None:
    with pytest.raises(ValueError, match="STRIDESCOPE_ADDRESS must be like"):
        check({**from_environment({}), "ADDRESS": wrong})
