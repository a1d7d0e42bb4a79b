// What build.mjs makes of the files of this folder that export a `pane`, in the order of the tabs.
declare module "panes:all" {
  import type { PaneKind } from "./pane";
  export const PANES: readonly PaneKind[];
}

/** The same without their code, which comes when it is needed. */
declare module "panes:kinds" {
  import type { KnownKind } from "./pane";
  export const KINDS: readonly KnownKind[];
}
