"""After an edit in a parametric module, or of what it is applied to, the answer is a fresh check's.

What is in its body is checked declaration by declaration, by itself and for each application.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from compiler.frontend.incremental import recheck
from tests.frontend.incremental.test_recheck import (
    Files,
    _fresh,
    afresh,
    changed,
    checked,
    edited_at_random,
    told,
)

__all__ = ["_fresh", "checked"]

KEYS = """module type ordered = {
  type t
  val less : t -> t -> bool
}
module type key = {
  include ordered
  type~ ctx
  val k : i64
  val seed : ctx
  val hash : ctx -> t -> i64
}
module type table = {
  type key
  type table [n] 'v
  val build [n] 'v : [n](key, v) -> table [n] v
  val find [n] 'v : table [n] v -> key -> v -> v
  val size [n] 'v : table [n] v -> i64
}
"""
TABLES = """import "keys"
local def larger (x: i64) (y: i64) = if x > y then x else y
module mk_order (o: ordered) = {
  type t = o.t
  def more (x: t) (y: t) = o.less y x
  def best [n] (xs: [n]t) (x: t) = foldl (\\a b -> if o.less a b then b else a) x xs
  local def twice (f: t -> t) (x: t) = f (f x)
  def later (x: t) = twice (\\y -> y) x
}
module mk_table (key: key) : table with key = key.t = {
  type key = key.t
  type table [n] 'v = [n](key, v)
  module order = mk_order key
  def places = larger key.k 2
  def fixed: [places]i64 = iota places
  def build [n] 'v (xs: [n](key, v)): table [n] v = xs
  def find [n] 'v (xs: table [n] v) (x: key) (none: v): v =
    let same (y: key) = !(key.less x y) && !(order.more x y)
    in foldl (\\v (y, w) -> if same y then w else v) none xs
  def size [n] 'v (xs: table [n] v) = n + key.hash key.seed xs[0].0 * 0
}
module mk_pair (a: ordered) (b: ordered) : ordered with t = (a.t, b.t) = {
  type t = (a.t, b.t)
  def less (x: t) (y: t) =
    a.less x.0 y.0 || (!(a.less y.0 x.0) && b.less x.1 y.1)
}
""".replace("(order.later (key_of 0))", "xs[0].0").replace(
    "(_: table [n] v) = n", "(xs: table [n] v) = n"
)
USES = """import "keys"
import "tables"
module int_key = {
  type t = i32
  type~ ctx = [3]i64
  def k = 4i64
  def seed: ctx = [1, 2, 3]
  def less (x: t) (y: t) = x < y
  def hash (c: ctx) (x: t) = c[0] + i64.i32 x
}
module ints : table with key = i32 = mk_table int_key
module again = mk_table int_key
module pairs = mk_pair int_key int_key
module of_pairs = mk_table {
  open pairs
  type~ ctx = ()
  def k = int_key.k
  def seed = ()
  def hash (_: ctx) (x: t) = i64.i32 x.0
}
local module order = mk_order int_key
def most (xs: []i32) = order.best xs 0
"""
MAIN = """import "keys"
import "uses"
module here (t: table with key = i32) = {
  def both [n] (xs: [n](i32, f32)) (x: i32) =
    let made = t.build xs
    in (t.find made x 0, t.size made)
  def other (unused: i32) = 1i32
}
module a = here ints
module b = here again
module c = here {
  open ints
  def size [n] 'v (_: table [n] v) = 3i64
}
entry main (xs: [](i32, f32)) (x: i32) = (a.both xs x, b.both xs x)
def third (xs: [](i32, f32)) = (c.both xs 1, again.size (again.build xs))
def fourth (xs: [](i32, i32)) = of_pairs.find (of_pairs.build [((1, 2), 3i32)]) xs[0] 0 + most [1]
""".replace(
    "let t = t.build xs\n    in (t.find t x 0, t.size t)",
    "let made = t.build xs\n    in (t.find made x 0, t.size made)",
)
FILES: Files = {"keys.fut": KEYS, "tables.fut": TABLES, "uses.fut": USES}
ONE = "".join(re.sub(r"import .*\n", "", text) for text in (KEYS, TABLES, USES, MAIN))


@pytest.fixture(autouse=True)
def _no_defects(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A defect in what keeps things is told, and not hidden by a check of the whole program."""
    found: list[BaseException] = []
    check = recheck._Program.check

    def checking(*args: Any) -> Any:
        try:
            return check(*args)
        except (recheck.CompileError, recheck._Uncut):
            raise
        except Exception as error:
            found.append(error)
            raise

    monkeypatch.setattr(recheck._Program, "check", checking)
    yield
    assert not found


