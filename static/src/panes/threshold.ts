// A choice between two versions of the code: by size, or forced one way or the other.
import { h } from "../dom";
import type { Model } from "../model";
import type { Options, TreeNode } from "../types";

const NEVER = Number.MAX_SAFE_INTEGER; // a threshold that no amount reaches

export type ChangeOptions = (options: Pick<Options, "thresholds">) => void;

/** Return the version that a threshold is forced to; "" if the size decides. */
export function forced(model: Model, name: string): "" | "first" | "other" {
  const value = model.options.thresholds?.[name];
  return value === undefined ? "" : value === 0 ? "first" : "other";
}

/** The choice of a branch as a field. A link is shown as it was made. */
export function thresholdChoice(model: Model, change: ChangeOptions, branch: TreeNode): HTMLElement {
  const { threshold: name = "", amount, default: usual } = branch;
  const choice = h(
    "select",
    { "aria-label": name, disabled: model.frozen !== null },
    h("option", { value: "" }, `by size: ${amount} ≥ ${usual}`),
    h("option", { value: "first" }, "force the first version"),
    h("option", { value: "other" }, "force the other one"),
  );
  choice.value = forced(model, name);
  choice.addEventListener("change", () => {
    const { [name]: _, ...rest } = model.options.thresholds ?? {};
    const value = { first: 0, other: NEVER }[choice.value];
    choice.blur();
    change({ thresholds: value === undefined ? rest : { ...rest, [name]: value } });
  });
  return choice;
}
