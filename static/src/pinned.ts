// A: the compilation that the program is compared with. Kept over reloads, compiled again when its text changes.
import * as client from "./client";
import { announce, debounce } from "./dom";
import type { Frozen } from "./kept";
import { ofCompilation, sameText, statesOf, type Model, type Pinned, type Text } from "./model";
import { firstWords } from "./files";
import { keepLink } from "./own_links";
import { load, save } from "./storage";
import type { Options, Stage } from "./types";

/** The stored form of A over reloads: it is compiled again, or read from its link. */
type Saved = ({ link: string } | { label: string; text: Text }) & { apart?: boolean };

/** The mode of A's text beside the source: hidden, to be read, or to be edited. */
export type Beside = "" | "read" | "edit";

/** A in the view of a link. */
export interface LinkedA {
  link: string;
  beside: Beside;
}

/** A as others follow it. */
export interface ShownA extends Pick<Pinned, "label" | "text" | "link" | "apart" | "pending"> {
  beside: Beside;
}

const QUIET = 180; // ms without typing before A is compiled

export class Pins {
  /** True if another program was opened since A was pinned. */
  private isApart: boolean;
  /** True if A is of the link that is shown: then the reader's own one stays as it is kept. */
  private isLinked = false;
  private asked = 0;
  /** The text being compiled for `mirror`. */
  private making: Text | null = null;
  private readonly soon = debounce(QUIET, () => void this.compileAgain());

  private message = "";
  private told: (message: string) => void = () => undefined;

  /** `pinned`: another compilation is A, or none is; `shown`: panes are to stand against it. */
  constructor(
    private readonly model: Model,
    private readonly pinned: (shown: boolean) => void,
  ) {
    this.isApart = load<Saved>("pinned")?.apart ?? false;
    this.again();
  }

  /** Set the listener for messages about failures; "" for none. */
  onSaid(told: (message: string) => void): void {
    this.told = told;
    told(this.message);
  }

  private say(message: string): void {
    this.message = message;
    this.told(message);
  }

  /** Pin what the reader has pinned last, if it still is, in the place of another compilation. */
  again(): void {
    const kept = load<Saved>("pinned");
    if (kept) void ("link" in kept ? this.fromLink(kept.link) : this.fromText(kept.label, kept.text));
    else if (this.model.pinned) this.unpin();
  }

  /** The page opens another program: A stays, but panes and chips are about the new one alone. */
  apart(): void {
    const kept = load<Saved>("pinned");
    this.isApart = true;
    if (kept) save("pinned", { ...kept, apart: true });
    if (!this.model.pinned) return;
    this.model.pinned.apart = true;
    this.model.emit("pinned");
    this.pinned(false);
  }

  /** Pin what is shown, as soon as it is compiled. */
  async now(): Promise<void> {
    await this.settled();
    const { made, status, stages, remarks } = this.model;
    if (!made || status.phase !== "idle")
      return this.say("The program is not compiled. Only a compiled program can be pinned.");
    this.own();
    const label = `the program as it was at ${new Date().toTimeString().slice(0, 5)}${spoken(made.options)}`;
    const whole = Object.fromEntries([...stages].filter(([, stage]) => !stage.stale));
    this.pin({ label, text: made, stages: whole, remarks, problems: [] }, { label, text: made });
  }

  /** Have panes stand against A. */
  stand(): void {
    this.pinned(true);
  }

  unpin(): void {
    this.pin(null, null);
  }

  /** Pin what a link holds, by its address or id. */
  take(link: string): Promise<void> {
    this.own();
    return this.fromLink(link);
  }

  /** Show what a link kept as A, for as long as the link is shown. */
  async restore({ link, beside }: Partial<LinkedA>): Promise<void> {
    if (typeof link !== "string") return;
    this.isLinked = true;
    this.isApart = false;
    this.beside = beside === "read" || beside === "edit" ? beside : "";
    await this.fromLink(link, false);
  }

  /** A as those who follow this page are to see it. */
  get shown(): ShownA | null {
    const { pinned } = this.model;
    if (!pinned) return null;
    const { label, text, link, apart = false, pending = false } = pinned;
    return { label, text, ...(link ? { link } : {}), apart, pending, beside: this.beside };
  }

  /** Show A as a teacher's page has it, for as long as that is followed; compiled when it is there, too. */
  async mirror(a: ShownA | null): Promise<void> {
    const before = this.model.pinned;
    this.isLinked = true;
    this.isApart = a?.apart ?? false;
    this.beside = a?.beside ?? "";
    if (!a) {
      this.asked += 1;
      this.model.pinned = null;
      return this.model.emit("pinned");
    }
    const { label, text, link } = a;
    const isSame = before !== null && sameText(before.text, text) && before.link === link;
    const wanted = !a.pending && (!isSame || before.pending === true);
    if (!isSame) this.asked += 1;
    const made = isSame
      ? before
      : { stages: before?.stages ?? {}, remarks: before?.remarks ?? [], problems: [], pending: true };
    this.model.pinned = {
      ...made,
      label,
      text: isSame ? before.text : text,
      apart: this.isApart,
      ...(link ? { link } : {}),
    };
    this.model.emit("pinned");
    if (!wanted || (isSame && this.making === before.text)) return;
    this.making = this.model.pinned.text;
    await (link ? this.fromLink(link, false) : this.compileAgain());
    this.making = null;
  }

