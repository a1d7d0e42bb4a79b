// One compilation, A, against the program as it is now: what differs, which is faster, and switches to try.
import * as client from "../client";
import { announce, bytes, debounce, h, quoted, replace, s } from "../dom";
import { statesOf, type Model, type Pinned, type Text } from "../model";
import type { Pins } from "../pinned";
import { changes } from "../rail";
import type { EntryTime, Forest, LifeFunction, Pass, Problem, Remark, StageInfo, TreeNode } from "../types";
import { thresholdChoice } from "./threshold";
import { inShort } from "./foretold";
import { exactly, spreadOf } from "./times";
import type { Desk, PaneKind } from "./pane";

const ANOTHER_PROGRAM =
  " You have opened another program, so chips and panes do not compare with A until you choose A in a pane.";
const ROUNDS = 10;

export class ComparePane {
  readonly element = h("div", { class: "scroll compare" });
  private visible = false;
  private readonly what = h("p", {});
  private readonly pinButton = h("button", { onclick: () => void this.pins.now() });
  private readonly unpin = h(
    "button",
    {
      onclick: () => {
        this.pins.unpin();
        this.pinButton.focus();
      },
    },
    "Unpin",
  );
  private readonly beside = h("button", { title: "F8", onclick: () => this.desk.beside() }, "Show A beside the source");
  private readonly field = h("input", { type: "text", "aria-label": "A from a link", placeholder: "https://…/z/…" });
  private readonly head = h(
    "div",
    {},
    this.what,
    h(
      "p",
      { class: "run-top" },
      this.pinButton,
      this.unpin,
      this.beside,
      h("label", { class: "run-size" }, "or a link ", this.field),
      h("button", { onclick: () => void this.pins.take(this.field.value) }, "Take it as A"),
    ),
  );
  private readonly said = h("p", { class: "said", role: "alert" });
  private readonly differences = h("div", {});
  private readonly memory = h("div", {});
  private readonly foretold = h("div", {});
  private readonly race = h("div", { "aria-live": "polite" });
  private readonly options = h("div", { class: "switch" });
  private readonly switches = h("div", {});
  private readonly rewrites = h("div", {});
  private readonly thresholds = h("div", {});
  private stopping: AbortController | null = null;
  private asked: Text | null = null;
  private versions: Text | null = null;
  private stepping = 0;
  /** The text of A that is shown against. */
  private pinnedText: Text | undefined;
  private readonly model: Model;
  private readonly pins: Pins;

  constructor(private readonly desk: Desk) {
    const { model, pins } = desk;
    this.model = model;
    this.pins = pins;
    this.element.append(
      this.head,
      this.said,
      this.differences,
      this.memory,
      this.foretold,
      this.race,
      h("details", {}, h("summary", {}, "Options: off by default"), this.options),
      h("details", {}, h("summary", {}, "Passes and rules"), this.switches),
      h("details", {}, h("summary", {}, "Rewrite by rewrite"), this.rewrites),
      h("details", {}, h("summary", {}, "Versions: thresholds"), this.thresholds),
    );
    const soon = debounce(80, () => this.draw());
    for (const topic of ["stages", "status", "pinned", "frozen"] as const) model.on(topic, soon);
    model.on("pinned", () => this.forget());
    this.drawHead();
    pins.onSaid((message) => {
      this.said.textContent = message;
    });
  }

  show(visible: boolean): void {
    this.visible = visible;
    this.draw();
  }

  /** Forget the measurements of another A. */
  private forget(): void {
    const text = this.model.pinned?.text;
    if (text === this.pinnedText) return;
    this.pinnedText = text;
    this.asked = null;
    this.stopping?.abort();
    replace(this.race);
  }

  private drawHead(): void {
    const { pinned } = this.model;
    const error = pinned && failed(pinned);
    replace(
      this.what,
      ...quoted(
        pinned
          ? `A is ${pinned.label}. B is what the page shows now.` +
              (error ? ` A does not compile: ${error.message}` : "") +
              (pinned.apart ? ANOTHER_PROGRAM : "")
          : "Pin a compilation as A. Panes, chips and this tab then show what differs from A.",
      ),
    );
    this.pinButton.textContent = pinned ? "Pin the current compilation" : "Pin as A";
    this.unpin.hidden = this.beside.hidden = !pinned;
  }

  // --- differences ---

