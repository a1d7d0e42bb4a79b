// The top bar: examples, options, status, run, share, theme, help.
import { earlierTexts } from "./work";
import { waysToUse } from "./citing";
import { h, milliseconds, replace } from "./dom";
import type { LayoutMenu } from "./layout_menu";
import { dropdown } from "./menus";
import { messageElement } from "./messages";
import type { Model } from "./model";
import { ownLinkList } from "./own_links";
import { firstWords, type Saved } from "./files";
import type { Said } from "./story";
import { saveText } from "./storage";
import type { Example } from "./kept";
import type { Problem } from "./types";

/** The version of the server that sent this page. */
const version = () => document.getElementById("app")?.dataset.version ?? "";

export interface HeaderEvents {
  example(name: string): void;
  earlier(program: Saved): void;
  /** The reader's own program, or a new one. */
  own(): void;
  /** Begin a new program. */
  fresh(): void;
  target(target: string): void;
  run(): void;
  share(said?: Said): void;
  /** Let others follow what is done here. */
  lead(): void;
}

export const THEMES: [string, string][] = [
  ["", "System"],
  ["light", "Light"],
  ["dark", "Dark"],
  ["contrast", "High contrast"],
  ["projector", "Projector"],
  ["lecture", "Lecture"],
];

/** The page with all examples. */
const GALLERY = "/examples/";
const NEW = "+";

export class Header {
  readonly element: HTMLElement;
  private readonly examples = h("select", { "aria-label": "Example", class: "examples" });
  private readonly target = h("select", {
    "aria-label": "Target",
    title: "Target of the stages from Flattened to IMP",
  });
  private readonly status = h("p", { class: "status" });
  private readonly run = h(
    "button",
    { class: "primary", onclick: () => this.events.run(), title: "Ctrl+Enter" },
    "Run",
  );
  private readonly share = h("button", { onclick: () => this.events.share() }, "Share");
  private readonly help = help();
  private theme!: HTMLSelectElement;
  private readonly link = h("div", { class: "popover share-popover", hidden: true });

