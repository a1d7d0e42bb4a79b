"""Split the result of checking a whole file into results of its pieces.

So the first edit of a file re-checks as little as later ones do. A piece whose result cannot be
told from the whole's is left out, and checked once more.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping

from compiler.base.names import Name
from compiler.base.spans import Span
from compiler.frontend import decs
from compiler.frontend.check.checked_files import mentioned
from compiler.frontend.check.program import OWN, open_module
from compiler.frontend.check.scope.scope import Module, Poison
from compiler.frontend.check.scope.state import Checker
from compiler.frontend.incremental.equal_results import names_in, shown_by
from compiler.frontend.incremental.module_uses import meaning
from compiler.frontend.incremental.piece_results import (
    Dependencies,
    FoundInPiece,
    FoundInText,
    Warned,
)
from compiler.frontend.incremental.pieces import Cut


class _Untold(Exception):
    """Raised if the whole's results cannot be attributed to pieces."""


def in_pieces(
    st: Checker,
    path: str,
    cut: Cut,
    given: frozenset[Name],
    told: FoundInText,
    imported: Mapping[str, Module],
) -> dict[str, FoundInPiece]:
    """Return the results of a file's pieces, by their texts, after a check of the whole.

    `cut`: the file as it was, without an error; `given`: the constants of others that functions
    might return where it begins; `imported`: what was imported, by the path that the file says.
    Scope: the prelude's, to which all is added.
    """
    trees = [piece.at(path, line) for line, piece in cut]
    if any(isinstance(decs.without_local(dec), decs.OpenDec) for tree in trees for dec in tree):
        return {}  # the names that `open` declares are unknown
    try:
        warned = _warned_by_piece(path, cut, trees, told)
    except _Untold:
        return {}
    found: dict[str, FoundInPiece] = {}
    declared: set[str] = set()
    claimed: set[Name] = set()
    names = _names_by_piece(st, path, cut, told)
    givers = [at for at, tree in enumerate(trees) if any(map(_may_give, tree))]
    for at, ((line, piece), tree) in enumerate(zip(cut, trees, strict=True)):
        if any(isinstance(dec, decs.LocalDec) for dec in tree):
            declared |= _hide(st, tree)
            continue
        around = {name: (*meaning(st.scope, name), False) for name in piece.words & declared}
        module, exported = _declare(st, tree, told.declared, imported)
        declared |= names_in(module)
        claims = mentioned(module).intersection(told.names).difference(claimed)
        claimed |= claims
        if given != told.given and len(givers) > 1 and givers[0] <= at <= givers[-1]:
            continue  # unknown which of them let which constant be returned
        place = Span(line, 1, line + piece.text.count("\n") + 1, 1, path)
        named = [dec for dec in tree if isinstance(dec, decs.NamedDec)]
        found[piece.text] = FoundInPiece(
            place=place,
            on=Dependencies(
                around,
                tuple(imported[one.path] for one in piece.importing(path, line)),
                told.given if givers and at > givers[-1] else given,
            ),
            module=module,
            exported=exported,
            own={(OWN[dec.declares], dec.name): dec.name_place for dec in named},
            types={dec.name: dec.span for dec in named if isinstance(dec, decs.TypeDec)},
            wrong_types=set(),
            entries=(),
            warned=warned[at],
            names=tuple(names[at]),
            claims=frozenset(claims),
            gave=told.given - given if at in givers else frozenset(),
            can_move=None,
            shows=shown_by(module, place),
            mentions=set(),  # used for modules' bodies only
            key="",
            inside=(),
        )
    return found


def _hide(st: Checker, tree: tuple[decs.Dec, ...]) -> set[str]:
    """Bind the names of declarations to nothing, and return them."""
    alone = map(decs.without_local, tree)
    hidden = {dec.name for dec in alone if isinstance(dec, decs.NamedDec)}
    for name in hidden:
        st.scope.bind_module(name, Module(wrong=True))
        st.scope.bind_module_type(name, Poison())
    return hidden


def _declare(
    st: Checker, tree: tuple[decs.Dec, ...], whole: Module, imported: Mapping[str, Module]
) -> tuple[Module, Module]:
    """Bind what declarations declare; return that and the exported part.

    `whole`: the file's declarations.
    """
    mark, exported = st.scope.mark(), Module()
    for dec in tree:
        if isinstance(dec, decs.ImportDec):
            open_module(st, imported[dec.path])
            continue
        one = Module()
        if isinstance(dec, decs.NamedDec):
            value = getattr(whole, dec.declares)[dec.name]
            getattr(one, dec.declares)[dec.name] = value
        st.scope.open(one)
        exported.add(one)
    module = st.scope.since(mark)
    has_imports = any(isinstance(dec, decs.ImportDec) for dec in tree)
    return (module, exported) if has_imports else (exported, exported)


def _piece_at(path: str, starts: list[int], span: Span) -> int | None:
    """Return the index of the piece that contains a span; None: not in this file."""
    return bisect(starts, span.line) - 1 if span.file == path else None


def _warned_by_piece(
    path: str, cut: Cut, trees: list[tuple[decs.Dec, ...]], told: FoundInText
) -> list[Warned]:
    """Attribute warnings to pieces.

    Errors: `_Untold` if it is not clear which piece has asked for a warning, as for one in a body
    that others apply.
    """
    starts = [line for line, _ in cut]
    by_piece: list[Warned] = [([], [], []) for _ in cut]
    for kind, warnings in enumerate(told.warned):
        for one in warnings:
            at = _piece_at(path, starts, one.span)
            if at is None or (kind and any(map(_has_modules, trees[at]))):
                raise _Untold
            by_piece[at][kind].append(one)
    return by_piece


def _may_give(dec: decs.Dec) -> bool:
    """Test whether a declaration may let functions return constants of others."""
    inner = decs.without_local(dec)
    return isinstance(inner, decs.ModDec) and not inner.params


def _has_modules(dec: decs.Dec) -> bool:
    return isinstance(decs.without_local(dec), decs.ModDec)


def _names_by_piece(st: Checker, path: str, cut: Cut, told: FoundInText) -> list[list[Name]]:
    """Return the names of each piece that have spans in it."""
    starts = [line for line, _ in cut]
    by_piece: list[list[Name]] = [[] for _ in cut]
    for name in told.names:
        span = st.places.get(name)
        if span is None and name in st.makers:
            span = st.makers[name].span
        at = None if span is None else _piece_at(path, starts, span)
        if at is not None:
            by_piece[at].append(name)
    return by_piece
