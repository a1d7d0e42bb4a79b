// The accesses of the kernels for a GPU, those that waste most first, each with a request of a warp.
import { areExact } from "../arithmetic";
import * as client from "../client";
import { debounce, fillSlowly, grouped, h, replace } from "../dom";
import { Fresh } from "../fresh";
import type { Link } from "../link";
import { SymbolFields } from "../memory/symbols";
import type { Costs } from "../kept";
import { sameText, type Model, type Text } from "../model";
import { Pictured } from "../pictures";
import { placeName } from "../spans";
import type {
  AccessesAnswer,
  LessonAnswer,
  LoopAccess,
  Remark,
  RequestCounts,
  WarpAccess,
  WarpRequest,
} from "../types";
import { AskingPane } from "./asking";
import { foretold } from "./foretold";
import { remarkItem, type ShowProof } from "./remarks";
import { accessName, drawTurns, loopTable, tableOf, turnsTable, type Column } from "./loop_card";
import { drawRequest, requestTable, strideOf } from "./warp_card";
import type { PaneKind, Share } from "./pane";

const MEANS =
  "A GPU runs 32 threads in step, the lanes of a warp. Memory answers their requests in " +
  "whole sectors of 32 bytes: the fewer, the faster.";

export class WarpsPane extends AskingPane {
  readonly element = h("div", { class: "scroll warps" });
  protected readonly place = h("div", {});
  /** The area below the fields: accesses, or the reason why there are none for such sizes. */
  private readonly body = h("div", { class: "warps-body" });
  private readonly status = h("p", { class: "quiet", role: "status" });
  private readonly fields = new SymbolFields();
  private readonly run = h("button", { title: "On the server's processor, with every access seen" }, "Observe a run");
  private readonly list = h("ol", { class: "remarks warp-list", "aria-label": "Accesses, most wasteful first" });
  private readonly fresh: Fresh;
  private readonly pictured: Pictured;
  /** True if the focus was on a switch, which the next answer takes away. */
  private switched = false;
  private sizes: Record<string, number> = {};
  private shown: { op: "accesses" | "observe"; request: Costs["request"]; of: Text } | null = null;
  /** The answer in the link that is shown, until other sizes are requested. */
  private held: Costs | null = null;
  private readonly reload = debounce(200, () => {
    this.held = null;
    this.refresh(true);
  });

  /** `disable`: what is switched off from now on. */
  constructor(
    model: Model,
    private readonly link: Link,
    private readonly proof: ShowProof,
    private readonly disable: (ids: string[]) => void,
  ) {
    super(model, "The cost of accesses is computed");
    this.fresh = new Fresh(model, this.place);
    this.pictured = new Pictured(link, this.body, "warps");
    this.element.append(this.fresh.element);
    this.run.addEventListener("click", () => this.seen && void this.ask(this.seen, true));
    model.on("entry", () => this.refresh(true));
    model.sizes.on((by) => by === this || this.refresh(true));
  }

  protected override get kept(): boolean {
    return this.model.frozen !== null && this.held !== null;
  }

  readonly share: Share = {
    asked: () => {
      const { shown } = this;
      return shown && sameText(shown.of, this.model.now) ? [{ op: shown.op, request: shown.request }] : [];
    },
    restore: (kept) => {
      const found = kept.find((one) => one.op === "accesses" || one.op === "observe");
      this.held = found?.answer?.ok ? found : null;
      this.shown = null;
    },
  };

  protected async ask(of: Text, observe = false): Promise<void> {
    const { entry } = this.model;
    const held = this.kept && !observe ? this.held : null;
    const sizes = this.known(of);
    const request = held?.request ?? { sizes, as_costs: true, ...(entry ? { entry } : {}) };
    const op = held?.op ?? (observe ? "observe" : "accesses");
    this.observing(observe);
    const asked = held
      ? Promise.resolve(held.answer!)
      : observe
        ? client.post("observe", { ...of, ...request })
        : client.ask("accesses", request, of);
    const changeable = this.place.contains(this.body) && this.drawn === of.source;
    const answer = await this.fresh.answer(of, asked, changeable ? this.body : this.place);
    this.observing(false);
    if (!answer) return;
    // Only now is it known which sizes the program has.
    const chosen = this.model.sizes.of(Object.keys(answer.sizes));
    const isOther = Object.entries(chosen).some(([name, value]) => sizes[name] !== value);
    if (!held && isOther) {
      this.sizes = { ...answer.sizes, ...this.sizes, ...chosen };
      return this.ask(of, observe);
    }
    this.shown = { op, request, of };
    this.drawn = of.source;
    this.draw(answer, request.entry);
  }

  /** A run takes a while: a C compiler makes it, and every access is recorded. */
  private observing(now: boolean): void {
    this.run.disabled = now;
    this.run.textContent = now ? "Observing…" : "Observe a run";
  }

