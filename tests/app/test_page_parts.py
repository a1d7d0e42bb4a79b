"""Parts of the page that spare its thread: work in slices, drawings in sight, colours of that."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.app.browsing import MARKS

pytestmark = MARKS
ROOT = Path(__file__).parents[2]
ESBUILD = ROOT / "node_modules" / ".bin" / "esbuild"
PARTS = """
export { fillSlowly, h, s } from "./static/src/dom";
export { inSight, makeWhole } from "./static/src/sight";
export { languageOf } from "./static/src/lang";
export { EditorView } from "@codemirror/view";
"""


@pytest.fixture(scope="module")
def bundle() -> str:
    if not ESBUILD.exists():
        pytest.skip("esbuild is not installed: run `make setup`")
    command = [str(ESBUILD), "--bundle", "--format=iife", "--global-name=made"]
    return subprocess.run(
        command, cwd=ROOT, input=PARTS, capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture
def parts(browser: Browser, bundle: str) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 800, "height": 600})
    page.evaluate(f"() => {{ {bundle}; Object.assign(window, made); }}")
    yield page
    page.close()


def test_what_is_filled_in_one_task_shares_its_time(parts: Page) -> None:
    counts = parts.evaluate("""async () => {
      let clock = 0;
      performance.now = () => clock;
      const items = Array.from({ length: 100 }, (_, k) => k);
      const lists = [h("ol"), h("ol"), h("ol")];
      document.body.append(...lists);
      const work = (k) => (clock += 1, h("li", {}, k));
      for (const list of lists) fillSlowly(list, items, work);
      const at_once = lists.map((list) => list.children.length);
      const turn = () => new Promise((resume) => setTimeout(resume));
      while (lists.some((list) => list.children.length < 100)) await turn();
      return [at_once, lists.map((list) => list.textContent === items.join(""))];
    }""")
    at_once, complete = counts
    assert 0 < at_once[0] <= 24  # some 12 ms, looked at now and then
    assert at_once[1:] == [0, 0]
    assert complete == [True, True, True]


def test_filling_ends_where_the_element_is_gone(parts: Page) -> None:
    made = parts.evaluate("""async () => {
      let [clock, made] = [0, 0];
      performance.now = () => clock;
      const list = h("ol");
      document.body.append(list);
      fillSlowly(list, Array(1000).fill(0), () => (clock += 1, made += 1, h("li")));
      list.remove();
      await new Promise((r) => setTimeout(r, 50));
      return made;
    }""")
    assert 0 < made < 100


DRAWING = """(count) => {
  const drawing = s("svg", { width: 300, height: 20 * count });
  const layer = (name) => Array.from({ length: count }, (_, k) => ({
    left: 0, right: 300, top: 20 * k, bottom: 20 * k + 15,
    make: () => s("rect", { class: name, "data-k": k, y: 20 * k, width: 300, height: 15 }) }));
  const box = h("div", { id: "box" });
  Object.assign(box.style, { height: "200px", overflow: "auto" });
  box.append(inSight(drawing, 300, [layer("below"), layer("above")]));
  document.body.append(box);
}"""


def test_a_large_drawing_is_made_where_it_is_in_sight(parts: Page) -> None:
    parts.evaluate(DRAWING, 5000)
    rows = parts.locator(".above")
    expect(parts.locator(".above[data-k='9']")).to_be_visible()
    assert rows.count() < 100
    parts.evaluate("document.getElementById('box').scrollTop = 50000")
    expect(parts.locator(".above[data-k='2505']")).to_be_visible()
    expect(parts.locator(".above[data-k='9']")).to_have_count(0)
    assert rows.count() < 100
    first = parts.evaluate("document.querySelector('svg').children[0].firstChild.classList[0]")
    assert first == "below"  # layers stay in their order
    parts.evaluate("makeWhole(document.body)")
    assert rows.count() == 5000


def test_a_small_drawing_is_made_at_once(parts: Page) -> None:
    parts.evaluate(DRAWING, 200)
    assert parts.locator(".above").count() == 200


def test_a_stage_has_its_colours_wherever_it_is_scrolled_to(parts: Page) -> None:
    lines = [f"float y{k} = f(x, 2.5f); // {k}" for k in range(4000)]
    lines[2000:2101] = [
        "/* here",
        *(f"int word{k};" for k in range(2001, 2100)),
        "it ends */ int after = 1;",
    ]
    parts.evaluate(
        """(doc) => {
          const sizes = { "&": { height: "200px" }, ".cm-scroller": { overflow: "auto" } };
          const extensions = [languageOf("text"), EditorView.theme(sizes)];
          window.view = new EditorView({ doc, extensions, parent: document.body });
          window.show = (line) => view.dispatch(
            { effects: EditorView.scrollIntoView(view.state.doc.line(line).from, { y: "start" }) });
        }""",
        "\n".join(lines),
    )
    expect(parts.locator(".t-keyword").first).to_have_text("float")
    expect(parts.locator(".t-def").first).to_have_text("f")
    parts.evaluate("show(2060)")
    inside = parts.locator(".cm-line", has_text="int word2060")
    expect(inside.locator(".t-comment")).to_have_text("int word2060;")
    expect(parts.locator(".cm-line", has_text="int word").locator(".t-keyword")).to_have_count(0)
    parts.evaluate("show(2095)")
    expect(parts.locator(".cm-line", has_text="it ends").locator(".t-keyword")).to_have_text("int")
    parts.evaluate("show(3900)")
    line = parts.locator(".cm-line", has_text="float y3905")
    expect(line.locator(".t-number")).to_have_text("2.5f")
    expect(line.locator(".t-comment")).to_have_text("// 3905")
