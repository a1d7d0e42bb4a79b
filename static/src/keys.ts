// The keys of the whole page; those of an editor are its own.
import { isTyping } from "./dom";
import type { Page } from "./page";

/** Listen before anybody else does. */
export function listen(page: Page, root: HTMLElement): void {
  document.addEventListener(
    "keydown",
    (event) => {
      const control = event.ctrlKey || event.metaKey;
      const by = event.shiftKey ? -1 : 1;
      if (page.palette.isOpen && !(control && event.key === "k")) return;
      if (control && event.key === "Enter") void page.runPane.run();
      else if (control && event.key === "s") void page.share();
      else if (event.altKey && !control && event.key === "ArrowRight") page.step(1);
      else if (event.altKey && !control && event.key === "ArrowLeft") page.step(-1);
      else if (control && event.key === "k") page.palette.open();
      else if (event.key === "?" && !isTyping(event.target as HTMLElement)) page.header.showHelp();
      else if (event.key === "F4") page.workbench.occurrence(by);
      else if (event.key === "F7") page.programA.difference(by) || page.workbench.difference(by);
      else if (event.key === "F8") page.programA.turn();
      else if (event.key === "F6") nextPane(root, by);
      else if (event.key === "Escape") return page.link.choose(null);
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
    { capture: true },
  );
}

function nextPane(root: HTMLElement, by: number): void {
  const panes = [...root.querySelectorAll<HTMLElement>(".rail, .pane:not(:has(.pane)), .run")].filter((pane) =>
    pane.checkVisibility(),
  );
  const at = panes.findIndex((pane) => pane.contains(document.activeElement));
  for (let k = 1; k <= panes.length; k += 1)
    if (enter(panes[(((at + by * k) % panes.length) + panes.length) % panes.length]!)) return;
}

/** Focus the text of a pane, or the first thing that takes it, which what is disabled or hidden does not. */
function enter(pane: HTMLElement): boolean {
  return [".cm-content", "[tabindex='0'], select, button"]
    .flatMap((what) => [...pane.querySelectorAll<HTMLElement>(what)])
    .some((one) => {
      one.focus();
      return document.activeElement === one;
    });
}
