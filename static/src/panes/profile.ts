// Where the time of a run goes: by line, by kernel, copy and allocation, and the stage that each is from. Of CUDA
// nothing is timed: what its kernels fetch is counted where they run on the processor.
import * as client from "../client";
import { announce, grouped, h, milliseconds, replace } from "../dom";
import { Fresh } from "../fresh";
import type { Profile } from "../kept";
import { sameText, type Model, type Text } from "../model";
import { messageElement } from "../messages";
import type { Share } from "./pane";
import { placeName } from "../spans";
import type { Failure, ProfileAnswer, ProfileCounts, ProfilePart, Span } from "../types";

export interface ProfileEvents {
  /** When the entry points of the program as it is now are known. */
  known(): Promise<void>;
  /** The run as it is set up. */
  request(): Profile["request"];
  goTo(span: Span): void;
  open(stage: string): void;
}

export class ProfileBox {
  readonly element: HTMLElement;
  private readonly button = h(
    "button",
    { title: "Measure kernels, copies and allocations in C; for CUDA count the sectors that its kernels fetch" },
    "Profile",
  );
  private readonly place = h("div", { class: "profile" });
  private readonly fresh: Fresh;
  private request: Profile["request"] = {};
  private of: Text | null = null;
  private stopping: AbortController | null = null;

  constructor(
    private readonly model: Model,
    private readonly events: ProfileEvents,
  ) {
    this.fresh = new Fresh(model, this.place);
    this.element = h("section", { class: "expressions", "aria-label": "Profile" }, this.button, this.fresh.element);
    this.button.addEventListener("click", () => (this.stopping ? this.stopping.abort() : void this.run()));
  }

  readonly share: Share = {
    asked: () => (this.of && sameText(this.of, this.model.now) ? [{ op: "profile", request: this.request }] : []),
    restore: (asked) => {
      this.stopping?.abort();
      this.of = null;
      this.fresh.made(null);
      replace(this.place);
      const kept = asked.find(({ op }) => op === "profile");
      if (kept?.op === "profile" && kept.answer) this.show(kept.answer, kept.request, this.model.now);
    },
  };

  private async run(): Promise<void> {
    const mine = (this.stopping = new AbortController());
    this.button.textContent = "Stop";
    await this.events.known();
    const [of, request] = [this.model.now, this.events.request()];
    const answer = await client.post("profile", { ...of, ...request }, mine.signal);
    this.stopping = null;
    this.button.textContent = "Profile";
    if (mine.signal.aborted) return announce("Stopped.");
    this.show(answer, request, of);
    this.element.scrollIntoView({ block: "nearest" });
    announce(
      !answer.ok
        ? answer.error.message
        : answer.counts
          ? howCounted(answer.counts)
          : `Profile of ${milliseconds(answer.ms)}.`,
    );
  }

  private show(answer: ProfileAnswer | Failure, request: Profile["request"], of: Text): void {
    this.request = request;
    this.of = of;
    this.fresh.made(of, answer);
    if (!answer.ok) return replace(this.place, messageElement(answer.error));
    if (answer.counts) return this.showCounts(answer.counts);
    const lines = new Map<string, [Span | null, number]>();
    for (const { src, ms } of answer.parts) {
      const name = src[0] ? lineName(src[0]) : "the prelude";
      lines.set(name, [src[0] ?? null, (lines.get(name)?.[1] ?? 0) + ms]);
    }
    const byTime = [...lines].sort(([, [, a]], [, [, b]]) => b - a);
    replace(
      this.place,
      this.table(
        "Time by line",
        ["Line", "Time"],
        [
          ...byTime.map(([name, [span, ms]]) => [span ? this.link(span, name) : name, share(ms, answer.ms)]),
          ["between", share(answer.rest_ms, answer.ms)],
        ],
      ),
      this.table(
        "Time by part",
        ["Part", "Line", "Since stage", "Calls", "Time"],
        answer.parts.map((part) => this.row(part, answer.ms)),
      ),
    );
  }

  private showCounts(counts: ProfileCounts): void {
    const whole = counts.lines.reduce((sum, { sectors }) => sum + sectors, 0);
    replace(
      this.place,
      h("p", { class: "quiet" }, howCounted(counts)),
      ...[...counts.faults, counts.because]
        .filter((text) => text)
        .map((text) => h("p", { class: "access-missing" }, text)),
      this.table(
        "Sectors of 32 bytes by line",
        ["Line", "Sectors"],
        counts.lines.map(({ src: [span], sectors }) => [
          span ? this.link(span, lineName(span)) : "the prelude",
          h("span", {}, grouped(sectors), `, ${percent(sectors, whole)}`),
        ]),
      ),
      this.table(
        "Kernels",
        ["Kernel", "Launches", "Blocks", "Requests"],
        counts.kernels.map(({ name, launches, blocks, requests }) => [
          name,
          grouped(launches),
          grouped(blocks),
          grouped(requests),
        ]),
      ),
    );
  }

  private row({ kind, name, src, stage, calls, ms }: ProfilePart, whole: number): (string | HTMLElement)[] {
    const title = this.model.info(stage)?.title ?? stage;
    return [
      `${kind} ${name}`,
      src[0] ? this.link(src[0], placeName(src[0])) : "",
      h("button", { class: "link", type: "button", onclick: () => this.events.open(stage) }, title),
      grouped(calls),
      share(ms, whole),
    ];
  }

  private link(span: Span, name: string): HTMLElement {
    return h("button", { class: "link place", type: "button", onclick: () => this.events.goTo(span) }, name);
  }

  private table(caption: string, heads: string[], rows: (string | HTMLElement)[][]): HTMLElement {
    return h(
      "div",
      { class: "table-scroll", tabindex: 0, role: "region", "aria-label": caption },
      h(
        "table",
        { class: "cells-table" },
        h("caption", {}, caption),
        h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
        h(
          "tbody",
          {},
          ...rows.map(([first, ...rest]) =>
            h("tr", {}, h("th", { scope: "row" }, first), ...rest.map((one) => h("td", {}, one))),
          ),
        ),
      ),
    );
  }
}

const lineName = (span: Span): string => `line ${span[0]}${span[4] ? ` of ${span[4]}` : ""}`;
const percent = (part: number, whole: number): string => `${((100 * part) / (whole || 1)).toFixed(1)} %`;
const share = (ms: number, whole: number): string => `${milliseconds(ms)}, ${percent(ms, whole)}`;
const howCounted = ({ observed }: ProfileCounts): string =>
  observed
    ? "Counted in a run of the CUDA kernels on the processor: no times."
    : "Predicted for the CUDA kernels from index functions: no times.";
