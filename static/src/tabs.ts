// Tabs, as the ARIA practices have them: arrows move, the panel of the chosen one is seen.
import { h } from "./dom";

export interface Tab {
  id: string;
  title: string;
  content: HTMLElement;
  /** Called when it is shown and when it is hidden. */
  show?: (visible: boolean) => void;
}

export class Tabs {
  readonly element: HTMLElement;
  current = "";

  constructor(label: string, private readonly tabs: readonly Tab[], private readonly changed: () => void, extra: HTMLElement | null = null) {
    const list = h("div", { class: "tabs", role: "tablist", "aria-label": label },
      ...tabs.map((tab) => h("button", {
        role: "tab", id: `tab-${tab.id}`, "aria-controls": `panel-${tab.id}`, "data-tab": tab.id,
        onclick: () => this.open(tab.id),
      }, tab.title)));
    list.addEventListener("keydown", (event) => this.keys(event));
    const panels = tabs.map((tab) => h("div", {
      role: "tabpanel", id: `panel-${tab.id}`, "aria-labelledby": `tab-${tab.id}`, class: "panel", tabindex: 0,
    }, tab.content));
    this.element = h("section", { class: "pane side", "aria-label": label }, h("div", { class: "tabs-bar" }, list, extra), ...panels);
    this.open(tabs[0]!.id, false);
  }

  open(id: string, byUser = true): void {
    if (!this.tabs.some((tab) => tab.id === id) || id === this.current) return;
    this.current = id;
    for (const tab of this.tabs) {
      const chosen = tab.id === id;
      const button = this.element.querySelector<HTMLElement>(`#tab-${tab.id}`)!;
      button.setAttribute("aria-selected", String(chosen));
      button.tabIndex = chosen ? 0 : -1;
      this.element.querySelector<HTMLElement>(`#panel-${tab.id}`)!.hidden = !chosen;
      tab.show?.(chosen);
    }
    if (byUser) this.changed();
  }

  private keys(event: KeyboardEvent): void {
    const at = this.tabs.findIndex((tab) => tab.id === this.current);
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const next = this.tabs[(at + by + this.tabs.length) % this.tabs.length]!;
    this.open(next.id);
    this.element.querySelector<HTMLElement>(`#tab-${next.id}`)!.focus();
    event.preventDefault();
  }
}
