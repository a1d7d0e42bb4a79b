// All that the palette offers.
import { THEMES } from "./header";
import { KINDS } from "panes:kinds";
import { PRESETS } from "./layouts";
import type { Page } from "./page";
import type { Action } from "./palette";
import { earlierTexts } from "./work";

export function actionsOf(page: Page): Action[] {
  const { model, editor, header, dock } = page;
  const one = (group: string, name: string, run: () => void, keys = "", about = ""): Action => ({
    group,
    name,
    run,
    keys,
    about,
  });
  const abouts = new Map(KINDS.map(({ id, about }) => [id, about]));
  const file = model.files;
  const title = (id: string): string => model.info(id)?.title ?? id;
  return [
    one("action", "Run", () => void page.runPane.run(), "Ctrl+Enter"),
    one("action", "Share", () => void page.share(), "Ctrl+S", "link, embed, iframe, offline file, cite, BibTeX"),
    one("action", "Follow me: let others see what I do", () => page.lead()),
    one("action", "Follow a teacher", () => location.assign("/follow/")),
    one("action", "New program", () => page.programs.newProgram(), "", "empty, blank, from scratch"),
    one("action", "All examples, with pictures", () => location.assign("/examples/"), "", "gallery, start here"),
    one(
      "action",
      "Reproduction of the papers",
      () => location.assign("/reproduction/"),
      "",
      "thesis, figures, tables, listings",
    ),
    one("action", "Keys", () => header.showHelp(), "?"),
    one("action", "Clear the selection", () => page.link.choose(null), "Esc"),
    one("action", "Next occurrence", () => page.workbench.occurrence(1), "F4"),
    one("action", "Previous occurrence", () => page.workbench.occurrence(-1), "Shift+F4"),
    one("action", "A's text beside the source, and back", () => page.programA.turn(), "F8"),
    one("action", "Next stage", () => page.step(1), "Alt+→"),
    one("action", "Previous stage", () => page.step(-1), "Alt+←"),
    ...editor.language.commands.map(([name, keys, run]) =>
      one(
        "source",
        name,
        () => {
          editor.view.focus();
          run(editor.view);
        },
        keys.replaceAll("-", "+"),
      ),
    ),
    ...model.shownAs.map(({ id, explain }) => one("stage", title(id), () => page.openStage(id), "", explain)),
    ...model.shownAs.map(({ id }) => one("stage beside", title(id), () => page.openStage(id, true))),
    ...dock.details.map(([id, name]) => one("details", name, () => dock.enter(id), "", abouts.get(id))),
    ...PRESETS.map((preset) => one("layout", preset.name, () => page.leave(() => page.arrange(preset)))),
    ...page.layouts.own.map(([name, show]) => one("your layout", name, show)),
    ...(
      [
        ["left", "left"],
        ["right", "right"],
        ["above", "up"],
        ["below", "down"],
      ] as const
    ).map(([to, word]) =>
      one("layout", `Move ${dock.lastTitle} ${word}`, () => dock.step(to, dock.last), "Ctrl+Alt+arrow"),
    ),
    ...page.programs.examples.map(({ name, title: words, point }) =>
      one("example", words, () => page.programs.openExample(name), "", point),
    ),
    ...(file.names().length > 1
      ? file.names().map((name) => one("file", name, () => page.leave(() => editor.open(name))))
      : []),
    ...earlierTexts().map((program) =>
      one(
        "earlier text",
        `${program.when.slice(0, 16).replace("T", " ")} ${program.source.trim().split("\n")[0]!.slice(0, 60)}`,
        () => page.programs.openOther(program),
      ),
    ),
    ...model.manifest
      .filter(({ kind }) => kind === "text")
      .map(({ id }) => one("target", title(id), () => page.setTarget(id))),
    ...THEMES.map(([id, name]) => one("theme", name, () => header.setTheme(id))),
  ];
}
