// What a page shows, as others follow it, and how a page shows what another one does.
import * as client from "./client";
import { sameProgram } from "./files";
import type { View } from "./lecture";
import { topOf, toTop } from "./lit";
import type { Page } from "./page";

/** Return the view for followers of this page. */
export function shownBy(page: Page): View {
  const { layout: _, ...stop } = page.keeper.stop();
  return {
    ...stop,
    hash: page.hash(),
    compiled: page.compiler.settled && client.isAnswered(),
    top: topOf(page.editor.view),
    tops: page.workbench.tops(),
    a: page.pins.shown,
  };
}

/** Show what a teacher's page shows. */
export async function follow(page: Page, view: View, current: () => boolean): Promise<void> {
  const { model } = page;
  const isOther =
    !sameProgram(view, model.files.saved()) || JSON.stringify(view.options) !== JSON.stringify(model.options);
  if (view.frozen && view.frozen !== model.frozen?.id) {
    const state = await client.frozen(view.frozen);
    if (!current()) return;
    page.pins.apart();
    page.programs.thaw(view.frozen, state, view);
  } else if (isOther && view.example === page.programs.example && !model.frozen) {
    model.options = view.options;
    page.header.setTarget(view.options.target ?? "c");
    page.editor.load(view, true);
    page.story.follow(model.source);
    model.emit("source");
    page.awaits = true;
  } else if (isOther || (model.frozen && !view.frozen)) {
    page.programs.show(view, view.example, false);
    page.awaits = true;
  }
  if (page.awaits && view.compiled && !view.frozen) {
    page.awaits = false;
    page.compiler.changed(true);
  }
  if (JSON.stringify(view.a ?? null) !== JSON.stringify(page.pins.shown)) {
    void page.pins.mirror(view.a ?? null);
    page.programA.as(view.a?.beside ?? "");
  }
  page.editor.open(view.open ?? model.files.main);
  if (JSON.stringify(view.panes) !== JSON.stringify(page.workbench.choices())) page.workbench.set(view.panes);
  if (view.tab !== page.dock.current) page.dock.open(view.tab, false);
  if (view.hash !== page.hash()) {
    page.link.choose(null);
    page.select(view.hash);
  }
  page.keeper.drawAs(view);
  toTop(page.editor.view, view.top);
  page.workbench.scrollTo(view.tops);
}
