// Index functions in three generations: each change of layout, as each would write it, and what it copies.
import { h, quoted, replace } from "../dom";
import type { Link } from "../link";
import { placeName } from "../spans";
import { AnsweredPane, type Asked } from "./asking";
import type { IndexForm, IndexFunctions, LayoutChange } from "../types";
import type { PaneKind } from "./pane";

type Generation = IndexForm["generation"];

const SAYS: Readonly<Record<Generation, string>> = {
  structural: "Chains of transformations: an index is mapped back through all of them.",
  composed: "LMADs one after another, with rotations: the offset of one is unranked for the next.",
  single: "One LMAD: what the compiler uses. Where there is none, the array is copied.",
};
const GENERATIONS = Object.keys(SAYS) as Generation[];

class Changes implements Asked<"index_functions"> {
  readonly what = "Index functions are computed";
  readonly ask = "index_functions";
  private readonly count = h("p", { class: "quiet", role: "status" });
  private readonly list = h("ul", { class: "remarks layouts", "aria-label": "Changes of layout" });
  private readonly hidden = new Set<Generation>();
  private functions: readonly IndexFunctions[] = [];

  constructor(private readonly link: Link) {}

  draw({ functions }: { functions: readonly IndexFunctions[] }, place: HTMLElement): void {
    this.functions = functions;
    replace(place, this.filters(), this.count, this.list);
    this.fill();
  }

  private filters(): HTMLElement {
    return h(
      "div",
      { class: "filters", role: "group", "aria-label": "Which generations" },
      ...GENERATIONS.map((one) => {
        const box = h("input", { type: "checkbox", checked: !this.hidden.has(one) });
        box.addEventListener("change", () => {
          if (box.checked) this.hidden.delete(one);
          else this.hidden.add(one);
          this.fill();
        });
        return h("label", { class: "check", title: SAYS[one] }, box, one);
      }),
    );
  }

  private fill(): void {
    const shown = GENERATIONS.filter((one) => !this.hidden.has(one));
    const changes = this.functions.flatMap((one) => one.changes);
    const copies = (one: Generation): number => this.functions.reduce((sum, { copies }) => sum + (copies[one] ?? 0), 0);
    this.count.textContent = changes.length
      ? `Copies: ${shown.map((one) => `${copies(one)} ${one}`).join(", ")}`
      : "No array of this program is a view of another one: all are row-major, in every generation.";
    replace(this.list, ...changes.map((change) => this.item(change, shown)));
  }

  private item(change: LayoutChange, shown: Generation[]): HTMLElement {
    const where = { spans: change.src, origin: "layouts", line: -1 };
    const head = ["Generation", "Index function", `Cell of [${change.index}]`, "Copy"];
    return h(
      "li",
      { class: "remark layout", onmouseenter: () => this.link.hover(where), onmouseleave: () => this.link.hover(null) },
      h(
        "div",
        {},
        h(
          "p",
          { class: "remark-text" },
          h("strong", {}, ...quoted(change.array), `, ${change.does}`),
          change.in_memory ? "" : " (fused away)",
        ),
        h(
          "div",
          {
            class: "table-scroll",
            tabindex: 0,
            role: "group",
            "aria-label": `Forms of ${change.array.replaceAll("`", "")}`,
          },
          h(
            "table",
            { class: "cells-table" },
            h("thead", {}, h("tr", {}, ...head.map((one) => h("th", { scope: "col" }, one)))),
            h(
              "tbody",
              {},
              ...change.forms
                .filter((form) => shown.includes(form.generation))
                .map((form) =>
                  h(
                    "tr",
                    { class: form.copies ? "copied" : "" },
                    h("th", { scope: "row" }, form.generation),
                    h("td", {}, form.text ? h("code", {}, form.text) : "none"),
                    h("td", {}, form.cell ? h("code", {}, form.cell) : ""),
                    h("td", {}, form.copies ? "yes" : "no"),
                  ),
                ),
            ),
          ),
        ),
        ...reasonsOf(change, shown),
        change.tiles
          ? h(
              "p",
              { class: "remark-hint" },
              "Moved by the cells of ",
              h("code", {}, change.tiles),
              ", it fills its block, each cell once.",
            )
          : null,
        change.src[0]
          ? h(
              "p",
              { class: "remark-meta" },
              h("button", { class: "link", onclick: () => this.link.choose(where) }, placeName(change.src[0])),
            )
          : null,
      ),
    );
  }
}

/** Why it is copied: each reason once, and in which of the generations that are shown, unless in all. */
function reasonsOf({ forms }: LayoutChange, shown: readonly Generation[]): HTMLElement[] {
  const told = forms.filter(({ because, generation }) => because && shown.includes(generation));
  return [...new Set(told.map(({ because }) => because))].map((because) => {
    const of = told.filter((form) => form.because === because).map(({ generation }) => generation);
    return h("p", { class: "remark-hint" }, of.length < shown.length ? `${of.join(", ")}: ` : "", ...quoted(because));
  });
}

export const pane: PaneKind = {
  id: "layouts",
  title: "Index functions",
  order: 42,
  group: "Why",
  about: "LMADs, rotations, slices, transpositions: three generations, and what they copy",
  make: ({ model, link }) => new AnsweredPane(model, new Changes(link)),
};