  private draw(): void {
    if (!this.visible) return;
    this.drawSwitches();
    const { pinned, made, status } = this.model;
    const settled = made !== null && status.phase === "idle";
    if (settled && made !== this.versions) void this.drawThresholds((this.versions = made));
    if (settled && this.model.options.fuel === undefined && !this.rewrites.contains(document.activeElement))
      this.drawFuel();
    this.drawHead();
    this.race.hidden = this.memory.hidden = this.foretold.hidden = !pinned;
    if (!pinned) return replace(this.differences);
    if (!settled) return;
    const isMade = !failed(pinned) && !pinned.pending;
    this.race.hidden = this.memory.hidden = this.foretold.hidden = !isMade;
    if (!pinned.pending) this.desk.texts.whole([...Object.entries(pinned.stages), ...this.model.stages]);
    replace(this.differences, this.stages(pinned), isMade ? remarksOf(pinned.remarks, this.model.remarks) : null);
    if (!this.race.childElementCount) this.offerRace();
    if (isMade && made !== this.asked) {
      this.asked = made;
      void this.drawMemory(pinned, made);
      void this.drawForetold(pinned, made);
    }
  }

  private stages(pinned: Pinned): HTMLElement {
    const rows = this.model.present().map(({ id, title }) => {
      const [a, b] = [pinned.stages[id], this.model.stages.get(id)!];
      const [before, now] = [a?.lines ?? null, b.lines];
      const isKnown = before !== null && now !== null;
      const same = isKnown && before.length === now.length && before.every((line, k) => line.text === now[k]!.text);
      const differs = !a
        ? "not in A"
        : same
          ? "the same"
          : changes(a.counts, b.counts).join(", ") || (isKnown ? "other text" : "…");
      return h(
        "tr",
        {},
        h("th", { scope: "row" }, h("button", { class: "link", onclick: () => this.desk.turnTo(id) }, title)),
        h("td", {}, a ? (before?.length ?? "…") : "–"),
        h("td", {}, now?.length ?? "…"),
        h("td", { class: "words" }, differs),
      );
    });
    return table("Stages", ["Stage", "Lines in A", "in B", "B has"], rows);
  }

  private async drawMemory(pinned: Pinned, now: Text): Promise<void> {
    const stage = this.model.manifest.filter(({ memory, id }) => memory && this.model.stages.has(id)).at(-1)?.id;
    if (!stage || this.model.frozen) return replace(this.memory);
    const [a, b] = await Promise.all(
      [pinned.text, now].map((text) => client.post("lifetimes", { ...text, stage, values: {} })),
    );
    if (now !== this.asked || !a?.ok || !b?.ok) return;
    const names = [...new Set([...a.functions, ...b.functions].map(({ name }) => name))];
    const cells = (fun: LifeFunction | undefined): [string, string] => {
      const made = fun?.blocks.filter(({ kind }) => kind === "alloc") ?? [];
      return fun ? [String(made.length), bytes(fun.peak?.bytes ?? 0)] : ["–", "–"];
    };
    replace(
      this.memory,
      table(
        "Memory, for the initial sizes of the tab Memory",
        ["Function", "Blocks in A", "in B", "Peak in A", "in B"],
        names.map((name) => {
          const [x, y] = [a, b].map(({ functions }) => cells(functions.find((fun) => fun.name === name)));
          return h(
            "tr",
            {},
            h("th", { scope: "row" }, name),
            h("td", {}, x![0]),
            h("td", {}, y![0]),
            h("td", {}, x![1]),
            h("td", {}, y![1]),
          );
        }),
      ),
    );
  }

  // --- which is faster ---

  /** Draw the predicted times of both on a GPU. */
  private async drawForetold(pinned: Pinned, now: Text): Promise<void> {
    if (this.model.frozen) return replace(this.foretold);
    const sizes = this.model.sizes.wanted;
    const [a, b] = await Promise.all([pinned.text, now].map((text) => client.ask("costs", { sizes }, text)));
    if (now !== this.asked) return;
    const [of, to] = [a, b].map((answer) => (answer?.ok ? (answer.foretold ?? []) : []));
    const names = [...new Set([...of!, ...to!].map(({ entry }) => entry))];
    if (!names.length) return replace(this.foretold);
    const cell = (times: readonly EntryTime[], name: string) => {
      const found = times.find(({ entry }) => entry === name);
      return h("td", { class: "words" }, found ? inShort(found) : "–");
    };
    replace(
      this.foretold,
      table(
        "Predicted, for the sizes of the line above",
        ["Entry point", "A", "B"],
        names.map((name) => h("tr", {}, h("th", { scope: "row" }, name), cell(of!, name), cell(to!, name))),
      ),
      h("p", { class: "quiet" }, `Times are foretold: ${[...of!, ...to!][0]!.how_far}.`),
    );
  }