  /** The sizes of a lesson or puzzle, whatever becomes of its program. */
  private supposed: Readonly<Record<string, number>> = {};

  /** Use these sizes in questions until others are typed, also after an edit of the program. */
  suppose({ sizes }: Pick<LessonAnswer, "sizes">): void {
    this.supposed = sizes;
    this.sizes = { ...sizes };
    this.sizesOf = this.model.source;
  }

  /** The sizes that were typed; for another text, which may have other ones, those that are supposed. */
  private known(of: Text): Record<string, number> {
    if (this.sizesOf !== of.source) this.sizes = { ...this.supposed };
    this.sizesOf = of.source;
    return this.sizes;
  }
  private sizesOf = "";
  /** The source whose sizes the fields have. */
  private drawn = "";

  private draw(answer: AccessesAnswer, entry: string | undefined): void {
    this.fields.show(
      Object.entries(answer.sizes).map(([name, value]) => ({ name, label: name, value })),
      (name, value) => {
        this.sizes = { ...answer.sizes, ...this.sizes, [name]: value };
        this.model.sizes.choose(name, value, this);
        this.reload();
      },
    );
    const [count, kernels] = [answer.accesses.length, answer.kernels.length];
    const how = answer.observed ? "seen in a run" : "predicted from index functions";
    const of = entry ? ` of the entry point ${entry}` : "";
    this.status.textContent = count
      ? `${count} ${count === 1 ? "access" : "accesses"} of ` +
        `${kernels === 1 ? "1 kernel" : `${kernels} kernels`}${of}, ${how}`
      : `Nothing${of} runs on the GPU${Object.keys(answer.sizes).length ? " with these values" : ""}.`;
    this.list.replaceChildren();
    fillSlowly(this.list, answer.accesses, (access, k) => this.card(access, k));
    const faults = answer.faults.map((fault) =>
      h("p", { class: "access-missing" }, `${fault.says}: `, h("code", {}, fault.text)),
    );
    replace(this.place, h("div", { class: "warps-asked" }, this.fields.element, this.run), this.body);
    replace(
      this.body,
      this.status,
      foretold(answer),
      count ? h("p", { class: "quiet" }, MEANS) : null,
      ...faults,
      answer.observed && answer.because ? h("p", { class: "quiet" }, answer.because) : null,
      this.list,
      count ? scrolling("Accesses", accessTable(answer)) : null,
      this.loops(answer),
    );
    if (this.switched) this.list.querySelector("summary")?.focus();
    this.switched = false;
  }

  /** The same of the C program, whose iterations ask one after the other. */
  private loops({ loops }: Partial<AccessesAnswer>): HTMLElement | null {
    if (!loops?.length) return null; // links of the first versions keep none
    return h(
      "section",
      {},
      h("h2", {}, "In C"),
      h(
        "p",
        { class: "quiet" },
        "The order in which the iterations of the innermost loop access cells, from the C code alone. If " +
          "the C compiler vectorises the loop is not known here.",
      ),
      fillSlowly(
        h("ol", { class: "remarks warp-list", "aria-label": "Accesses of C loops by the lines that they touch" }),
        loops,
        (one) => this.turns(one),
      ),
      scrolling("Accesses of C loops", loopTable(loops)),
    );
  }

  private turnsDrawn(access: LoopAccess): Element[] {
    if (!areExact(access.touched)) return [h("p", { class: "quiet" }, FAR)];
    const drawn = drawTurns(access);
    const told = [
      `Each iteration is ${elements(access.elements!)} of ${access.size} bytes further on.`,
      wasted(drawn),
      "This assumes that the lowest cell is the first of a line.",
    ];
    return [
      drawn,
      h("p", { class: "quiet" }, told.filter(Boolean).join(" ")),
      h("details", {}, h("summary", {}, "As a table"), turnsTable(access)),
    ];
  }

  private turns(access: LoopAccess): HTMLElement {
    const where = { spans: access.src, origin: "warps", line: -1 };
    const picture = h("div", {});
    const details = h(
      "details",
      {},
      h("summary", {}, h("strong", {}, access.says), " ", h("code", {}, accessName(access))),
      picture,
    );
    details.addEventListener(
      "toggle",
      () =>
        details.open && !picture.firstChild && access.touched.length && replace(picture, ...this.turnsDrawn(access)),
    );
    return this.pictured.part(
      h(
        "li",
        {
          class: "remark warp-access",
          onmouseenter: () => this.link.hover(where),
          onmouseleave: () => this.link.hover(null),
        },
        h(
          "div",
          {},
          details,
          h(
            "p",
            { class: "remark-meta" },
            `loop over ${access.index}, line ${access.line} of the C text `,
            access.simd ? h("span", {}, "the code requests vectorisation ") : null,
            access.src[0]
              ? h("button", { class: "link", onclick: () => this.link.choose(where) }, placeName(access.src[0]))
              : null,
          ),
        ),
      ),
      access.src,
    );
  }