@pytest.fixture
def after(checked: list[str]) -> Callable[..., list[str]]:
    """The names of what is checked of a program that is right, those in files with the file."""

    def told_of(source: str, **files: str) -> list[str]:
        checked.clear()
        found = told(source, {f"{name}.fut": text for name, text in files.items()})
        assert found["ok"], found
        return list(checked)

    return told_of


ORDER = """module type ordered = {
  type t
  val less : t -> t -> bool
}
"""
MAKER = """module mk (o: ordered) : { type t val best : t -> t -> t val same : t -> t -> bool } = {
  type t = o.t
  def best (x: t) (y: t) = if o.less x y then y else x
  def same (x: t) (y: t) = !(o.less x y) && !(o.less y x)
}
module int = { type t = i32 def less (x: t) (y: t) = x < y }
"""
APPLIED = """module a = mk int
module b = mk { type t = f32 def less (x: t) (y: t) = x > y }
def use (x: a.t) = a.best x x
def other (x: b.t) = b.same x x
"""
PARTS = ["t", "best", "same"]


def test_an_edit_in_a_body_checks_it_once_for_each_application(
    after: Callable[..., list[str]],
) -> None:
    body = ["mk", "same", "a", "same", "b", "same"]
    for k in range(3):
        found = after(ORDER + MAKER.replace("!(o.less y x)", f"({k}i32 > 1 || true)") + APPLIED)
        assert k == 0 or found == body
    assert after(ORDER + MAKER + APPLIED) == body
    assert after(ORDER + MAKER + APPLIED) == []
    other_type = MAKER.replace("def same (x: t) (y: t) =", "def same (x: t) (y: t): bool =")
    assert after(ORDER + other_type + APPLIED) == body  # the type is as before
    with_more = MAKER.replace("  def same", "  def more (x: t) = best x x\n  def same")
    assert after(ORDER + with_more + APPLIED) == ["mk", "more", "a", "more", "b", "more"]


def test_an_edit_of_an_argument_checks_what_is_made_of_it(
    after: Callable[..., list[str]],
) -> None:
    after(ORDER + MAKER + APPLIED)
    swapped = MAKER.replace("x < y", "x > y")
    assert after(ORDER + swapped + APPLIED) == ["int"]
    wider = swapped.replace("type t = i32", "type t = i64")
    assert after(ORDER + wider + APPLIED) == ["int", "a", *PARTS, "use"]
    assert after(ORDER + wider + "module c = mk int\n" + APPLIED) == ["c", *PARTS]
    assert after(ORDER + wider + APPLIED) == []


def test_lines_above_check_nothing_in_a_body(after: Callable[..., list[str]]) -> None:
    after(ORDER + MAKER + APPLIED)
    anew = ["ordered", "mk", "a", "b"]
    for k in range(1, 3):
        assert after("\n" * k + ORDER + MAKER + APPLIED) == anew
    assert after("\n\n" + ORDER + MAKER + "\n" + APPLIED) == ["int"]


def test_an_edit_in_a_file_of_bodies_checks_its_applications_in_others(
    after: Callable[..., list[str]],
) -> None:
    main = 'import "order"\nimport "maker"\n' + APPLIED
    maker = 'import "order"\n' + MAKER

    def of_maker(old: str, new: str) -> list[str]:
        return after(main, order=ORDER, maker=maker.replace(old, new))

    after(main, order=ORDER, maker=maker)
    for new in ("x else y", "x else x"):  # whose functions are called otherwise in pieces
        of_maker("y else x", new)
    in_maker = [f"maker.fut {name}" for name in ("mk", "best")]
    found = [name for name in of_maker("y else x", "y else y") if name != "?"]
    assert found == [*in_maker, "a", "best", "b", "best"]


