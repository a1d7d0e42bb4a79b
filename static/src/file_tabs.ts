// The files of the program: tabs in the row over the editor, where there are several, and what can be done
// with them. What is taken out or overwritten can be brought back.
import { h, quoted, replace } from "./dom";
import type { SourceEditor } from "./editor";
import {
  baseOf,
  candidates,
  hasEntry,
  ENDING,
  FLATPACK,
  folderOf,
  followed,
  isManifest,
  MAIN,
  mainOf,
  type Deleted,
  type Saved,
  visible,
} from "./files";
import { FileTree, MANY } from "./file_tree";
import type { FileRow } from "./file_row";
import { chosen, dropped, MOST_BYTES, MOST_FILES, type Taken } from "./intake";
import type { Model } from "./model";
import { fileOf, isolated } from "./spans";
import { discard, discarded } from "./work";
import type { Problem } from "./types";

export interface FileEvents {
  /** The program has changed. */
  changed(): void;
  /** True if what is shown is nobody's work, so that files that come take its place. */
  isNobodys(): boolean;
  replace(program: Saved): void;
  /** A new program takes the place of this one. */
  fresh(): void;
}

const PANEL = "source-panel";
const MOST = 8; // lines about refused files
const ALIKE = 3; // of them that have one reason
const AWHILE = 300; // ms
const NO_ENTRY = "It has no entry point, so nothing would be compiled.";

export class FileTabs {
  private readonly list: HTMLElement;
  private readonly menu: HTMLDetailsElement;
  private readonly content: HTMLElement;
  private readonly note = h("div", { class: "file-note", role: "status" });
  private readonly tree: FileTree;