  private offerRace(): void {
    replace(
      this.race,
      h("p", {}, h("button", { onclick: () => void this.compete() }, `Run A and B ${ROUNDS} times, in turn`)),
    );
  }

  private async compete(): Promise<void> {
    const { pinned, made } = this.model;
    if (!pinned || !made) return;
    const mine = (this.stopping = new AbortController());
    const said = h("span", { class: "quiet" });
    replace(this.race, h("p", { class: "run-top" }, h("button", { onclick: () => mine.abort() }, "Stop"), said));
    const request = this.desk.run.request();
    const times: [number[], number[]] = [[], []];
    const peaks: (number | undefined)[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [k, text] of [pinned.text, made].entries()) {
        said.textContent = `Round ${round + 1} of ${ROUNDS}, ${"AB"[k]}…`;
        const answer = await client.post("run", { ...text, ...request, runs: 1 }, mine.signal);
        if (mine.signal.aborted) return this.stopping === mine ? this.offerRace() : undefined;
        if (!answer.ok) {
          this.offerRace();
          return this.race.append(h("p", { class: "said" }, `${"AB"[k]}: ${answer.error.message}`));
        }
        times[k]!.push(Math.min(...(answer.times ?? [answer.ms])));
        peaks[k] = answer.peak_bytes;
      }
    }
    this.offerRace();
    this.race.append(plotted(times), timesTable(times, peaks));
    announce("The runs have finished.");
  }

  // --- options ---

  private drawSwitches(): void {
    if (this.switches.childElementCount) return this.checkSwitches();
    replace(this.switches, h("p", { class: "quiet" }, "…"));
    client.switches().then(
      (passes) => {
        replace(
          this.options,
          ...passes
            .flatMap(({ rules }) => rules)
            .filter(({ asked }) => asked)
            .map(({ id, does }) => this.box("enable", id, does)),
        );
        replace(this.switches, ...passes.map((pass) => this.pass(pass)));
        this.checkSwitches();
      },
      () => replace(this.switches),
    );
  }

  private pass({ id, does, rules }: Pass): HTMLElement {
    const usual = rules.filter(({ asked }) => !asked);
    return h(
      "div",
      { class: "switch" },
      this.box("disable", id, does),
      usual.length
        ? h(
            "details",
            {},
            h("summary", {}, `${usual.length} ${usual.length === 1 ? "rule" : "rules"}`),
            ...usual.map((rule) => this.box("disable", rule.id, rule.does)),
          )
        : null,
    );
  }

  /** A box for a pass or a rule, which is on where `enable` names it, or `disable` does not. */
  private box(option: "disable" | "enable", id: string, does: string): HTMLElement {
    const box = h("input", { type: "checkbox", "data-switch": id });
    box.addEventListener("change", () => {
      const named = this.boxes(option).filter(({ checked }) => checked === (option === "enable"));
      this.desk.options({ [option]: named.map((one) => one.dataset.switch!) });
    });
    return h("label", { class: "check" }, box, h("span", {}, h("code", {}, id), " ", does));
  }

  private boxes(option: "disable" | "enable"): HTMLInputElement[] {
    return [
      ...(option === "enable" ? this.options : this.switches).querySelectorAll<HTMLInputElement>("[data-switch]"),
    ];
  }

  private checkSwitches(): void {
    for (const option of ["disable", "enable"] as const) {
      const named = this.model.options[option] ?? [];
      for (const box of this.boxes(option)) box.checked = named.includes(box.dataset.switch!) === (option === "enable");
    }
  }

  /**
   * A slider through the rewrites: the last one that was done, with the stage that it changed against the
   * stage before it.
   */
  private drawFuel(): void {
    const most = this.model.remarks.filter(({ kind }) => kind === "applied").length;
    const slider = h("input", {
      type: "range",
      min: 0,
      max: most,
      value: this.model.options.fuel ?? most,
      "aria-label": "Rewrites",
    });
    const number = h("output", {});
    const shown = h("div", { "aria-live": "polite" });
    const all = h(
      "button",
      {
        onclick: () => {
          this.desk.options({ fuel: undefined });
          slider.value = slider.max;
          replace(shown);
          number.textContent = "all";
          this.stepping += 1;
          this.pins.again();
        },
      },
      "All",
    );
    number.textContent = String(this.model.options.fuel ?? "all");
    const step = debounce(150, () => void this.step(Number(slider.value), shown));
    slider.addEventListener("input", () => {
      number.textContent = slider.value;
      step();
    });
    replace(
      this.rewrites,
      h("p", { class: "run-top" }, slider, number, all),
      h("p", { class: "quiet" }, "Stops the compiler after this many rewrites, and shows the effect of the last one."),
      shown,
    );
  }

  private async step(fuel: number, shown: HTMLElement): Promise<void> {
    const mine = (this.stepping += 1);
    this.desk.options({ fuel });
    if (!fuel) return replace(shown, h("p", {}, "The compiler makes no rewrite."));
    const { now } = this.model;
    const of = (count: number): Text => ({ ...now, options: { ...now.options, fuel: count } });
    const ask = (count: number) => client.post("show", { ...of(count), texts: [] });
    const [before, after] = [await ask(fuel - 1), await ask(fuel)];
    if (mine !== this.stepping) return;
    if (!before.ok || !after.ok)
      return replace(
        shown,
        h(
          "p",
          { class: "said" },
          before.ok ? (after as { error: { message: string } }).error.message : before.error.message,
        ),
      );
    const known = before.remarks.map(keyOf);
    const done = after.remarks.find((one) => one.kind === "applied" && !taken(known, keyOf(one)));
    const stage = await this.changed(of(fuel - 1), of(fuel), done?.stage);
    if (mine !== this.stepping) return;
    if (!stage)
      return replace(shown, h("p", {}, done ? `${done.rule} changed nothing visible.` : "There are no more rewrites."));
    this.model.pinned = {
      label: `the program after ${fuel === 2 ? "1 rewrite" : `${fuel - 1} rewrites`}`,
      text: of(fuel - 1),
      stages: statesOf(before.stages, of(fuel - 1)),
      remarks: before.remarks,
      problems: [],
    };
    this.model.emit("pinned");
    this.desk.turnTo(stage.id);
    this.pins.stand();
    replace(
      shown,
      h(
        "p",
        {},
        done ? h("code", {}, done.rule) : "A rewrite",
        ` changed ${stage.title}${done?.src[0] ? `, line ${done.src[0][0]}` : ""}. `,
        ...quoted(done?.because ?? ""),
      ),
    );
  }

  /** The first stage, from that of the rewrite on, whose text is another one. */
  private async changed(before: Text, after: Text, from = ""): Promise<StageInfo | undefined> {
    const { manifest } = this.model;
    for (const info of manifest.slice(
      Math.max(
        0,
        manifest.findIndex(({ id }) => id === from),
      ),
    )) {
      const [a, b] = await Promise.all([before, after].map((text) => client.post("text", { ...text, stage: info.id })));
      if (!a?.ok || !b?.ok) return undefined;
      if (a.stage.text !== b.stage.text) return info;
    }
    return undefined;
  }

  private async drawThresholds(of: Text): Promise<void> {
    if (this.model.frozen) return replace(this.thresholds, h("p", { class: "quiet" }, "A link cannot be changed."));
    const answer = await client.ask("tuning", {}, of);
    if (!answer.ok || this.thresholds.contains(document.activeElement)) return;
    const found = branches(answer.trees);
    replace(
      this.thresholds,
      found.length ? "" : h("p", { class: "quiet" }, "The program has one version of its code."),
      ...found.map((branch) =>
        h(
          "p",
          { class: "run-top" },
          h("code", {}, branch.threshold ?? ""),
          thresholdChoice(this.model, (options) => this.desk.options(options), branch),
        ),
      ),
    );
  }
}

