// The row over the source: the file's name or the files' tabs, the menu of files, and what can be done with the text.
// The first view has it as well, asleep.
import { h } from "./dom";

export interface FileRow {
  element: HTMLElement;
  /** The name of the one file that there is. */
  name: HTMLElement;
  /** The tabs, where there are several. */
  list: HTMLElement;
  menu: HTMLDetailsElement;
  /** The contents of the menu. */
  content: HTMLElement;
  fresh: HTMLButtonElement;
  /** Commands of the editor's language for the open file. */
  format: HTMLButtonElement;
  outline: HTMLButtonElement;
}

export function fileRow(grip: HTMLElement): FileRow {
  const name = h("bdi", { class: "file-name" });
  const list = h("div", { class: "file-list", role: "tablist", "aria-label": "Files", hidden: true });
  const content = h("div", { class: "popover" });
  const title = "A new file, files from this machine, rename, delete";
  const menu = h("details", { class: "file-menu" }, h("summary", { title }, "Files"), content);
  const button = (words: string, says: string): HTMLButtonElement =>
    h("button", { class: "file-command", title: says }, words);
  const fresh = button("New", "Start a new program; this one is kept among the earlier ones");
  const format = button("Format", "Shift+Alt+F");
  const outline = button("Outline", "Ctrl+Shift+O: the declarations of the file");
  const commands = h("div", { class: "file-commands at-hand" }, menu, fresh, format, outline);
  return {
    element: h("div", { class: "files" }, grip, name, list, commands),
    name,
    list,
    menu,
    content,
    fresh,
    format,
    outline,
  };
}
