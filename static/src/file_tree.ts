// The files of a large program as a tree of folders, in the menu of files.
import { h, replace } from "./dom";
import { visible } from "./files";

/** From so many files on there is one. */
export const MANY = 7;

/** A folder: the names of what is in it, to folders and to files' paths. */
export interface Folder {
  folders: Map<string, Folder>;
  files: [name: string, path: string][];
}

/** Files by folders, each with its folders and then its files in order of their names. */
export function treeOf(paths: readonly string[]): Folder {
  const top: Folder = { folders: new Map(), files: [] };
  for (const path of [...paths].sort()) {
    const names = path.split("/");
    const name = names.pop()!;
    let at = top;
    for (const folder of names) {
      const next = at.folders.get(folder) ?? { folders: new Map(), files: [] };
      at.folders.set(folder, next);
      at = next;
    }
    at.files.push([name, path]);
  }
  return top;
}

/** The part of a program that a tree shows when it is opened. */
export interface Shown {
  paths: readonly string[];
  open: string;
  main: string;
}

export class FileTree {
  private readonly find = h("input", { type: "search", placeholder: "part of a path", "aria-label": "Find a file" });
  private readonly list = h("div", { class: "file-tree-list" });
  readonly element = h("div", { class: "file-tree" }, this.find, this.list);
  private shown: Shown = { paths: [], open: "", main: "" };

  /** `open`: open a file. */
  constructor(private readonly open: (path: string) => void) {
    this.find.addEventListener("input", () => this.fill());
  }

  /** Show these files. */
  show(shown: Shown): HTMLElement {
    this.shown = shown;
    this.find.value = "";
    this.fill();
    return this.element;
  }

  private fill(): void {
    const wanted = this.find.value.trim().toLowerCase();
    const paths = this.shown.paths.filter((path) => path.toLowerCase().includes(wanted));
    replace(
      this.list,
      paths.length ? this.folder(treeOf(paths), "", wanted !== "") : h("p", { class: "quiet" }, "None."),
    );
  }

  /** The content of a folder. It is open if it holds the open file, if it is at the top, or if one is looked for. */
  private folder({ folders, files }: Folder, at: string, all: boolean): HTMLElement {
    return h(
      "ul",
      {},
      ...[...folders].map(([name, inside]) => {
        const path = `${at}${name}/`;
        const open = all || this.shown.open.startsWith(path) || (at === "" && folders.size < 3);
        return h(
          "li",
          {},
          h("details", { open }, h("summary", {}, h("bdi", {}, visible(name))), this.folder(inside, path, all)),
        );
      }),
      ...files.map(([name, path]) =>
        h(
          "li",
          {},
          h(
            "button",
            {
              class: "link",
              "aria-current": path === this.shown.open ? "true" : undefined,
              onclick: () => this.open(path),
            },
            h("bdi", {}, visible(name)),
            path === this.shown.main ? ", the main program" : null,
          ),
        ),
      ),
    );
  }
}