  constructor(
    private readonly model: Model,
    private readonly events: HeaderEvents,
    view: Pick<LayoutMenu, "element" | "more">,
  ) {
    view.more.append(this.themes());
    this.examples.addEventListener("change", () => this.chosen(this.examples.value));
    this.target.addEventListener("change", () => events.target(this.target.value));
    this.element = h(
      "header",
      { class: "top" },
      h(
        "div",
        { class: "brand" },
        h("h1", {}, h("a", { href: "/" }, mark(), h("span", {}, "Stridescope"))),
        h(
          "p",
          { class: "tagline" },
          h("span", { class: "what" }, "A compiler explorer for Futhark"),
          h("span", { class: "for-whom" }, ": learn, teach and tune array programs"),
          h("span", {}, " · "),
          h("a", { href: "/lessons/" }, "Lessons"),
        ),
      ),
      this.examples,
      this.target,
      this.status,
      this.run,
      h("span", { class: "share-box" }, this.share, this.link),
      view.element,
      this.help,
      h("div", { id: "announcer", class: "visually-hidden", role: "status", "aria-live": "polite" }),
    );
    model.on("status", () => this.draw());
    model.on("frozen", () => {
      this.draw();
      const [first] = this.examples.options;
      if (first) first.textContent = this.other;
    });
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.hideLink());
    document.addEventListener("mousedown", (event) => {
      if (!(event.target as Element).closest(".share-box")) this.hideLink();
    });
    this.draw();
  }

  /** The title of a program that is no example. */
  private get other(): string {
    if (this.model.frozen) return "A link";
    return document.getElementById("app")?.dataset.lesson ? "This lesson" : "Your program";
  }

  setExamples(examples: readonly Example[], chosen: string): void {
    const groups = new Map<string, Example[]>();
    for (const example of examples) groups.set(example.group, [...(groups.get(example.group) ?? []), example]);
    const earlier = earlierTexts();
    replace(
      this.examples,
      h("option", { value: "" }, this.other),
      h("option", { value: NEW }, "A new program"),
      ...[...groups].map(([group, members]) =>
        h(
          "optgroup",
          { label: group },
          ...members.map((example) => h("option", { value: example.name }, example.title)),
        ),
      ),
      earlier.length
        ? h(
            "optgroup",
            { label: "Earlier texts" },
            ...earlier.map((entry, k) =>
              h("option", { value: `#${k}` }, `${entry.when.slice(0, 16).replace("T", " ")}  ${firstWords(entry)}`),
            ),
          )
        : null,
      h("option", { value: GALLERY }, "All examples, with pictures…"),
    );
    this.examples.value = chosen;
    this.examples.title = this.examples.selectedOptions[0]?.textContent ?? "";
  }

  setTarget(target: string): void {
    const texts = this.model.manifest.filter(({ kind }) => kind === "text");
    replace(
      this.target,
      ...texts.map(({ id, title, machine }) => h("option", { value: id }, `for ${machine ? `the ${machine}` : title}`)),
    );
    this.target.value = target;
  }

  showHelp(): void {
    this.help.open = true;
    this.help.querySelector("summary")!.focus();
  }

  /** Show a new link; it is selected, and copied where the browser allows that. A title and notes make another one. */
  showLink(url: string, said: Said, stages: readonly string[]): void {
    const field = h("input", { type: "text", readonly: true, value: url, "aria-label": "Link", size: 44 });
    const copied = h("span", { class: "quiet", role: "status" });
    const copy = async (): Promise<void> => {
      field.select();
      try {
        await navigator.clipboard.writeText(url);
        copied.textContent = "Copied.";
      } catch {
        copied.textContent = window.matchMedia("(pointer: coarse)").matches
          ? "It is selected. Copy it."
          : "Press Ctrl+C.";
      }
    };
    replace(
      this.link,
      h("p", {}, "This link stores what you see now: program, stages, remarks and result. It never changes."),
      h("p", { class: "row" }, field, h("button", { onclick: () => void copy() }, "Copy"), copied),
      h("p", {}, h("a", { href: url }, "Open it")),
      waysToUse({ url, title: said.title || this.titleOf(this.model.source), stages, version: version() }),
      this.saying(said),
      h(
        "p",
        { class: "row" },
        h("button", { onclick: () => this.events.lead() }, "Follow me"),
        " Others see your page live.",
      ),
      ownLinkList(),
    );
    this.link.hidden = false;
    void copy();
  }

  /** Return the title of a link without one: its first line. */
  private titleOf(source: string): string {
    return firstWords({ source }) || "A program";
  }

  private saying(said: Said): HTMLElement {
    const title = h("input", { type: "text", value: said.title, maxlength: 120, placeholder: "its first line" });
    const notes = h("textarea", { rows: 3, maxlength: 4000 }, said.notes);
    const form = h(
      "form",
      { class: "saying" },
      h("label", {}, "Title", title),
      h("label", {}, "Notes", notes),
      h("button", {}, "Make a link with these"),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.events.share({ title: title.value.trim(), notes: notes.value.trim() });
    });
    return form;
  }

  /** Say why there is no link. */
  shareFailed(problem: Problem): void {
    replace(this.link, messageElement(problem));
    this.link.hidden = false;
  }

  set sharing(busy: boolean) {
    this.share.disabled = busy;
    this.share.textContent = busy ? "Sharing…" : "Share";
  }

  /** A program runs, and can be stopped. */
  set running(running: boolean) {
    this.run.textContent = running ? "Stop" : "Run";
    this.run.title = running ? "Stop the program" : "Ctrl+Enter";
  }

  hideLink(): void {
    const within = this.link.contains(document.activeElement);
    this.link.hidden = true;
    if (within) this.share.focus();
  }

  private chosen(value: string): void {
    if (value === GALLERY) location.assign(GALLERY);
    else if (value === NEW) this.events.fresh();
    else if (value.startsWith("#")) {
      const entry = earlierTexts()[Number(value.slice(1))];
      if (entry) this.events.earlier(entry);
    } else if (value) this.events.example(value);
    else this.events.own();
  }

  private draw(): void {
    const { phase, ms, position } = this.model.status;
    const { frozen, warnings } = this.model;
    const warned = warnings.length ? `, ${warnings.length} ${warnings.length === 1 ? "warning" : "warnings"}` : "";
    const words = {
      idle: ms ? `compiled in ${milliseconds(ms)}${warned}` : "",
      checking: "checking…",
      compiling: "compiling…",
      queued: `waiting, place ${position}`,
      stopped: "not compiled",
      empty: "",
      failed: `${this.model.problems.length} ${this.model.problems.length === 1 ? "error" : "errors"}`,
    }[phase];
    this.status.textContent = frozen ? `frozen ${frozen.made.slice(0, 10)}, version ${frozen.version}` : words;
    this.status.classList.toggle("bad", (phase === "failed" || phase === "stopped") && !frozen);
  }

  /** The text size of the lecture theme, in pixels, which scales everything. */
  private readonly size = h("input", {
    type: "range",
    min: 16,
    max: 28,
    "aria-label": "Size of text and drawings",
    title: "Size of text and drawings",
  });

  private themes(): HTMLElement {
    const select = h(
      "select",
      { "aria-label": "Theme", class: "theme" },
      ...THEMES.map(([id, name]) => h("option", { value: id }, name)),
    );
    select.value = document.documentElement.dataset.theme ?? "";
    select.addEventListener("change", () => this.setTheme(select.value));
    this.size.value = document.documentElement.style.getPropertyValue("--lecture") || "18";
    this.size.addEventListener("input", () => {
      document.documentElement.style.setProperty("--lecture", this.size.value);
      saveText("lecture", this.size.value);
    });
    this.size.hidden = select.value !== "lecture";
    this.theme = select;
    return h("p", { class: "themes row" }, h("span", {}, "Theme"), select, this.size);
  }

  setTheme(theme: string): void {
    this.theme.value = theme;
    this.size.hidden = theme !== "lecture";
    saveText("theme", theme);
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
  }
}

