// The menu of layouts: what is offered, those that the reader named, and moves of the pane that was used last.
import { h, replace } from "./dom";
import type { Dock } from "./dock";
import { layoutIn, PRESETS, type Layout, type Preset, type Side } from "./layouts";
import { dropdown } from "./menus";
import { load, save } from "./storage";

interface Named {
  layout: Layout | null;
  panes: { stage: string; compare: string }[];
  tab: string;
}

const NAMED = "layouts";
const MOVES: [Exclude<Side, "tab">, string][] = [
  ["left", "←"],
  ["above", "↑"],
  ["below", "↓"],
  ["right", "→"],
];

export interface LayoutEvents {
  preset(preset: Preset): void;
  named(named: Named): void;
  /** Return the current layout, to store under a name. */
  now(): Named;
}

export class LayoutMenu {
  private readonly content = h("div", { class: "layout-menu" });
  /** Further settings of the page's appearance. */
  readonly more = h("div", { class: "view-more" });
  readonly element = dropdown("View", h("div", { class: "view-menu" }, this.more, this.content), () => this.draw());

  constructor(
    private readonly dock: Dock,
    private readonly events: LayoutEvents,
  ) {}

  /** Names of the reader's own layouts, with what shows them. */
  get own(): [string, () => void][] {
    return Object.entries(stored()).map(([name, named]) => [name, () => this.events.named(named)]);
  }

  private draw(): void {
    const name = h("input", {
      type: "text",
      "aria-label": "Name of this layout",
      placeholder: "name",
      maxlength: 40,
      required: true,
    });
    const form = h("form", { class: "row" }, name, h("button", {}, "Save this layout"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!name.value.trim()) return;
      save(NAMED, { ...stored(), [name.value.trim()]: this.events.now() });
      this.draw();
    });
    const choice = (title: string, says: string, choose: () => void, ...more: HTMLElement[]): HTMLElement =>
      h(
        "li",
        {},
        h(
          "button",
          {
            class: "link",
            onclick: () => {
              choose();
              this.element.open = false;
            },
          },
          title,
        ),
        h("span", { class: "quiet" }, says),
        ...more,
      );
    const away = (named: string): HTMLElement =>
      h(
        "button",
        {
          class: "icon",
          "aria-label": `Forget ${named}`,
          onclick: () => {
            const { [named]: _, ...others } = stored();
            save(NAMED, others);
            this.draw();
          },
        },
        "×",
      );
    replace(
      this.content,
      h(
        "ul",
        { "aria-label": "Layouts" },
        ...PRESETS.map((preset) => choice(preset.name, preset.says, () => this.events.preset(preset))),
        ...this.own.map(([named, show]) => choice(named, "yours", show, away(named))),
      ),
      form,
      h(
        "p",
        { class: "row", role: "group", "aria-label": "Move the current pane" },
        h("span", {}, `Move “${this.dock.lastTitle}”`),
        ...MOVES.map(([to, sign]) =>
          h("button", { "aria-label": `Move ${to}`, onclick: () => this.dock.step(to, this.dock.last) }, sign),
        ),
      ),
      h(
        "p",
        { class: "quiet" },
        "Drag a tab, or ⠿ at the head of a pane; Ctrl+Alt+arrows move the pane with the focus. Back undoes a move.",
      ),
    );
  }
}

function stored(): Record<string, Named> {
  const found = load<Record<string, Named>>(NAMED) ?? {};
  return Object.fromEntries(
    Object.entries(found).filter(
      ([, one]) => one && Array.isArray(one.panes) && (one.layout === null || layoutIn(one.layout)),
    ),
  );
}
