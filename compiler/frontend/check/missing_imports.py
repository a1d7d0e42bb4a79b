"""Errors for imports of missing files: near misses, and the sources of packages.

A file `futhark.pkg` beside `lib` says which version of which package is required.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from itertools import pairwise

from compiler import codes
from compiler.base.errors import TypeError_
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.frontend.files import ENDING, MANIFEST, Import, package_of

MOST_NAMED = 4
"""Most files of a folder that are listed in full."""
_ALONE = "Put the file into the program's folder, or send it with the program in `files`."


def missing(one: Import, path: str, files: Mapping[str, str], main: str) -> TypeError_:
    """Return the error for an import of `path`, which is not among `files`."""
    found = package_of(path)
    if found is not None:
        return _of_package(one, path, found[2], f"{found[1]}{MANIFEST}", files)
    return TypeError_(
        codes.files.MISSING, f"There is no file `{path}`.", one.span, _hint(one, path, files, main)
    )


def _hint(one: Import, path: str, files: Mapping[str, str], main: str) -> str:
    folder = posixpath.dirname(one.span.file or main)
    known = {_spelt(file, folder): file for file in files if file.endswith(ENDING)}
    if one.path.endswith(ENDING):
        return f"Write the import without `{ENDING}`."
    for named, at in ((one.path, path.removesuffix(ENDING)), (f"{one.path}{ENDING}", path)):
        inside = [name for name, file in known.items() if file.startswith(f"{at}/")]
        if inside:
            return f"`{named}` is a folder: import a file of it, {_some(sorted(inside))}."
        if f"{at}/" in files:
            return f"`{named}` is a folder, and no file in it has a name that ends in `{ENDING}`."
    last = posixpath.basename(one.path).lower()
    same = [name for name in known if posixpath.basename(name).lower() == last]
    if same:
        return f"Did you mean {' or '.join(f'`{name}`' for name in sorted(same)[:3])}?"
    if path.startswith("../"):
        return "A program can import only the files in its folder and below."
    others = [name for name, file in known.items() if file != (one.span.file or main)]
    near = did_you_mean(one.path, known)
    return near or (f"The files there are {_some(sorted(others))}." if others else _ALONE)


def _some(names: list[str]) -> str:
    """List all names if they are few, or the first of them."""
    if len(names) > MOST_NAMED:
        return f"such as {', '.join(f'`{name}`' for name in names[: MOST_NAMED - 1])}"
    return " or ".join(f"`{name}`" for name in names)


def _spelt(file: str, folder: str) -> str:
    """Return how a file in that folder would write the import."""
    return posixpath.relpath(file, folder or ".").removesuffix(ENDING)


def _of_package(
    one: Import, path: str, package: str, manifest: str, files: Mapping[str, str]
) -> TypeError_:
    folder = path[: path.index(package)] + package
    there = [file for file in files if file.startswith(f"{folder}/")]
    required = requirement(package, files.get(manifest))
    if there:
        known = [posixpath.relpath(file, folder).removesuffix(ENDING) for file in there]
        name = posixpath.relpath(path, folder)
        near = did_you_mean(name.removesuffix(ENDING), known)
        return TypeError_(
            codes.files.PACKAGE,
            f"There is no file `{name}` in the package `{package}`{required and f', {required}'}.",
            one.span,
            (
                f"{near} A newer version of the package may have it: run `futhark pkg add "
                f"{package}`, then `futhark pkg sync`."
            ).strip(),
        )
    if required:
        message = f"The package `{package}` is missing, {required}."
        return TypeError_(
            codes.files.PACKAGE,
            message,
            one.span,
            "Fetch it with `futhark pkg sync` in that folder.",
        )
    return TypeError_(
        codes.files.PACKAGE,
        f"The package `{package}` is missing"
        + (f", and `{manifest}` does not require it." if manifest in files else "."),
        one.span,
        f"Fetch it with `futhark pkg add {package}` and `futhark pkg sync`.",
    )


def requirement(package: str, manifest: str | None) -> str:
    """Describe the required version of a package and its line, for the middle of a sentence."""
    for number, line in enumerate((manifest or "").split("\n"), 1):
        words = re.findall(r"[{}]|[^\s{}]+", line.partition("--")[0])
        for name, version in pairwise(words):
            if name.rstrip("/") == package and version[0].isdigit():
                return f"which line {number} of `{MANIFEST}` requires in version {version}"
    return ""


def package_hint(file: str, files: Mapping[str, str]) -> str:
    """Return advice about an error in a file of a package; "" for another file."""
    found = package_of(file)
    if found is None:
        return ""
    required = requirement(found[2], files.get(f"{found[1]}{MANIFEST}"))
    if not required:
        return f"The file belongs to the package `{found[2]}`."
    return (
        f"The file belongs to the package `{found[2]}`, {required}. If you have another "
        "version, run `futhark pkg sync`."
    )
