// The links that this browser has made, with the keys that delete them, which the server tells once.
import * as client from "./client";
import { h } from "./dom";
import { load, save } from "./storage";

interface OwnLink {
  id: string;
  key: string;
  title: string;
  when: string;
}

const KEPT = 200;

const ownLinks = (): OwnLink[] => load<OwnLink[]>("links") ?? [];

/**
 * Keep the key of a link, if it has one. Who shares the same again gets a new one, and the earlier is none any
 * more.
 */
export function keepLink({ id, key }: { id: string; key: string }, title: string): void {
  if (!key) return;
  const link = { id, key, title: title || id, when: new Date().toISOString() };
  save("links", [link, ...ownLinks().filter((one) => one.id !== id)].slice(0, KEPT));
}

function drop({ id, key }: OwnLink): void {
  save(
    "links",
    ownLinks().filter((one) => one.id !== id || one.key !== key),
  );
}

/** All of them, each with a button that deletes it; null where there are none. */
export function ownLinkList(): HTMLElement | null {
  const links = ownLinks();
  if (!links.length) return null;
  const said = h("p", { role: "status", class: "quiet" });
  return h(
    "details",
    { class: "own-links" },
    h("summary", {}, `Links made in this browser: ${links.length}`),
    h("ul", {}, ...links.map((link) => entry(link, said))),
    said,
  );
}

function entry(link: OwnLink, said: HTMLElement): HTMLElement {
  const remove = h("button", { "aria-label": `Delete the link ${link.title}` }, "Delete");
  const item = h(
    "li",
    { class: "row" },
    h("a", { href: `/z/${link.id}` }, link.title),
    h("span", { class: "quiet" }, link.when.slice(0, 16).replace("T", " ")),
    remove,
  );
  remove.addEventListener("click", () => {
    remove.disabled = true;
    void client.forget(link).then((answer) => {
      said.textContent = told(answer);
      remove.disabled = false;
      if (!answer.ok && !isUnknown(answer)) return;
      drop(link);
      item.remove();
    });
  });
  return item;
}

/** There is no such link, or this key is none of its keys any more: nothing is left to delete. */
const isUnknown = (answer: client.Answer<{ ok: true; gone: boolean }>): boolean =>
  !answer.ok && answer.error.kind === "usage";

function told(answer: client.Answer<{ ok: true; gone: boolean }>): string {
  if (answer.ok && answer.gone) return "The link is deleted. Browsers and proxies may have a copy for a while.";
  if (answer.ok) return "You no longer own it. Others have shared the same program, so it stays.";
  return isUnknown(answer)
    ? "This link was already deleted, or only others own it now."
    : `${answer.error.message} ${answer.error.hint}`;
}
