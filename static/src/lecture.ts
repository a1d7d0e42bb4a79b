// A lecture: what one page shows, others follow. The teacher's page publishes its view whenever that has
// changed; who follows shows it, until they look around on their own, and comes back when they like.
import * as client from "./client";
import { announce, h, replace } from "./dom";
import type { Top } from "./lit";
import type { ShownA } from "./pinned";
import { load, save } from "./storage";
import type { Stop } from "./travel";
import type { Problem } from "./types";

/** The state of a teacher's page, without layout and sizes, which are everybody's own. */
export interface View extends Omit<Stop, "layout"> {
  /** The selection, as in an address. */
  hash: string;
  /** True if the program has been compiled: before that the others would all have it compiled. */
  compiled: boolean;
  /** Scroll positions of the source and the stages. */
  top: Top;
  tops: Top[];
  /** The program that it is compared with. */
  a?: ShownA | null;
}

const LOOK = 250; // ms between looks at what has changed
const AGAIN = 2000; // ms after a failure
const WORD = 20_000; // ms after which the page says that it is there
const AWAY = 60; // seconds of silence after which a teacher is said to be away
const PACE = 1000; // ms between questions that were answered at once
const SLOWEST = 15_000; // ms between questions to a server that does not answer

export class Lecturer {
  readonly element = h("div", { class: "lecture", hidden: true, role: "region", "aria-label": "Lecture" });
  private readonly said = h("p", { role: "status" });
  private lecture: client.Lecture | null = null;
  /** The view published last, and the time. */
  private sent = "";
  private at = 0;
  private take = false;
  private sending = false;
  private clock = 0;

  constructor(private readonly view: () => View) {}

  /** Go on with the lecture of this tab, after a reload. */
  resume(): void {
    const kept = load<client.Lecture>("lecture", true);
    if (kept) this.lead(kept);
  }

  /** Begin a lecture; why there is none, or nothing. */
  async begin(): Promise<Problem | null> {
    if (this.lecture) return null;
    const answer = await client.beginLecture();
    if (!answer.ok) return answer.error;
    const { id, code, secret, url } = answer;
    save("lecture", { id, code, secret, url }, true);
    this.lead({ id, code, secret, url });
    return null;
  }