/** Why A does not compile, if it does not. */
const failed = ({ problems }: Pinned): Problem | undefined => problems.find(({ kind }) => kind !== "warning");

const keyOf = (remark: Remark): string => JSON.stringify([remark.kind, remark.rule, remark.because, remark.src]);

/** Remove one occurrence from a list; true if there was one. */
function taken(list: string[], one: string): boolean {
  const at = list.indexOf(one);
  if (at >= 0) list.splice(at, 1);
  return at >= 0;
}

function branches(trees: readonly Forest[]): TreeNode[] {
  const within = (node: TreeNode): TreeNode[] => [
    ...(node.kind === "branch" ? [node] : []),
    ...[node.then, node.orelse, node.body].flatMap((inner) => (inner ?? []).flatMap(within)),
  ];
  const all = trees.flatMap((forest) => forest.trees.flatMap(within));
  return all.filter((node, k) => all.findIndex(({ threshold }) => threshold === node.threshold) === k);
}

function remarksOf(a: readonly Remark[], b: readonly Remark[]): HTMLElement {
  const only = (these: readonly Remark[], those: readonly Remark[]) => {
    const known = those.map(keyOf);
    return these.filter((one) => !taken(known, keyOf(one)));
  };
  const list = (name: string, these: readonly Remark[]) =>
    these.length
      ? h(
          "details",
          { open: these.length < 6 },
          h("summary", {}, `${these.length} ${these.length === 1 ? "remark" : "remarks"} only in ${name}`),
          h(
            "ul",
            { class: "remarks" },
            ...these.map((one) =>
              h(
                "li",
                {},
                h("span", { class: `badge ${one.kind}` }, one.kind),
                " ",
                h("code", {}, one.rule),
                " ",
                ...quoted(one.because),
              ),
            ),
          ),
        )
      : null;
  const [left, right] = [list("A", only(a, b)), list("B", only(b, a))];
  return h(
    "div",
    {},
    left ?? "",
    right ?? "",
    left || right ? "" : h("p", { class: "quiet" }, "The remarks are the same."),
  );
}