function mark(): HTMLElement {
  return h("img", { src: "/static/icon.svg", alt: "", width: 20, height: 20 });
}

const KEYS: [string, string][] = [
  ["Ctrl+K", "find any action or pane by name"],
  ["?", "this list"],
  ["Click, or Enter in a stage", "select an expression, everywhere"],
  ["F4, Shift+F4", "next, previous line of the pane that comes from it"],
  ["Click a stage above", "open it in the current pane"],
  ["Shift-click, Shift+Enter", "open it beside"],
  ["Alt+← Alt+→", "step the current pane along the pipeline"],
  ["Ctrl+Enter", "run"],
  ["Ctrl+S", "share"],
  ["Ctrl+F", "search in the pane"],
  ["Shift+Alt+F", "format the file"],
  ["F1 on a word of a stage", "show what the notation means"],
  ["F12, Shift+F12 on a name", "go to its declaration, list its uses"],
  ["F2 on a name", "rename it in all files"],
  ["Ctrl+.", "changes that fix the line"],
  ["Ctrl+Shift+O", "the file's declarations"],
  ["Alt+Enter in an import", "open the file that it names"],
  ["F2, Delete on a file's tab", "rename it, remove it"],
  ["Ctrl+Alt+arrows", "move the pane with the focus"],
  ["F6, Shift+F6", "next, previous pane"],
  ["F7, Shift+F7", "next, previous difference in a comparison"],
  ["F8", "to A's text beside the source, and back"],
  ["Esc", "clear the selection"],
];

function help(): HTMLDetailsElement {
  const box = dropdown(
    "?",
    h(
      "div",
      {},
      h("h2", {}, "Keys"),
      h("dl", {}, ...KEYS.map(([key, what]) => h("div", {}, h("dt", {}, key), h("dd", {}, what)))),
      h(
        "p",
        {},
        h("a", { href: GALLERY }, "Examples"),
        " · ",
        h("a", { href: "/lessons/" }, "Lessons"),
        " · ",
        h("a", { href: "/api/reference" }, "The page's API"),
        " · ",
        h("a", { href: "https://futhark-lang.org", rel: "noreferrer" }, "The language"),
      ),
      h("p", { class: "quiet" }, `Stridescope ${version()}`),
    ),
    () => {},
    "Help",
  );
  box.classList.add("help");
  return box;
}