  private lead(lecture: client.Lecture): void {
    this.lecture = lecture;
    this.take = true;
    this.sent = "";
    this.at = 0;
    const { code, url } = lecture;
    const copied = h("span", { class: "quiet", role: "status" });
    const copy = h(
      "button",
      {
        onclick: () =>
          void navigator.clipboard
            .writeText(url)
            .then(
              () => "Copied.",
              () => url,
            )
            .then((words) => (copied.textContent = words)),
      },
      "Copy the link",
    );
    this.show(
      "",
      h(
        "p",
        {},
        "Others follow you with the code ",
        h("strong", { class: "code" }, code),
        ", at ",
        h("code", {}, url.replace(/^https?:\/\//, "")),
      ),
      copy,
      copied,
      h("button", { onclick: () => void this.end() }, "End the lecture"),
    );
    announce(`Others follow you with the code ${[...code].join(" ")}.`);
    window.clearInterval(this.clock);
    this.clock = window.setInterval(() => void this.look(), LOOK);
  }

  private show(words: string, ...children: HTMLElement[]): void {
    this.said.textContent = words;
    replace(this.element, ...children, this.said);
    this.element.hidden = false;
  }

  /** Publish what has changed, or say now and then that the page is there. */
  private async look(): Promise<void> {
    const { lecture } = this;
    const now = performance.now();
    if (!lecture || this.sending || now < this.at) return;
    const view = this.view();
    const text = JSON.stringify(view);
    const news = text !== this.sent;
    if (!news && now < this.at + WORD) return;
    this.sending = true;
    const answer = await client.publish(lecture, { ...(news ? { view } : {}), ...(this.take ? { take: true } : {}) });
    this.sending = false;
    if (this.lecture !== lecture) return;
    if (answer.ok) {
      this.take = false;
      this.sent = text;
      this.at = performance.now();
      this.said.textContent = "";
      return;
    }
    const { kind, message, hint, retry } = answer.error;
    if (kind === "gone" || message.startsWith("You have no such lecture")) this.over(message);
    else if (message.startsWith("Another window")) this.elsewhere(lecture, message);
    else {
      this.said.textContent = `Followers do not see this yet: ${message} ${hint}`;
      this.at = performance.now() + Math.max(AGAIN, 1000 * (retry ?? 0));
    }
  }

  private elsewhere(lecture: client.Lecture, message: string): void {
    this.stop();
    this.show(message, h("button", { onclick: () => this.lead(lecture) }, "Lead it from here"), this.close());
  }

  private over(message: string): void {
    this.stop();
    save("lecture", null, true);
    this.show(message, this.close());
  }

  private close(): HTMLElement {
    return h("button", { onclick: () => (this.element.hidden = true) }, "Close");
  }

  private stop(): void {
    window.clearInterval(this.clock);
    this.lecture = null;
  }

  private async end(): Promise<void> {
    const { lecture } = this;
    if (!lecture) return;
    const answer = await client.publish(lecture, { end: true, take: true });
    if (answer.ok || answer.error.kind === "gone") this.over("The lecture has ended.");
    else this.said.textContent = `It could not be ended: ${answer.error.message}`;
  }
}

export interface FollowerEvents {
  /** Show what the teacher shows; `current`: whether that is still wanted. */
  show(view: View, current: () => boolean): Promise<void>;
  /** From here on the page is the reader's own, until they come back. */
  left(): void;
  /** Called before the reader's own edits are replaced. */
  back(): void;
  /** There is nothing to follow any more. */
  ended(): void;
}

/** Keys that change nothing, or belong to the browser. */
const IDLE = new Set(["Tab", "Shift", "Control", "Alt", "Meta", "Escape", "F5", "F11", "F12"]);
const BROWSERS = new Set("crtwlp+-=0");

export class Follower {
  readonly element = h("div", { class: "lecture", role: "region", "aria-label": "Lecture" });
  private readonly words = h("p", { role: "status" });
  private readonly return = h(
    "button",
    { class: "primary", hidden: true, onclick: () => this.back() },
    "Back to the teacher",
  );
  private number = -1;
  private view: View | null = null;
  private isOwn = load<boolean>("astray", true) === true;
  /** True if the teacher has gone on since. */
  private news = false;
  private state: "there" | "away" | "lost" | "ended" = "there";
  private silent = 0;

  constructor(
    private readonly id: string,
    code: string,
    private readonly events: FollowerEvents,
  ) {
    this.element.append(h("strong", { class: "code" }, code), this.words, this.return);
    for (const event of ["pointerdown", "keydown", "wheel", "touchmove"])
      document.addEventListener(event, (one) => this.touched(one), { capture: true, passive: true });
    this.draw();
  }

  /** The teacher's view while the page shows it, else null. */
  get shown(): View | null {
    return this.isOwn || this.ended ? null : this.view;
  }

  /** True if the reader has left the teacher, perhaps before the page was loaded. */
  get own(): boolean {
    return this.isOwn;
  }

  get ended(): boolean {
    return this.state === "ended";
  }

  /** Poll the lecture until it ends. */
  async run(): Promise<void> {
    let failures = 0;
    while (!this.ended) {
      const began = performance.now();
      const answer = await client.newer<View>(this.id, this.number);
      let wait = PACE;
      if (!answer.ok) {
        failures += 1;
        this.state = answer.error.kind === "gone" ? "ended" : "lost";
        // Not all at once, after a server was away.
        wait = Math.max(
          1000 * (answer.error.retry ?? 0),
          Math.min(SLOWEST, PACE * 2 ** failures) * (0.5 + Math.random()),
        );
      } else {
        failures = 0;
        this.silent = answer.silent ?? 0;
        this.state = answer.ended ? "ended" : this.silent > AWAY ? "away" : "there";
        if (answer.number > this.number) {
          this.number = answer.number;
          if (answer.view) await this.saw(answer.view);
          wait = 0;
        }
      }
      this.draw();
      const left = wait - (performance.now() - began);
      if (left > 0 && !this.ended) await new Promise((resume) => setTimeout(resume, left));
    }
    save("astray", null, true);
    this.events.ended();
  }

  /** The reader has gone somewhere by themselves. */
  leave(): void {
    if (this.isOwn || !this.view) return;
    this.isOwn = true;
    this.news = false;
    save("astray", true, true);
    this.events.left();
    this.draw();
  }

  private back(): void {
    this.events.back();
    this.isOwn = false;
    save("astray", null, true);
    if (this.view) void this.saw(this.view);
    this.draw();
  }

  private async saw(view: View): Promise<void> {
    this.view = view;
    this.news = this.isOwn;
    if (this.isOwn) return;
    try {
      await this.events.show(view, () => this.view === view && !this.isOwn);
    } catch (error) {
      console.warn("this page cannot show the teacher's view", error);
    }
  }

  private touched(event: Event): void {
    if (event instanceof KeyboardEvent) {
      const control = event.ctrlKey || event.metaKey;
      if (IDLE.has(event.key) || (control && BROWSERS.has(event.key))) return;
    }
    const place = event.target instanceof Element ? event.target : document.activeElement;
    if (!place?.closest(".lecture, .themes, .help, .brand")) this.leave();
  }

  private draw(): void {
    const own = this.isOwn ? "You have stopped following. " : "";
    const minutes = Math.round(this.silent / 60);
    const words = {
      there: this.isOwn
        ? this.news
          ? "The teacher has moved on."
          : ""
        : this.view
          ? "You follow the teacher. Touch anything to stop following."
          : "The teacher has shown nothing yet.",
      away: `The teacher's page has not answered for ${minutes} ${minutes === 1 ? "minute" : "minutes"}.`,
      lost: "The server does not answer; the page keeps trying.",
      ended: "The lecture has ended. You can now change and share what you see.",
    }[this.state];
    const text = this.ended ? words : own + words;
    if (this.words.textContent !== text) this.words.textContent = text;
    this.return.hidden = !this.isOwn || !this.view || this.ended;
    this.element.classList.toggle("own", this.isOwn);
  }
}