function table(caption: string, heads: readonly string[], rows: readonly HTMLElement[]): HTMLElement {
  return h(
    "div",
    { class: "table-wrap", tabindex: 0, role: "group", "aria-label": caption },
    h(
      "table",
      { class: "numbers" },
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, ...heads.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, ...rows),
    ),
  );
}

const [WIDTH, ROW, LEFT] = [420, 34, 20];

/** Each run of A and of B on one scale of time: strokes, the middle half as a box, the median. */
function plotted(times: readonly [number[], number[]]): SVGElement {
  const most = Math.max(...times.flat()) || 1;
  const x = (ms: number) => LEFT + (ms / most) * (WIDTH - LEFT - 10);
  const rows = times.flatMap((list, k) => {
    const { low, median, high } = spreadOf(list);
    const y = 6 + k * ROW;
    return [
      s("text", { x: 2, y: y + 15 }, "AB"[k]),
      s("rect", {
        x: x(low),
        y: y + 2,
        width: Math.max(1, x(high) - x(low)),
        height: 18,
        fill: `var(--hue-${k})`,
        opacity: 0.3,
      }),
      ...list.map((ms) => s("line", { x1: x(ms), x2: x(ms), y1: y + 6, y2: y + 16, stroke: `var(--hue-${k})` })),
      s("line", { x1: x(median), x2: x(median), y1: y, y2: y + 22, stroke: `var(--hue-${k})`, "stroke-width": 3 }),
    ];
  });
  const label = times.map((list, k) => `${"AB"[k]}: median ${exactly(spreadOf(list).median)}`).join(", ");
  return s(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${2 * ROW + 22}`, class: "plot", role: "img", "aria-label": label },
    ...rows,
    s("line", { x1: LEFT, x2: WIDTH - 10, y1: 2 * ROW + 4, y2: 2 * ROW + 4, class: "axis" }),
    s("text", { x: LEFT, y: 2 * ROW + 17 }, "0"),
    s("text", { x: WIDTH - 10, y: 2 * ROW + 17, "text-anchor": "end" }, exactly(most)),
  );
}

function timesTable(times: readonly [number[], number[]], peaks: readonly (number | undefined)[]): HTMLElement {
  const rows = times.map((list, k) => {
    const { least, low, median, high, most } = spreadOf(list);
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, "AB"[k]),
      ...[median, low, high, least, most].map((ms) => h("td", {}, exactly(ms))),
      h("td", {}, peaks[k] === undefined ? "–" : bytes(peaks[k]!)),
    );
  });
  const [a, b] = times.map((list) => spreadOf(list));
  const apart = b!.low > a!.high || a!.low > b!.high;
  const ratio = (b!.median / a!.median).toPrecision(3);
  return h(
    "div",
    {},
    table("Times", ["", "Median", "Quarter", "Three quarters", "Least", "Most", "Peak memory"], rows),
    h(
      "p",
      {},
      !a!.median || !b!.median
        ? ""
        : apart
          ? `B takes ${ratio} times what A takes.`
          : `The middle halves overlap, so no difference is measurable (${ratio} times).`,
    ),
  );
}

export const pane: PaneKind = {
  id: "compare",
  title: "Compare",
  order: 100,
  group: "Compare",
  about: "two compilations: differences, switches of passes and rules, rewrite by rewrite, race",
  make: (desk) => new ComparePane(desk),
};
