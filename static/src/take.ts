// What a pane shows, taken along: its text, what was answered, its tables and pictures; copied, or as files.
import { h, replace } from "./dom";
import { answersIn } from "./fresh";
import { paneMenu } from "./menus";
import { makeWhole } from "./sight";

export interface Taken {
  title: string;
  element: HTMLElement;
  /** All of its text, and what it is made of, where the page draws a part of it. */
  text?: string;
  data?: unknown;
}

const MOST = 8; // tables and pictures that are offered
const LEAST = 60; // pixels of a picture
const LOOKS = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-opacity",
  "opacity",
  "visibility",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "dominant-baseline",
];

/** A menu of what can be taken of a pane. */
export function taking(of: () => Taken): HTMLElement {
  const content = h("div", { class: "take" });
  const menu = paneMenu("Copy or save…", content, "Copy or save this pane", () => draw(content, of()));
  menu.classList.add("take-menu");
  return menu;
}

function draw(content: HTMLElement, { title, element, text, data = answersIn(element) }: Taken): void {
  const said = h("p", { class: "quiet", role: "status" });
  const name = fileName(title);
  const copy = async (what: string): Promise<void> => {
    try {
      await navigator.clipboard.writeText(what);
      said.textContent = "Copied.";
    } catch {
      said.textContent = "This browser does not allow copying. Save it instead.";
    }
  };
  const row = (what: string, ending: string, type: string, made: () => string, called = name): HTMLElement =>
    h(
      "li",
      {},
      h("span", {}, what),
      h("button", { "aria-label": `Copy ${what}`, onclick: () => void copy(made()) }, "Copy"),
      h(
        "button",
        {
          "aria-label": `Save ${what} as .${ending}`,
          onclick: () => save(`${called}.${ending}`, new Blob([made()], { type })),
        },
        `.${ending}`,
      ),
    );
  const seen = <T extends Element>(what: string): T[] =>
    [...element.querySelectorAll<T>(what)].filter((one) => one.checkVisibility()).slice(0, MOST);
  const pictures = (): (SVGElement | HTMLCanvasElement)[] =>
    seen<SVGElement | HTMLCanvasElement>("svg, canvas").filter((one) => one.getBoundingClientRect().width >= LEAST);
  /** A picture by its number, as soon as it is shown; none where the menu is closed before. */
  const picture = (k: number): Promise<SVGElement | HTMLCanvasElement | undefined> =>
    new Promise((resolve) => {
      const look = (): void => {
        const one = said.checkVisibility() ? pictures()[k] : undefined;
        if (!one && said.checkVisibility()) return;
        drawn.disconnect();
        resolve(one);
      };
      const drawn = new MutationObserver(look);
      said.textContent = pictures()[k]
        ? ""
        : "This picture is not shown now. It will be saved when it appears, while this menu is open.";
      drawn.observe(element, { childList: true, subtree: true, attributes: true });
      look();
    });
  // The pane may have drawn it anew since the menu opened, or be about to: what is taken is what is seen then.
  const savePicture = async (
    k: number,
    ending: string,
    made: (of: SVGElement | HTMLCanvasElement) => Blob | null | Promise<Blob | null>,
  ): Promise<void> => {
    const one = await picture(k);
    if (!one) return;
    const blob = await made(one);
    said.textContent = blob
      ? ""
      : `This browser cannot save this picture as .${ending}` +
        (one instanceof HTMLCanvasElement ? "." : ". Save it as .svg.");
    if (blob) save(`${name}.${ending}`, blob);
  };
  replace(
    content,
    h(
      "ul",
      { "aria-label": `Taken of ${title}` },
      row("text", "txt", "text/plain", () => {
        if (text === undefined) makeWhole(element);
        // biome-ignore lint/performance/useDomNodeTextContent: as it is seen, with the breaks between blocks
        return text ?? element.innerText;
      }),
      data === undefined ? null : row("data", "json", "application/json", () => JSON.stringify(data, null, 1)),
      ...seen<HTMLTableElement>("table").map((table, k) => {
        const what = labelled(table, `table ${k + 1}`);
        return row(
          what,
          "csv",
          "text/csv",
          () => csvOf(seen<HTMLTableElement>("table")[k] ?? table),
          `${name}-${fileName(what)}`,
        );
      }),
      ...pictures().map((one, k) => {
        const what = labelled(one, `picture ${k + 1}`);
        const svg = (of: Element): Blob => new Blob([svgOf(of as SVGElement)], { type: "image/svg+xml" });
        return h(
          "li",
          {},
          h("span", {}, what),
          one instanceof HTMLCanvasElement
            ? null
            : h(
                "button",
                { "aria-label": `Save ${what} as .svg`, onclick: () => void savePicture(k, "svg", svg) },
                ".svg",
              ),
          h(
            "button",
            { "aria-label": `Save ${what} as .png`, onclick: () => void savePicture(k, "png", pngOf) },
            ".png",
          ),
        );
      }),
    ),
    said,
  );
}

const fileName = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");

function labelled(one: Element, otherwise: string): string {
  const label = one.querySelector("caption")?.textContent || one.getAttribute("aria-label") || otherwise;
  return label.length > 40 ? `${label.slice(0, 39)}…` : label;
}

function save(name: string, blob: Blob): void {
  const href = URL.createObjectURL(blob);
  h("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

const valueIn = (one: HTMLTableCellElement): string =>
  one.querySelector("data")?.value ?? (one.textContent ?? "").trim();

/** A table's cells, with commas between them; numbers as other programs read them. */
export function csvOf(table: HTMLTableElement): string {
  const cell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return [...table.rows].map((row) => `${[...row.cells].map((one) => cell(valueIn(one))).join(",")}\r\n`).join("");
}

/** A drawing that looks the same without the page's styles. */
function svgOf(drawing: SVGElement): string {
  makeWhole(drawing);
  const copy = drawing.cloneNode(true) as SVGElement;
  const { width, height } = drawing.getBoundingClientRect();
  const [from, to] = [
    [drawing, ...drawing.querySelectorAll("*")],
    [copy, ...copy.querySelectorAll("*")],
  ];
  for (const [k, element] of from.entries()) {
    const style = getComputedStyle(element);
    for (const look of LOOKS) to[k]!.setAttribute(look, style.getPropertyValue(look));
    to[k]!.removeAttribute("class");
  }
  for (const [name, value] of Object.entries({ xmlns: "http://www.w3.org/2000/svg", width, height }))
    copy.setAttribute(name, String(value));
  // The page's policy takes an attribute for a style of its own.
  const own = (copy.getAttribute("style") ?? "").replaceAll('"', "&quot;");
  copy.removeAttribute("style");
  return new XMLSerializer()
    .serializeToString(copy)
    .replace("<svg", `<svg style="background: ${getComputedStyle(document.body).backgroundColor}; ${own}"`);
}

/** Null where the browser cannot draw it, as of one that is too large for it. */
async function pngOf(picture: SVGElement | HTMLCanvasElement): Promise<Blob | null> {
  let canvas = picture as HTMLCanvasElement;
  if (!(picture instanceof HTMLCanvasElement)) {
    const image = new Image();
    const loaded = new Promise<boolean>((resolve) => {
      image.onload = () => resolve(true);
      image.onerror = () => resolve(false);
    });
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgOf(picture))}`;
    if (!(await loaded)) return null;
    canvas = h("canvas", { width: 2 * image.width, height: 2 * image.height });
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  }
  return new Promise((resolve) => canvas.toBlob(resolve));
}
