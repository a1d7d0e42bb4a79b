// What build.mjs makes of the files of this folder that export a `pane`, in the order of the tabs.
declare module "panes:all" {
  import type { PaneKind } from "./pane";
  export const PANES: readonly PaneKind[];
}

/** The same without their code, for the first view. */
declare module "panes:titles" {
  export const TITLES: readonly { id: string; title: string; group: string }[];
}
