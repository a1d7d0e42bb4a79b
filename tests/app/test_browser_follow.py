"""A teacher and who follows, each in a browser of their own, with the compiler behind them."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.app.browsing import (
    MARKS,
    all_stages,
    details,
    pane,
    source,
    text,
    violations,
    visiting,
    write,
)

pytestmark = MARKS


@pytest.fixture
def two(browser: Browser) -> Iterator[tuple[Page, Page]]:
    with ExitStack() as stack:
        lost = (
            "net::ERR_FAILED",
            "net::ERR_INTERNET_DISCONNECTED",
            "net::ERR_CONNECTION_REFUSED",
            "410",
            "409",
            "404",
        )
        one, other = (stack.enter_context(visiting(browser, lost)) for _ in range(2))
        yield one, other


def compiled(page: Page) -> None:
    expect(page.locator(".status")).to_contain_text("compiled")


def bar(page: Page) -> Locator:
    return page.get_by_role("region", name="Lecture")


def lead(page: Page, address: str) -> str:
    """Begin a lecture at the page that there is; where it is followed."""
    page.keyboard.press("Control+k")
    page.keyboard.insert_text("follow me")
    page.keyboard.press("Enter")
    code = bar(page).locator(".code").inner_text()
    assert len(code) == 6
    return f"{address}/follow/{code}"


def test_who_follows_sees_what_the_teacher_does(two: tuple[Page, Page], address: str) -> None:
    teacher, pupil = two
    teacher.goto(address)
    compiled(teacher)
    where = lead(teacher, address)
    pupil.goto(f"{address}/follow/")
    pupil.get_by_label("Code").fill(where[-6:].lower())
    pupil.get_by_role("button", name="Follow").click()
    expect(bar(pupil)).to_contain_text("You follow the teacher")
    pupil.wait_for_url(where)
    compiled(pupil)
    expect(source(pupil)).to_contain_text("entry main")
    assert text(pupil) == text(teacher)
    # What is typed, and what becomes of it.
    write(teacher, "entry main (ys: []i64) = map (+ 41) ys\n")
    expect(source(pupil)).to_contain_text("+ 41")
    expect(pane(pupil)).to_contain_text("41i64")
    # A stage, a tab, a selection.
    teacher.locator(".chip", has_text="FUNMEM").click()
    expect(pane(pupil)).to_have_attribute("data-shows", "funmem")
    details(teacher, "Bounds")
    expect(pupil.get_by_role("tab", name="Bounds")).to_have_attribute("aria-selected", "true")
    teacher.locator(".stage-pane .cm-line", has_text="41i64").first.click()
    expect(pupil.locator(".source .lit-place").first).to_be_visible()
    assert pupil.url.partition("#")[2] == teacher.url.partition("#")[2] != ""
    assert violations(pupil) == []
    assert violations(teacher) == []


def test_who_follows_sees_a_and_its_text_and_keeps_their_own(
    two: tuple[Page, Page], address: str
) -> None:
    teacher, pupil = two
    pupil.goto(address)
    compiled(pupil)
    write(pupil, "entry mine (x: i64) = x + 77\n")
    compiled(pupil)
    details(pupil, "Compare")
    pupil.get_by_role("button", name="Pin as A").click()
    expect(pupil.get_by_role("tabpanel", name="Compare")).to_contain_text("A is the program")
    teacher.goto(address)
    compiled(teacher)
    pupil.goto(lead(teacher, address))
    compiled(pupil)
    write(teacher, "entry main (x: i64) = x + 20\n")
    compiled(teacher)
    expect(pane(pupil)).to_contain_text("20i64")
    expect(pane(pupil)).not_to_contain_text("same as in A")
    details(teacher, "Compare")
    teacher.get_by_role("button", name="Pin as A").click()
    expect(pane(pupil)).to_contain_text("The same as in A.")
    write(teacher, "entry main (x: i64) = x + 21\n")
    expect(pane(pupil).locator(".diff-added")).to_contain_text(["21i64"])
    of_a = pupil.get_by_role("textbox", name="Text of A")
    teacher.keyboard.press("F8")
    expect(of_a).to_contain_text("x + 20")
    teacher.get_by_role("button", name="Edit A").click()
    teacher.get_by_role("textbox", name="Text of A").press("Control+a")
    teacher.keyboard.insert_text("entry main (x: i64) = x + 22\n")
    expect(of_a).to_contain_text("x + 22")
    expect(pane(pupil).locator(".diff-removed")).to_contain_text(["22i64"])
    teacher.get_by_role("button", name="Unpin").click()
    expect(of_a).to_have_count(0)
    expect(pane(pupil).locator(".diff-removed")).to_have_count(0)
    # Their own A is where it was.
    pupil.goto(address)
    expect(pupil.get_by_role("tabpanel", name="Compare")).to_contain_text("A is the program")


def test_a_follower_looks_around_comes_back_and_keeps_what_is_theirs(
    two: tuple[Page, Page], address: str
) -> None:
    teacher, pupil = two
    pupil.goto(address)
    compiled(pupil)
    write(pupil, "entry mine (x: i64) = x + 77\n")
    compiled(pupil)
    pupil.wait_for_function("() => (localStorage['stridescope.work'] ?? '').includes('mine')")
    teacher.goto(address)
    compiled(teacher)
    where = lead(teacher, address)
    pupil.goto(where)
    compiled(pupil)
    assert text(pupil) == text(teacher)
    write(pupil, "entry tried (x: i64) = x + 78\n")
    expect(bar(pupil)).to_contain_text("stopped following")
    write(teacher, "entry shown (x: i64) = x + 79\n")
    expect(bar(pupil)).to_contain_text("The teacher has moved on.")
    assert "tried" in text(pupil)
    # A reload leaves them where they are.
    pupil.wait_for_function("() => (sessionStorage['stridescope.entry'] ?? '').includes('tried')")
    pupil.reload()
    expect(bar(pupil)).to_contain_text("The teacher has moved on.")
    assert "tried" in text(pupil)
    back = pupil.get_by_role("button", name="Back to the teacher")
    back.focus()
    pupil.keyboard.press("Enter")
    expect(source(pupil)).to_contain_text("shown")
    expect(bar(pupil)).to_contain_text("You follow the teacher")
    expect(back).to_be_hidden()
    # What was tried is kept, and the work from before was not touched.
    kept = pupil.evaluate(
        "() => [localStorage['stridescope.history'], localStorage['stridescope.work']]"
    )
    assert "tried" in kept[0]
    assert "mine" in kept[1]
    # The teacher reloads, and goes on; then the lecture ends.
    teacher.reload()
    compiled(teacher)
    expect(bar(teacher)).to_contain_text("Others follow you")
    write(teacher, "entry last (x: i64) = x + 80\n")
    expect(source(pupil)).to_contain_text("last")
    teacher.get_by_role("button", name="End the lecture").click()
    expect(bar(teacher)).to_contain_text("has ended")
    expect(bar(pupil)).to_contain_text("The lecture has ended.")
    pupil.wait_for_url(f"{address}/")
    write(pupil, "entry after (x: i64) = x + 81\n")
    pupil.wait_for_function("() => (localStorage['stridescope.work'] ?? '').includes('after')")
    assert "mine" in pupil.evaluate("() => localStorage['stridescope.history']")
    pupil.reload()
    expect(source(pupil)).to_contain_text("after")


def test_a_lost_connection_a_second_window_and_a_phone(
    two: tuple[Page, Page], address: str
) -> None:
    teacher, pupil = two
    teacher.goto(address)
    compiled(teacher)
    where = lead(teacher, address)
    pupil.set_viewport_size({"width": 390, "height": 844})
    pupil.goto(where)
    compiled(pupil)
    assert pupil.evaluate("document.documentElement.scrollWidth") <= 390
    # Neither side loses anything where the connection is lost.
    teacher.route("**/api/lecture/**", lambda route: route.abort())
    pupil.route("**/api/lecture/**", lambda route: route.abort())
    expect(bar(pupil)).to_contain_text("The server does not answer")
    write(teacher, "entry again (x: i64) = x + 1\n")
    expect(bar(teacher)).to_contain_text("Followers do not see this yet")
    teacher.unroute("**/api/lecture/**")
    pupil.unroute("**/api/lecture/**")
    expect(source(pupil)).to_contain_text("again")
    expect(bar(pupil)).to_contain_text("You follow the teacher")
    # Another window of the teacher's takes the lecture, and gives it back.
    lecture = teacher.evaluate("() => sessionStorage['stridescope.lecture']")
    second = teacher.context.new_page()
    second.goto(address)
    compiled(second)
    second.evaluate("kept => { sessionStorage['stridescope.lecture'] = kept; }", lecture)
    second.reload()
    expect(bar(second)).to_contain_text("Others follow you")
    expect(bar(teacher)).to_contain_text("Another window now leads this lecture.")
    write(second, "entry second (x: i64) = x + 2\n")
    expect(source(pupil)).to_contain_text("second")
    teacher.get_by_role("button", name="Lead it from here").click()
    expect(source(pupil)).to_contain_text("again")
    expect(bar(second)).to_contain_text("Another window now leads this lecture.")


def test_back_and_forward_are_the_followers_own(two: tuple[Page, Page], address: str) -> None:
    teacher, pupil = two
    teacher.goto(address)
    compiled(teacher)
    where = lead(teacher, address)
    pupil.goto(address)
    compiled(pupil)
    pupil.goto(where)
    expect(bar(pupil)).to_contain_text("You follow the teacher")
    compiled(pupil)
    seen = pane(pupil).get_attribute("data-shows") or ""
    pupil.locator(".chip[data-stage=funmem]").click()
    expect(pane(pupil)).to_have_attribute("data-shows", "funmem")
    all_stages(pupil)
    pupil.locator(".chip[data-stage=imp]").click()
    expect(pane(pupil)).to_have_attribute("data-shows", "imp")
    pupil.go_back()
    expect(pane(pupil)).to_have_attribute("data-shows", "funmem")
    pupil.go_back()
    expect(pane(pupil)).to_have_attribute("data-shows", seen)
    expect(bar(pupil)).to_contain_text("stopped following")
    pupil.go_forward()
    expect(pane(pupil)).to_have_attribute("data-shows", "funmem")
    # What the teacher does does not move who looks around, and is there on return.
    write(teacher, "entry main (ys: []i64) = map (+ 43) ys\n")
    all_stages(teacher)
    teacher.locator(".chip[data-stage=flat]").click()
    expect(bar(pupil)).to_contain_text("The teacher has moved on.")
    expect(pane(pupil)).to_have_attribute("data-shows", "funmem")
    pupil.get_by_role("button", name="Back to the teacher").click()
    expect(pane(pupil)).to_have_attribute("data-shows", "flat")
    expect(source(pupil)).to_contain_text("+ 43")
    # The browser's Back is a wish of the follower's as well, with the program of that time.
    pupil.go_back()
    expect(bar(pupil)).to_contain_text("stopped following")
    expect(pane(pupil)).to_have_attribute("data-shows", seen)
    pupil.get_by_role("button", name="Back to the teacher").click()
    expect(source(pupil)).to_contain_text("+ 43")
    expect(pane(pupil)).to_have_attribute("data-shows", "flat")


def test_who_was_offline_sees_what_the_teacher_shows_now(
    two: tuple[Page, Page], address: str
) -> None:
    teacher, pupil = two
    teacher.goto(address)
    compiled(teacher)
    where = lead(teacher, address)
    pupil.goto(where)
    expect(bar(pupil)).to_contain_text("You follow the teacher")
    compiled(pupil)
    pupil.context.set_offline(True)
    expect(bar(pupil)).to_contain_text("The server does not answer")
    write(teacher, "entry missed (x: i64) = x + 44\n")
    compiled(teacher)
    write(teacher, "entry shown (x: i64) = x + 45\n")
    all_stages(teacher)
    teacher.locator(".chip[data-stage=funmem]").click()
    teacher.reload()
    expect(bar(teacher)).to_contain_text("Others follow you")
    pupil.context.set_offline(False)
    expect(source(pupil)).to_contain_text("+ 45")
    expect(pane(pupil)).to_have_attribute("data-shows", "funmem")
    expect(pane(pupil)).to_contain_text("45i64")
    expect(bar(pupil)).to_contain_text("You follow the teacher")
    # A teacher without a connection goes on, and is seen again afterwards.
    teacher.context.set_offline(True)
    write(teacher, "entry later (x: i64) = x + 46\n")
    expect(bar(teacher)).to_contain_text("Followers do not see this yet")
    teacher.context.set_offline(False)
    expect(source(pupil)).to_contain_text("+ 46")