  /** A's text was edited. */
  edit(text: Text): void {
    const { pinned } = this.model;
    if (!pinned) return;
    this.isLinked = false;
    const label = pinned.link || !pinned.label.endsWith(EDITED) ? `${pinned.label}${EDITED}` : pinned.label;
    const { link: _, ...rest } = pinned;
    this.model.pinned = { ...rest, label, text, pending: true };
    this.keep({ label, text });
    this.model.emit("pinned");
    this.soon();
  }

  get beside(): Beside {
    return load<Beside>("beside", true) ?? "";
  }

  set beside(beside: Beside) {
    save("beside", beside, true);
  }

  /** Return A for a link, as a link of its own; null without A, or the reason why there is none. */
  async shared(): Promise<client.Answer<{ ok: true; a: LinkedA | null }>> {
    const { pinned } = this.model;
    if (!pinned || (pinned.apart && !this.beside)) return { ok: true, a: null };
    if (pinned.link) return { ok: true, a: { link: pinned.link, beside: this.beside } };
    const answer = await client.share(pinned.text, null, [], {});
    if (!answer.ok) return answer;
    keepLink(answer, `A: ${firstWords(pinned.text)}`);
    return { ok: true, a: { link: answer.id, beside: this.beside } };
  }

  /** When the program as it is now is compiled, or cannot be. */
  private settled(): Promise<void> {
    const { model } = this;
    const isSettled = (): boolean =>
      (model.made !== null && sameText(model.made, model.now)) ||
      ["failed", "stopped", "empty"].includes(model.status.phase);
    if (isSettled()) return Promise.resolve();
    return new Promise((resume) => {
      const stop = model.on("status", () => {
        if (!isSettled()) return;
        stop();
        resume();
      });
    });
  }

  private own(): void {
    this.isApart = this.isLinked = false;
  }

  private keep(kept: Saved | null): void {
    if (!this.isLinked) save("pinned", kept && { ...kept, apart: this.isApart });
  }

  private pin(pinned: Pinned | null, kept: Saved | null, shown = !this.isApart): void {
    this.asked += 1;
    this.model.pinned = pinned && { ...pinned, apart: this.isApart };
    this.keep(kept);
    this.say("");
    this.model.emit("pinned");
    if (shown || !pinned) this.pinned(pinned !== null);
    announce(pinned ? `A is ${pinned.label}.` : "Nothing is pinned.");
  }

  private async fromText(label: string, text: Text): Promise<void> {
    const made = await this.compile(text);
    if (made) this.pin({ label, text, ...made }, { label, text });
  }

  private async compileAgain(): Promise<void> {
    const { pinned } = this.model;
    const made = pinned && (await this.compile(pinned.text));
    if (!made || this.model.pinned?.text !== pinned.text) return;
    const { pending: _, ...rest } = this.model.pinned;
    this.model.pinned = { ...rest, ...made };
    this.model.emit("pinned");
    announce(made.problems[0]?.message ?? "A is compiled.");
  }

  /** Compile a text as far as possible; null if another request has come meanwhile. */
  private async compile(text: Text): Promise<Pick<Pinned, "stages" | "remarks" | "problems"> | null> {
    const mine = (this.asked += 1);
    const [checked, shown] = await Promise.all([
      client.post("check", text),
      client.post("show", { ...text, texts: this.model.wanted }),
    ]);
    if (mine !== this.asked) return null;
    const stages = statesOf((shown as { stages?: Record<string, Stage> }).stages ?? {}, text);
    if (!shown.ok) return { stages, remarks: [], problems: ofCompilation(shown.error) };
    return { stages, remarks: shown.remarks, problems: checked.ok ? checked.warnings : [] };
  }

  private async fromLink(link: string, shown = !this.isApart): Promise<void> {
    const mine = (this.asked += 1);
    const id = /([a-z2-7]{10,64})\/?$/i.exec(link.trim())?.[1]?.toLowerCase();
    if (!id) return this.say("This is not a link to a frozen state: such a link ends in /z/ and at least ten letters.");
    let state: Frozen;
    try {
      state = await client.frozen(id);
    } catch (error) {
      return this.say(error instanceof client.Unanswered ? error.problem.message : String(error));
    }
    if (mine !== this.asked) return;
    const { source, options, files, main, version, stages, remarks, error } = state;
    const text = { source, options, ...(files ? { files } : {}), ...(main ? { main } : {}) };
    this.pin(
      {
        label: `the link ${id}, made by version ${version}`,
        text,
        stages: statesOf(stages, text),
        remarks,
        problems: error ? ofCompilation(error) : [],
        link: id,
      },
      { link: id },
      shown,
    );
  }
}

const EDITED = ", edited since";

/** Describe options, for the text behind a program's name. */
function spoken({ target, disable = [], enable = [], fuel, thresholds = {} }: Options): string {
  const said = [
    target && target !== "c" ? `for ${target}` : "",
    disable.length ? `without ${disable.join(", ")}` : "",
    enable.length ? `with ${enable.join(", ")}` : "",
    fuel === undefined || fuel === null ? "" : `with ${fuel} rewrites`,
    Object.keys(thresholds).length ? "with versions forced" : "",
  ].filter(Boolean);
  return said.length ? `, ${said.join(", ")}` : "";
}