  /** Show the remarks about the coalescing of an access. */
  private mended(access: WarpAccess): HTMLElement | null {
    const remarks = remarksOf(access);
    const all = this.model.options.disable ?? [];
    if (remarks.length) {
      const done = [
        ...new Set(remarks.filter(({ kind, rule }) => kind === "applied" && isMending(rule)).map(({ rule }) => rule)),
      ];
      return h(
        "div",
        {},
        h(
          "ul",
          { class: "remarks", "aria-label": "What the compiler did about it" },
          ...remarks.map((remark) => remarkItem(remark, this.model, this.link, this.proof)),
        ),
        done.length && !this.model.frozen
          ? h(
              "p",
              { class: "access-off" },
              "See what it would cost without ",
              ...done.flatMap((id, k) => [k ? " or " : "", this.switch(h("code", {}, id), [...all, id])]),
              ".",
            )
          : null,
      );
    }
    const { sectors, fewest } = access.seen ?? access.predicted;
    if (access.shared || sectors <= fewest) return null;
    const off = all.filter(isMending);
    return off.length
      ? h(
          "p",
          { class: "access-off" },
          "Switched off, so not tried here: ",
          ...off.flatMap((id, k) => [k ? ", " : "", h("code", {}, id)]),
          ". ",
          this.model.frozen
            ? null
            : this.switch(
                off.length === 1 ? "Switch it on again" : "Switch them on again",
                all.filter((id) => !isMending(id)),
              ),
        )
      : h("p", { class: "quiet" }, "The compiler has no remark on how to avoid this.");
  }

  /** Has the program compiled with these switched off, and nothing else. */
  private switch(words: Node | string, disable: string[]): HTMLElement {
    return h(
      "button",
      {
        class: "link",
        onclick: () => {
          this.switched = true;
          this.disable(disable);
        },
      },
      words,
    );
  }

  private card(access: WarpAccess, at: number): HTMLElement {
    const where = { spans: access.src, origin: "warps", line: -1, faults: access.stride?.places ?? [] };
    const picture = h("div", {});
    const choice = h(
      "select",
      { "aria-label": "Which request" },
      ...access.samples.map(({ warp, step }, k) => h("option", { value: k }, `warp ${warp}, request ${step}`)),
    );
    const show = (): void => {
      const request = access.samples[Number(choice.value)];
      if (!request) return;
      if (!areExact(request.lanes)) return replace(picture, h("p", { class: "quiet" }, FAR));
      const drawn = drawRequest(access, request.lanes);
      replace(
        picture,
        drawn,
        h("p", { class: "quiet" }, legend(access, request, drawn)),
        h("details", {}, h("summary", {}, "As a table"), requestTable(access, request)),
      );
    };
    choice.addEventListener("change", show);
    const details = h(
      "details",
      { open: at === 0 },
      h("summary", {}, h("strong", {}, access.says), " ", formula(access)),
      access.samples.length ? choice : null,
      picture,
      this.mended(access),
      counts(access),
    );
    details.addEventListener("toggle", () => details.open && !picture.firstChild && show());
    if (at === 0) show();
    return this.pictured.part(
      h(
        "li",
        {
          class: "remark warp-access",
          onmouseenter: () => this.link.hover(where),
          onmouseleave: () => this.link.hover(null),
        },
        h(
          "div",
          {},
          details,
          h(
            "p",
            { class: "remark-meta" },
            `${access.kind === "both" ? "updates" : access.kind}, kernel ` +
              `${access.kernel}, line ${access.line} of the CUDA text `,
            access.src[0]
              ? h("button", { class: "link", onclick: () => this.link.choose(where) }, placeName(access.src[0]))
              : null,
          ),
        ),
      ),
      access.src,
    );
  }
}

/** The cell, with what sets neighbouring lanes apart underlined where that is at fault. */
function formula({ array, cell, stride }: WarpAccess): HTMLElement {
  const found: Node[] = [];
  let at = 0;
  for (const [from, to] of stride?.places.length ? stride.factors : []) {
    if (from! < at) continue;
    found.push(
      document.createTextNode(cell.slice(at, from)),
      h(
        "span",
        { class: "stride-fault", title: `Neighbouring lanes are ${elements(stride!.elements)} apart.` },
        cell.slice(from, to),
      ),
    );
    at = to!;
  }
  return h("code", {}, `${array}[`, ...found, `${cell.slice(at)}]`);
}

/** True if a pass or a rule lets neighbouring lanes find their elements together. */
const isMending = (id: string): boolean => id === "coalesce" || id.startsWith("coalesce/") || id === "kernels/squares";

/** Links of the first versions keep none. */
const remarksOf = ({ remarks }: Partial<WarpAccess>): Remark[] => remarks ?? [];