def test_the_first_edit_in_a_file_checks_what_it_can_change(
    after: Callable[..., list[str]],
) -> None:
    """Also where constants of others are given to functions, whatever stands around that."""
    arrays = "type t = [1]i32 def less (x: t) (y: t) = x[0] < y[0] def k: t = [1]"
    order = ORDER.replace("val less", "val k : t\n  val less") + f"module int = {{ {arrays} }}\n"
    user = 'import "order"\nimport "maker"\ndef one = 1i32\nmodule of_int : ordered = int\n'
    main = 'import "order"\nimport "user"\ndef use (x: of_int.t) = of_int.less x x\n'
    maker = 'import "order"\n' + MAKER.partition("module int")[0]
    for wider, more in (
        ("", []),
        ("module twice = mk int\n", ["user.fut of_int", "user.fut twice"]),  # who gave what?
    ):
        recheck.forget()
        files = {"order": order, "maker": maker, "user": user + wider + "def last = one\n"}
        after(main, **files)
        files["order"] = files["order"].replace("x[0] < y", "x[0] > y")
        assert after(main, **files) == ["order.fut int"]
        files["user"] = files["user"].replace("one = 1", "one = 2")
        assert after(main, **files) == ["user.fut one", *more]


def test_what_is_kept_of_a_file_for_all_is_not_changed_by_an_edit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A module type that has moved is where it was to those who check the file as it was."""
    main = 'import "order"\nmodule m: ordered = { type t = i32 }\n'
    right = 'import "order"\nmodule m = { type t = i32 }\n'
    for upper in ("", "def above = 1i32\n", "def above = 1i32\nmodule a = { def k = above }\n"):
        where = afresh(main, monkeypatch, {"order.fut": upper + ORDER})["error"]["related"]
        assert where[0]["span"][4] == "order.fut"
        others = {"order.fut": upper + ORDER, "other.fut": ""}
        assert told(right + "-- another program\n", others)["ok"]
        assert told(right, {"order.fut": upper + ORDER})["ok"]
        assert told(right, {"order.fut": "\n\n" + upper + ORDER})["ok"]
        for files in (others, {"order.fut": upper + ORDER, "third.fut": ""}):
            assert told(main, files)["error"]["related"] == where


def test_what_is_kept_of_bodies_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recheck, "MOST_NAMES", 500)
    for k in range(60):
        made = "".join(f"module m{k}_{j} = mk int\n" for j in range(5))
        assert told(ORDER + MAKER + made + APPLIED)["ok"]
    (program,) = recheck._programs
    assert len(program._out.st.serials) < 3000
    assert len(program._main._kept) <= 2 * 20


def test_two_applications_have_types_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if one is now where the other one was, or is called like it."""
    hidden = (
        MAKER.replace("{ type t val", "{ type t val made : i32 -> t val")
        .replace("  def best", "  def made (x: i32) = x\n  def best")
        .replace("(o: ordered)", "(o: ordered with t = i32)")
    )
    one, two = "module a = mk int\n", "local module a = mk int\n"
    kept = "def made = a.made 1\n"
    use = "def use = a.best made made\n"
    for parts, is_right in (
        ((one, kept, use), True),
        ((one, kept, two, use), False),
        ((two, kept, use), True),
        ((two, kept, one, use), False),
        ((two, kept, two, use), False),
        ((two, two, kept, use), True),
        ((one, kept, use, two), True),
    ):
        source = ORDER + hidden + "".join(parts)
        found = told(source)
        assert found == afresh(source, monkeypatch), source
        assert found["ok"] == is_right, source


