// The program as a notebook: its comments as text, its code, and the results of its directives (`-- > ..`).
import * as client from "../client";
import { announce, h, replace } from "../dom";
import { Fresh } from "../fresh";
import type { Notebook } from "../kept";
import { markdown } from "../markdown";
import { sameText, type Model, type Text } from "../model";
import { messageElement } from "../messages";
import { placeName } from "../spans";
import type { Backend, Block, Failure, LiterateAnswer, Result, Span } from "../types";
import { resultOf, type Looks } from "./result";
import type { PaneKind, Share } from "./pane";

export interface NotebookEvents {
  /** The back end that is chosen to run on. */
  backend(): Backend["id"];
  goTo(span: Span): void;
}

const READABLE = 160; // pixels: up to this a picture is enlarged
const HELP = "Comments that begin a line are text in Markdown. Below them, such lines have results:";
const EXAMPLE = "-- > f 3\n-- > :img picture 100i64\n-- > :plot2d (xs, ys)\n";

export class NotebookPane {
  readonly element = h("div", { class: "scroll" });
  private readonly button = h("button", { class: "primary" }, "Run notebook");
  private readonly place = h("div", { class: "notebook" });
  private readonly fresh: Fresh;
  private request: Notebook["request"] = {};
  private of: Text | null = null;
  private readonly looked = new Map<string, Looks>();
  private stopping: AbortController | null = null;

  constructor(
    private readonly model: Model,
    private readonly events: NotebookEvents,
  ) {
    this.fresh = new Fresh(model, this.place);
    this.element.append(h("div", { class: "trials-top" }, this.button), this.fresh.element);
    this.button.addEventListener("click", () => (this.stopping ? this.stopping.abort() : void this.run()));
    this.empty();
  }

  readonly share: Share = {
    asked: () => (this.of && sameText(this.of, this.model.now) ? [{ op: "literate", request: this.request }] : []),
    restore: (asked) => {
      this.stopping?.abort();
      const kept = asked.find(({ op }) => op === "literate");
      if (kept?.op === "literate" && kept.answer) this.fill(kept.answer, kept.request, this.model.now);
      else this.empty();
    },
  };

  private async run(): Promise<void> {
    const mine = (this.stopping = new AbortController());
    this.button.textContent = "Stop";
    const [of, request] = [this.model.now, { backend: this.events.backend() }];
    const answer = await client.post("literate", { ...of, ...request }, mine.signal);
    this.stopping = null;
    this.button.textContent = "Run notebook";
    if (mine.signal.aborted) return announce("Stopped.");
    this.fill(answer, request, of);
    announce(answer.ok ? "The notebook has been run." : answer.error.message);
  }

  private fill(answer: LiterateAnswer | Failure, request: Notebook["request"], of: Text): void {
    this.request = request;
    this.of = of;
    this.fresh.made(of, answer);
    if (!answer.ok) return replace(this.place, messageElement(answer.error));
    replace(
      this.place,
      ...answer.blocks.map((block) => this.block(block)),
      answer.blocks.some(({ kind }) => kind === "directive") ? null : this.help(),
    );
  }

  private empty(): void {
    this.of = null;
    this.fresh.made(null);
    replace(this.place, this.help());
  }

  private help(): HTMLElement {
    return h("div", {}, h("p", { class: "quiet" }, HELP), h("pre", {}, EXAMPLE));
  }

  private block(block: Block): HTMLElement {
    const { kind, text, html, src, result, error } = block;
    if (kind === "text") return markdown(html ?? "");
    if (kind === "code")
      return h("pre", { class: "notebook-code", tabindex: 0, role: "group", "aria-label": "Code" }, text);
    return h(
      "section",
      { class: "notebook-directive" },
      text
        ? h(
            "button",
            { class: "link place", onclick: () => this.events.goTo(src), title: placeName(src) },
            h("code", {}, `> ${text.trim()}`),
          )
        : null,
      error ? messageElement(error) : shown(result ?? {}, text, this.looks(src)),
    );
  }

  /** Return the views chosen for the result of a directive in that line. */
  private looks(src: Span): Looks {
    const line = String(src);
    this.looked.set(line, this.looked.get(line) ?? new Map());
    return this.looked.get(line)!;
  }
}

function shown({ text = "", type, media, data }: Result, said: string, looks: Looks): HTMLElement {
  if (type) return resultOf({ output: text, results: [type] }, looks, said.trim());
  if (!media) return h("pre", { class: "value" }, text);
  const src = `data:${media};base64,${data}`;
  if (media.startsWith("audio")) return h("audio", { controls: true, src, "aria-label": said.trim() || "A sound" });
  return h("img", {
    src,
    alt: said.trim() || "A picture",
    onload: ({ target }: Event) => enlarge(target as HTMLImageElement),
  });
}

/** Show each pixel of a small picture as a square of several. */
function enlarge(picture: HTMLImageElement): void {
  const { naturalWidth, naturalHeight } = picture;
  const by = Math.floor(READABLE / Math.max(naturalWidth, naturalHeight));
  if (by > 1) picture.width = by * naturalWidth;
}

export const pane: PaneKind = {
  id: "notebook",
  title: "Notebook",
  order: 120,
  group: "Run",
  about: "comments as text, results of directives, pictures, plots",
  answers: ["literate"],
  make: ({ model, run, goTo }) => new NotebookPane(model, { backend: () => run.target(), goTo }),
};
