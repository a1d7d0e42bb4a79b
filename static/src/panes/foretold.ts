// Times on devices that are not at hand: the device that was measured first, the others and kernels below.
import { h } from "../dom";
import type { AccessesAnswer, EntryTime, ForetoldTime } from "../types";
import { tableOf } from "./loop_card";

const NEVER = "from the data sheet, never measured";

/** A time as a sentence. */
export const sentence = ({ ms, device, bound }: ForetoldTime): string =>
  `About ${ms} ms on ${/^[AEFHILMNORSX]/.test(device) ? "an" : "a"} ${device}, bound by ${bound}.`;

/** The same within a sentence, and in a tip how sure that is. */
export const inShort = (time: EntryTime): HTMLElement =>
  h(
    "span",
    { class: "quiet", title: `Foretold: ${time.how_far}.${time.unsure ? ` It may be far off: ${time.unsure}.` : ""}` },
    sentence(time)
      .replace("About", time.unsure ? "perhaps" : "about")
      .replace(/\.$/, ""),
  );

/** Show the predicted time on a device and its uncertainty; null where the answer has no times. */
export function foretold(answer: AccessesAnswer): HTMLElement | null {
  const { foretold: times, kernels, unsure, how_far: far } = answer;
  const [first, ...others] = [...(times ?? [])].sort((a, b) => Number(b.measured) - Number(a.measured));
  if (!first || !kernels.length) return null;
  const rows: [string, readonly ForetoldTime[]][] = [
    ["the whole run", times!],
    ...kernels.map(({ name, foretold: own }): [string, readonly ForetoldTime[]] => [name, own ?? []]),
  ];
  const table = tableOf("Predicted, in milliseconds", rows, [
    ["Kernel", ([name]) => name],
    ...times!.map(
      ({ device }) =>
        [
          device,
          ([, all]: [string, readonly ForetoldTime[]]) => cell(all.find((one) => one.device === device)),
        ] as const,
    ),
  ]);
  return h(
    "section",
    { class: "foretold" },
    h("p", {}, h("strong", {}, sentence(first)), " ", h("span", { class: "quiet" }, `Foretold: ${far ?? NEVER}.`)),
    unsure ? h("p", { class: "quiet" }, `It may be far off: ${unsure}.`) : null,
    h(
      "details",
      {},
      h("summary", {}, "By kernel, and on other devices"),
      h(
        "p",
        { class: "quiet" },
        `${others.map(({ device }) => device).join(", ")}: from their data sheets, never measured.`,
      ),
      h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": "Foretold times" }, table),
    ),
  );
}

const cell = (time: ForetoldTime | undefined): string => (time ? `${time.ms}, ${time.bound}` : "");
