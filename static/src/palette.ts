// Everything that can be done or shown, by its name: Ctrl+K, some words, Enter.
import { h, replace } from "./dom";
import { found, type Named } from "./finding";

export interface Action extends Named {
  keys?: string;
  run: () => void;
}

const MOST = 60;

export class Palette {
  private readonly field = h("input", {
    type: "text",
    role: "combobox",
    "aria-label": "Find an action or a pane",
    "aria-expanded": "true",
    "aria-controls": "palette-list",
    "aria-autocomplete": "list",
    autocomplete: "off",
    spellcheck: false,
    placeholder: "a name, or a word: cost, threshold, embed",
  });
  private readonly list = h("ul", { id: "palette-list", role: "listbox", "aria-label": "Matches" });
  readonly element = h("dialog", { class: "palette", "aria-label": "Commands" }, this.field, this.list);
  private found: Action[] = [];
  private at = 0;

  constructor(private readonly actions: () => Action[]) {
    this.field.addEventListener("input", () => this.search());
    this.element.addEventListener("keydown", (event) => this.keys(event));
    this.element.addEventListener("click", (event) => event.target === this.element && this.element.close());
    this.list.addEventListener("click", (event) => {
      const item = (event.target as Element).closest<HTMLElement>("[role=option]");
      if (item) this.take(Number(item.dataset.at));
    });
  }

  get isOpen(): boolean {
    return this.element.open;
  }

  open(): void {
    if (this.element.open) return this.element.close();
    this.field.value = "";
    this.element.showModal();
    this.search();
  }

  private search(): void {
    this.found = found(this.actions(), this.field.value).slice(0, MOST);
    this.at = 0;
    this.draw();
  }

  private draw(): void {
    replace(
      this.list,
      ...this.found.map(({ group, name, keys }, k) =>
        h(
          "li",
          {
            role: "option",
            id: `palette-${k}`,
            "data-at": k,
            "aria-selected": String(k === this.at),
          },
          h("span", {}, name),
          h("span", { class: "quiet" }, [group, keys].filter(Boolean).join(" · ")),
        ),
      ),
      this.found.length
        ? null
        : h(
            "li",
            { class: "quiet", role: "option", "aria-selected": "false", "aria-disabled": "true" },
            "Nothing matches.",
          ),
    );
    if (this.found.length) this.field.setAttribute("aria-activedescendant", `palette-${this.at}`);
    else this.field.removeAttribute("aria-activedescendant");
    this.list.children[this.at]?.scrollIntoView({ block: "nearest" });
  }

  private keys(event: KeyboardEvent): void {
    const { length } = this.found;
    const to = {
      ArrowDown: this.at + 1,
      ArrowUp: this.at - 1,
      PageDown: Math.min(length - 1, this.at + 10),
      PageUp: Math.max(0, this.at - 10),
    }[event.key];
    if (to !== undefined && length) {
      this.at = (to + length) % length;
      this.draw();
    } else if (event.key === "Enter") this.take(this.at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private take(at: number): void {
    const action = this.found[at];
    if (!action) return;
    this.element.close();
    action.run();
  }
}