LINES = (
    "",
    "-- x",
    "  def extra = 1i64",
    "  local def hidden (y: i32) = y",
    "  def k = 7i64",
    "  def k = places",
    "  type t = i64",
    "  type hidden [n] = [n]i64",
    "  def empty: [key.k]i64 = iota key.k",
    "  def f (unused: i32) = 1i32",
    "  def at (x: [3]i64) = x[3]",
    "  open order",
    "  module inner = mk_order key",
    "  module inner = mk_order { type t = i32 def less (x: t) (y: t) = x < y }",
    "  module held : ordered = key",
    "  val k : i64",
    "  val other : t -> t",
    "  type other",
    "  include ordered",
    "module more = mk_order int_key",
    "module more = mk_table int_key",
    "module more = mk_pair int_key pairs",
    "local module more = mk_table int_key",
    "local module held : ordered = int_key",
    "module held : ordered with t = i32 = int_key",
    "open mk_order int_key",
    "module wide = mk_pair pairs pairs",
    "module takes (f: (o: ordered) -> { type t val later : t -> t }) = f int_key",
    "module taken = takes mk_order",
    "module by = \\(o: ordered) -> { open mk_order o def first = later }",
    "module of = by int_key",
    "module mk_new (o: ordered) (p: { val n : i64 }) = {",
    "module mk_new (o: ordered) = {\n  open o\n  def g (x: t) = less x x\n}",
    "module new = mk_new int_key",
    "}",
    "def use = ints.size",
    "def use = [more.k, int_key.k]",
    "def use (x: more.t) = more.later x",
)
REPLACED = {
    "mk_table int_key": (
        "mk_table ints",
        "mk_order int_key",
        "mk_table pairs",
        "mk_table { open int_key def k = 9i64 }",
    ),
    "mk_order key": ("mk_order { open key }", "mk_order int", "mk_order (key: ordered)"),
    "here ints": ("here again", "here of_pairs"),
    "o: ordered": ("o: key", "o: ordered with t = i32", "p: ordered"),
    "val k : i64": ("val k : i32", "val k: i64", "val kk : i64"),
    "i32": ("i64", "f32"),
    "ctx": ("t", "c"),
    "key.k": ("4", "key.seed", "o.k"),
    "x: t": ("x: o.t", "y: t", "x: *t"),
    "ordered": ("key", "table"),
    " : ": (": ",),
    "def ": ("local def ", "let "),
    "module ": ("local module ", "module type "),
    "\n}": ("\n\n}", "\n  def end = 1i32\n}"),
    "= {": (": {} = {", "= { -- here"),
    "map": ("filter",),
    "1": ("2", "true"),
}


def otherwise(source: str, chance: random.Random) -> str:
    """A text after an edit such as are made of modules."""
    if chance.random() < 0.5:
        return changed(source, chance, LINES)
    found = [old for old in REPLACED if old in source]
    if not found:
        return source + "\n"
    old = chance.choice(found)
    new = chance.choice(REPLACED[old])
    places = [match.start() for match in re.finditer(re.escape(old), source)]
    at = chance.choice(places)
    return source[:at] + new + source[at + len(old) :]


@pytest.mark.parametrize("seed", range(4))
def test_after_any_edits_the_answer_is_that_of_a_fresh_check(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = {"": MAIN, **FILES} if seed % 2 else {"": ONE}
    right, wrong = edited_at_random(first, otherwise, random.Random(seed), monkeypatch, 60, 0.05)
    assert right > 5
    assert wrong > 15


def test_where_a_module_type_is_is_told_when_it_has_moved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also of one that includes it, and by what it was told to before."""
    wrong = (
        "module c = mk { type t = i32 def less (x: t) (y: t) = x + y }\n",
        "module d = mk { type t = i32 }\n",
        "module mk_c (o: wide) = { def f (x: o.t) = o.less x 1i32 }\n",
        "module takes (f: (o: ordered) -> { val g : i32 }) = { module m = f int }\n"
        "module e = takes mk\n",
    )
    wide = "module type wide = { include ordered val k : i32 }\n"
    for parts in (("", ORDER, wide, MAKER), (ORDER, wide, "", MAKER), ("", ORDER, MAKER, wide)):
        recheck.forget()
        for lines in ("", "\n", "\n\n", "\n\n", ""):
            moved = "".join(part or lines for part in parts)
            assert told(moved + APPLIED)["ok"]
            for more in wrong:
                source = moved + APPLIED + more
                found = told(source)
                assert found == afresh(source, monkeypatch), source
                assert not found["ok"], more
    files = {"maker.fut": 'import "order"\n' + MAKER}
    for k in (0, 2, 1):
        files["order.fut"] = "\n" * k + ORDER
        main = 'import "order"\nimport "maker"\n' + APPLIED + wrong[0]
        assert told(main, files) == afresh(main, monkeypatch, files)