const FAR = "Not drawn: these addresses have more than 53 bits.";

const elements = (count: string): string => (count === "1" ? "1 element" : `${count} elements`);

const scrolling = (label: string, table: HTMLElement): HTMLElement =>
  h("div", { class: "table-scroll", tabindex: 0, role: "group", "aria-label": label }, table);

/** Describe the picture. */
function legend(access: WarpAccess, request: WarpRequest, drawn: Element): string {
  const stride = strideOf(request);
  const told =
    access.stride && access.stride.elements !== "0"
      ? `: ${elements(access.stride.elements)} of ${access.size === 1 ? "1 byte" : `${access.size} bytes`}`
      : "";
  const apart =
    stride === null
      ? ""
      : stride
        ? `Neighbouring lanes are ${stride} bytes apart${told}.`
        : "All lanes touch the same cell.";
  const banks = access.shared
    ? "Below: the 32 banks of shared memory, each with a word of 4 bytes for every pass." +
      (drawn.querySelector(".later") ? " A bank delivers one word at a time: dashed lines wait for a later pass." : "")
    : "";
  return [apart, banks, wasted(drawn)].filter(Boolean).join(" ");
}

/** Describe the marks of wasted bytes in a picture. */
const wasted = (drawn: Element): string =>
  [
    drawn.querySelector(".sector .unused") ? "Hatched: fetched and not used." : "",
    drawn.querySelector(".ghost") ? "Dashed: enough if the used bytes were contiguous." : "",
  ]
    .filter(Boolean)
    .join(" ");

/** All requests of an access: predicted, seen, and whether both agree. */
function counts(access: WarpAccess): HTMLElement {
  const names: (keyof RequestCounts)[] = access.shared
    ? ["passes", "least", "requests", "lanes"]
    : ["sectors", "fewest", "requests", "lanes", "bytes"];
  const differs = access.agrees === false && !access.because;
  const note = access.because
    ? `Not certain: ${access.because}.`
    : differs
      ? "The two differ: this is a defect of the compiler."
      : "";
  const from: [string, RequestCounts][] = [
    ["predicted", access.predicted],
    ...(access.seen ? [["seen", access.seen] as [string, RequestCounts]] : []),
  ];
  const table = h(
    "table",
    { class: "cells-table" },
    h("caption", { class: "visually-hidden" }, "All requests"),
    h(
      "thead",
      {},
      h("tr", {}, ...["All requests", ...from.map(([name]) => name)].map((name) => h("th", { scope: "col" }, name))),
    ),
    h(
      "tbody",
      {},
      ...names.map((one) =>
        h("tr", {}, h("th", { scope: "row" }, one), ...from.map(([, of]) => h("td", {}, grouped(of[one])))),
      ),
    ),
  );
  return h("div", {}, table, note ? h("p", { class: differs ? "access-missing" : "quiet" }, note) : null);
}

/** All accesses with what they cost, those that waste most first; of banks only where some access has them. */
function accessTable({ accesses }: AccessesAnswer): HTMLElement {
  const cost = (access: WarpAccess): RequestCounts => access.seen ?? access.predicted;
  const agrees = (access: WarpAccess): string =>
    !access.seen ? "only" : access.because ? "not certain" : access.agrees === false ? "otherwise" : "the same";
  const counted = (names: readonly (keyof RequestCounts)[]): Column<WarpAccess>[] =>
    names.map((name) => [name[0]!.toUpperCase() + name.slice(1), (access) => grouped(cost(access)[name])]);
  return tableOf("All accesses", accesses, [
    [
      "Access",
      (access) => h("code", {}, `${access.kind === "both" ? "updates" : access.kind} ${access.array}[${access.cell}]`),
    ],
    ...counted(["sectors", "fewest"]),
    ...(accesses.some(({ shared }) => shared) ? counted(["passes", "least"]) : []),
    ["Apart", ({ stride }) => stride?.elements ?? ""],
    ["Kernel", ({ kernel }) => kernel],
    ["Line", ({ line }) => String(line)],
    ["A request", ({ says }) => says, "words"],
    ...counted(["requests", "lanes", "bytes"]),
    ["Predicted", agrees],
    [
      "Remarks",
      (access) =>
        remarksOf(access)
          .map(({ rule, kind }) => `${rule} ${kind}`)
          .join(", "),
    ],
  ]);
}

export const pane: PaneKind = {
  id: "warps",
  title: "Warps",
  order: 60,
  group: "Cost",
  about: "what accesses cost: coalescing, sectors, banks, cache lines, vectors",
  answers: ["accesses", "observe"],
  make: ({ model, link, attempts, options }) =>
    new WarpsPane(
      model,
      link,
      (remark) => attempts.showOf(remark),
      (disable) => options({ disable }),
    ),
};