  /** `area` shows that files can be dropped, `panel` is the part of it that shows the open file. */
  constructor(
    private readonly area: HTMLElement,
    private readonly panel: HTMLElement,
    private readonly row: FileRow,
    private readonly model: Model,
    private readonly editor: SourceEditor,
    private readonly events: FileEvents,
  ) {
    const { list, menu, content, fresh, format, outline } = row;
    [this.list, this.menu, this.content] = [list, menu, content];
    this.tree = new FileTree((path) => {
      menu.open = false;
      editor.open(path);
    });
    // There before it opens: whoever goes on at once finds it.
    menu.querySelector("summary")!.addEventListener("click", () => menu.open || this.fill());
    fresh.addEventListener("click", () => events.fresh());
    for (const [k, button] of [format, outline].entries())
      button.addEventListener("click", () => editor.language.commands[k]![2](editor.view));
    this.panel.before(row.element, this.note);
    this.list.addEventListener("keydown", (event) => this.keys(event));
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.close());
    document.addEventListener("mousedown", (event) => {
      if (!this.menu.contains(event.target as Node)) this.menu.open = false;
    });
    for (const topic of ["files", "problems", "frozen"] as const) model.on(topic, () => this.draw());
    model.on("program", () => this.tell(null)); // what was said was about another one
    this.listen();
    this.draw();
  }

  /** Make a file that an import names. */
  create(name: string, text = ""): void {
    this.model.files.write(name, text);
    this.show(name);
    this.events.changed();
    this.editor.focus();
  }

  private show(name: string): void {
    this.model.files.open = name;
    this.editor.update();
    this.model.emit("files");
  }

  private draw(): void {
    const { files } = this.model;
    const names = files.names();
    const several = names.length > 1;
    const focused = this.list.contains(document.activeElement);
    const { name, format, outline } = this.row;
    this.list.hidden = !several;
    name.hidden = several;
    name.textContent = visible(files.open);
    format.hidden = outline.hidden = isManifest(files.open);
    replace(this.list, ...(several ? names.map((name, k) => this.tab(name, k)) : []));
    const roles: [string, string][] = [
      ["role", "tabpanel"],
      ["aria-labelledby", `file-${names.indexOf(files.open)}`],
    ];
    for (const [name, value] of roles) {
      if (several) this.panel.setAttribute(name, value);
      else this.panel.removeAttribute(name);
    }
    this.panel.id = PANEL;
    const open = this.list.querySelector<HTMLElement>("[aria-selected='true']");
    if (open) this.bringIn(open);
    if (focused) open?.focus({ preventScroll: true });
  }

  /** Scroll the strip, and nothing else, to a tab. */
  private bringIn(tab: HTMLElement): void {
    const [strip, box] = [this.list, tab].map((one) => one.getBoundingClientRect()) as [DOMRect, DOMRect];
    if (box.left < strip.left) this.list.scrollLeft -= strip.left - box.left;
    else if (box.right > strip.right) this.list.scrollLeft += box.right - strip.right;
  }

  private tab(name: string, number: number): HTMLElement {
    const { files, problems, runProblems, warnings } = this.model;
    const path = files.pathOf(name);
    const here = (list: readonly Problem[]): number =>
      list.filter(({ span }) => span?.[0] && fileOf(span) === path).length;
    const [errors, warned] = [here([...problems, ...runProblems]), here(warnings)];
    const selected = name === files.open;
    const folder = folderOf(name);
    return h(
      "button",
      {
        role: "tab",
        id: `file-${number}`,
        "aria-controls": PANEL,
        "aria-selected": String(selected),
        tabindex: selected ? 0 : -1,
        "data-file": name,
        title: visible(name) + (name === files.main ? ", the main program" : ""),
        onclick: () => this.editor.open(name),
        ondblclick: () => this.askName(),
      },
      folder ? h("bdi", { class: "file-folder" }, `${visible(folder)}/`) : null,
      h("bdi", { class: "file-base" }, visible(baseOf(name))),
      name === files.main
        ? h(
            "span",
            { class: "file-main" },
            h("span", { "aria-hidden": "true" }, " ▸"),
            h("span", { class: "visually-hidden" }, ", the main program"),
          )
        : null,
      mark(errors, "error"),
      mark(warned, "warning"),
    );
  }

  private keys(event: KeyboardEvent): void {
    const { files } = this.model;
    const names = files.names();
    const at = names.indexOf(files.open);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + names.length, Home: 0, End: names.length - 1 }[event.key];
    if (to !== undefined && !event.altKey) this.editor.open(names[to % names.length]!);
    else if (event.key === "Delete") this.remove(files.open);
    else if (event.key === "F2") this.askName();
    else return;
    event.preventDefault();
  }

  // What can be done ----------------------------------------------------------------------------

  private fill(): void {
    const { files } = this.model;
    const paths = files.names();
    const [several, many] = [paths.length > 1, paths.length >= MANY];
    const { open } = files;
    const noEntry = this.entered().length > 0 && !hasEntry(files.text(open));
    const gone = discarded()
      .filter(({ name, text }) => files.text(name) !== text)
      .slice(0, 10);
    replace(
      this.content,
      many ? h("h2", {}, `${paths.length} files`) : null,
      many ? this.tree.show({ paths, open, main: files.main }) : null,
      h("h2", {}, "A new file"),
      this.named(
        "New file",
        "lib/sums.fut",
        "",
        "Create",
        (name) => files.refusal(name),
        (name) => this.create(name),
      ),
      h(
        "p",
        { class: "row" },
        this.chooser("Files or a .zip…", { multiple: true, accept: `${ENDING},.pkg,.zip` }),
        this.chooser("A folder…", { webkitdirectory: true }),
      ),
      h("p", { class: "quiet" }, "Or drop them on the editor."),
      h("h2", {}, "The open file"),
      this.named(
        "Name",
        open,
        open,
        "Rename",
        (name) => (name === open ? "" : files.refusal(name, open)),
        (name) => this.rename(open, name),
      ),
      open === files.main ? this.language() : null,
      this.mains(),
      several
        ? h(
            "p",
            { class: "row" },
            h(
              "button",
              {
                disabled: open === files.main || isManifest(open) || noEntry,
                title: noEntry ? NO_ENTRY : "",
                onclick: () => this.makeMain(open),
              },
              "Make main",
            ),
            h("button", { onclick: () => this.remove(open) }, "Delete"),
          )
        : null,
      gone.length ? h("h2", {}, "Removed files") : null,
      ...gone.map((one) =>
        h(
          "p",
          {},
          h(
            "button",
            { class: "link", onclick: () => this.restore(one) },
            "Bring back ",
            h("bdi", {}, visible(one.name)),
          ),
        ),
      ),
    );
  }

  /** A field for a name, which says why one is refused. */
  private named(
    label: string,
    example: string,
    value: string,
    does: string,
    refusal: (name: string) => string,
    done: (name: string) => void,
  ): HTMLElement {
    const field = h("input", {
      type: "text",
      "aria-label": label,
      placeholder: example,
      value,
      spellcheck: "false",
      dir: "auto",
    });
    const said = h("p", { class: "refusal", role: "alert" });
    const submit = (event: Event): void => {
      event.preventDefault();
      const given = field.value.trim().normalize();
      const name =
        given && !given.endsWith(ENDING) && !given.endsWith(FLATPACK) && !isManifest(given) ? given + ENDING : given;
      const why = name ? refusal(name) : "A file needs a name.";
      replace(said, ...quoted(why));
      if (why) return field.focus();
      this.menu.open = false;
      if (name !== value) done(name);
    };
    return h(
      "form",
      { onsubmit: submit },
      h("p", { class: "row" }, field, h("button", { type: "submit" }, does)),
      said,
    );
  }

  /** The main program's language, which its file's name says. */
  private language(): HTMLElement {
    const { main } = this.model.files;
    const [now, stem] = [main.endsWith(FLATPACK) ? FLATPACK : ENDING, main.replace(/\.\w+$/, "")];
    const choice = h(
      "select",
      {},
      ...(
        [
          [ENDING, "Futhark"],
          [FLATPACK, "FlatPack"],
        ] as const
      ).map(([ending, name]) => h("option", { value: ending, selected: ending === now }, name)),
    );
    choice.addEventListener("change", () => {
      this.menu.open = false;
      this.rename(main, stem + choice.value);
    });
    return h("label", { class: "row" }, "Language", choice);
  }

  private chooser(title: string, attributes: Record<string, unknown>): HTMLElement {
    const input = h("input", {
      type: "file",
      class: "visually-hidden",
      tabindex: -1,
      "aria-label": title,
      ...attributes,
    });
    input.addEventListener("change", () => {
      this.menu.open = false;
      void this.take(chosen([...(input.files ?? [])]));
    });
    return h("span", {}, h("button", { type: "button", onclick: () => input.click() }, title), input);
  }

  private close(): void {
    if (!this.menu.open) return;
    const inside = this.menu.contains(document.activeElement);
    this.menu.open = false;
    if (inside) this.menu.querySelector<HTMLElement>("summary")!.focus();
  }

  /** Open the menu at the field for the open file's name. */
  private askName(): void {
    this.menu.open = true;
    this.fill();
    const field = this.content.querySelector<HTMLInputElement>("[aria-label='Name']")!;
    field.focus();
    field.setSelectionRange(field.value.length - baseOf(field.value).length, field.value.length - ENDING.length);
  }

  private rename(name: string, to: string): void {
    this.model.files.rename(name, to);
    this.editor.renamed(name, to);
    this.tell(null);
    this.changed();
    this.focusTab();
    this.offerImports(name, to);
  }

  /** Imports that led to a file, or from it, may go on to lead there; the reader decides. */
  private offerImports(name: string, to: string): void {
    const changes = followed(this.model.files, name, to);
    const count = [...changes.values()].reduce((sum, { length }) => sum + length, 0);
    if (!count) return;
    const change = h(
      "button",
      {
        class: "link",
        onclick: () => {
          for (const [file, edits] of followed(this.model.files, name, to)) this.editor.rewrite(file, () => edits);
          this.tell(null);
          this.focusTab();
        },
      },
      count === 1 ? "Change it" : "Change them",
    );
    this.tell(`${count === 1 ? "1 import leads" : `${count} imports lead`} nowhere now. `, change);
  }

  /** The files that can be the main one, to choose from; nothing where there is one. */
  private mains(): HTMLElement | null {
    const { files } = this.model;
    const all = this.entered();
    if (all.length < 2) return null;
    const options = [...new Set([files.main, ...all])].map((name) => h("option", { value: name }, visible(name)));
    const choice = h("select", { "aria-label": "Main program" }, ...options);
    choice.addEventListener("change", () => {
      this.editor.open(choice.value);
      this.makeMain(choice.value);
    });
    return h("label", {}, `The main program, of ${all.length} with an entry point: `, choice);
  }

  /** The files with an entry point. */
  private entered(): string[] {
    const { files } = this.model;
    return candidates(new Map(files.names().map((name) => [name, files.text(name)]))).filter((name) =>
      hasEntry(files.text(name)),
    );
  }

  private makeMain(name: string): void {
    this.menu.open = false;
    this.model.files.setMain(name);
    this.editor.renamed(name, name);
    this.changed();
    this.focusTab();
  }

  private remove(name: string): void {
    const { files } = this.model;
    if (files.names().length < 2) return;
    this.menu.open = false;
    const gone = { name, text: files.text(name) };
    const wasMain = files.main === name;
    discard(gone);
    files.remove(name);
    this.editor.update();
    this.changed();
    const undo = h(
      "button",
      {
        class: "link",
        onclick: () => {
          this.restore(gone, wasMain);
          this.focusTab();
        },
      },
      "Undo",
    );
    this.tell("Deleted ", h("bdi", {}, visible(name)), ". ", undo);
    undo.focus();
  }

  /** Bring a file back, under another name if its own is taken by now; a list of packages has but one. */
  private restore({ name, text }: Deleted, asMain = false): void {
    const { files } = this.model;
    this.menu.open = false;
    const stem = name.slice(0, -ENDING.length);
    const others = Array.from({ length: MOST_FILES }, (_, k) => `${stem}_${k + 2}${ENDING}`);
    const free = isManifest(name) ? name : [name, ...others].find((one) => !files.refusal(one))!;
    if (files.has(free)) discard({ name: free, text: files.text(free) });
    files.write(free, text);
    if (asMain) files.setMain(free);
    this.tell(null);
    this.show(free);
    this.events.changed();
  }

  private changed(): void {
    this.model.emit("files");
    this.events.changed();
  }

  private focusTab(): void {
    (
      this.list.querySelector<HTMLElement>("[aria-selected='true']") ?? this.menu.querySelector<HTMLElement>("summary")!
    ).focus();
  }

  // Files that come -----------------------------------------------------------------------------

  /** Files may be dropped anywhere: elsewhere the browser would leave the page for them. */
  private listen(): void {
    const { area } = this;
    const on = (type: "dragover" | "drop", does: (transfer: DataTransfer) => void): void => {
      window.addEventListener(
        type,
        (event) => {
          if (!event.dataTransfer?.types.includes("Files")) return;
          event.preventDefault();
          event.stopPropagation();
          does(event.dataTransfer);
        },
        { capture: true },
      );
    };
    on("dragover", () => area.classList.add("dropping"));
    on("drop", (transfer) => {
      area.classList.remove("dropping");
      void this.take(dropped(transfer));
    });
    window.addEventListener("dragleave", (event) => event.relatedTarget ?? area.classList.remove("dropping"));
  }

  /** Add what is being read, which is said where it takes a while. */
  private async take(reading: Promise<Taken>): Promise<void> {
    const clock = window.setTimeout(() => this.tell("Reading files…"), AWHILE);
    const taken = await reading;
    window.clearTimeout(clock);
    this.add(taken);
  }

  private add({ texts, refused, passed }: Taken): void {
    const { files } = this.model;
    const said = [...refused];
    const fresh = texts.size > 0 && this.events.isNobodys();
    if (fresh) this.replaceAll(texts);
    else this.addTo(texts, said);
    const added = [...texts.keys()];
    const other = passed
      ? ` ${passed} that ${passed === 1 ? "is no program is" : "are no programs are"} left out.`
      : "";
    const count =
      added.length === 1
        ? `Added ${isolated(visible(added[0]!))}.`
        : added.length
          ? `Added ${added.length} files.`
          : "No file was added.";
    const lines = shortened(said);
    const list = lines.slice(0, MOST).map((text) => h("li", {}, ...quoted(visible(text))));
    if (lines.length > MOST) list.push(h("li", {}, `and ${lines.length - MOST} more`));
    const mains = fresh ? this.mains() : null;
    if (mains) list.unshift(h("li", {}, mains));
    this.tell(`${count}${other}`, list.length ? h("ul", {}, ...list) : null);
    if (!fresh && added.length) {
      this.show(files.has(added[0]!) ? added[0]! : files.open);
      this.events.changed();
    }
  }

  /** Replace the program by these files. */
  private replaceAll(texts: Map<string, string>): void {
    const main = mainOf(texts);
    const files = Object.fromEntries([...texts].filter(([name]) => name !== main));
    this.events.replace({ source: texts.get(main)!, main, files, open: main });
  }

  /** Put files beside those that are there; what has to be left out goes from `texts`, and is said. */
  private addTo(texts: Map<string, string>, said: string[]): void {
    const { files } = this.model;
    let length = files.names().reduce((sum, name) => sum + utf8(files.text(name)), 0);
    for (const [name, text] of [...texts].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const before = files.has(name) ? files.text(name) : null;
      const why = before === null ? files.refusal(name) : "";
      const more = utf8(text) - (before === null ? 0 : utf8(before));
      if (why || length + more > MOST_BYTES || files.names().length + (before === null ? 1 : 0) > MOST_FILES) {
        said.push(`\`${name}\` was skipped. ${why || "The program has reached the limit of files or text."}`);
        texts.delete(name);
        continue;
      }
      length += more;
      if (before !== null && before !== text) {
        discard({ name, text: before });
        said.push(`\`${name}\` replaces a file of the same name, which you can restore.`);
      }
      files.write(name, text);
    }
  }

  /** Say what happened, until something else is said; or nothing. */
  private tell(...said: (Node | string | null)[]): void {
    const words = said.filter((part): part is Node | string => part !== null);
    replace(
      this.note,
      ...(words.length
        ? [
            h("div", {}, ...words),
            h(
              "button",
              {
                class: "icon",
                "aria-label": "Close this note",
                onclick: () => {
                  this.tell(null);
                  this.editor.focus();
                },
              },
              "×",
            ),
          ]
        : []),
    );
  }
}

/** Shorten messages about files: of many with one reason only a few. */
function shortened(said: readonly string[]): string[] {
  const alike = new Map<string, string[]>();
  for (const text of said) {
    const why = text.split("` is left out. ")[1] ?? text;
    alike.set(why, [...(alike.get(why) ?? []), text]);
  }
  return [...alike.values()].flatMap((all) =>
    all.length > ALIKE ? [...all.slice(0, ALIKE), `and ${all.length - ALIKE} more for the same reason`] : all,
  );
}

function mark(count: number, word: string): HTMLElement | null {
  if (!count) return null;
  return h(
    "span",
    { class: `file-mark ${word}` },
    h("span", { class: "visually-hidden" }, ", "),
    count,
    h("span", { class: "visually-hidden" }, ` ${word}${count === 1 ? "" : "s"}`),
  );
}

const utf8 = (text: string): number => new TextEncoder().encode(text).length;

/** True if a program is the empty one that the page begins with. */
export const isUntouched = ({ source, files = {}, main = MAIN }: Saved): boolean =>
  !source.trim() && main === MAIN && !Object.keys(files).length;
