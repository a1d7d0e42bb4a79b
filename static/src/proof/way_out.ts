// After a failure: what its author could change or state. All of it comes from the compiler, which has tried it.
import { h, quoted } from "../dom";
import type { Attempt } from "../kept";

/** Show the remedy for a failed attempt, or null if there is none. */
export function wayOut({ hint, way_out: change }: Attempt): HTMLElement | null {
  if (!hint && !change) return null;
  return h(
    "div",
    { class: "way-out" },
    h("h3", {}, "A way out"),
    hint ? h("p", {}, ...quoted(hint)) : null,
    change ? h("p", {}, ...quoted(change.says)) : null,
    change ? h("pre", {}, h("code", {}, change.text.trim())) : null,
    change ? h("p", { class: "quiet" }, `Insert it before line ${change.line}. The compiler has tried this.`) : null,
  );
}
