// Where the page begins: it is made of what the first view left, and goes on with what was typed into that.
import { actionsOf } from "./actions";
import * as client from "./client";
import { faces } from "./dom";
import { follow, shownBy } from "./following";
import { listen } from "./keys";
import { Page, problem } from "./page";
import { first } from "./plain";

/**
 * Await the page's first data while the first view stands, so that there is no moment in which
 * a key is lost.
 */
async function begin(): Promise<void> {
  await Promise.all([faces(), ...(first.view ? [client.manifest(), client.examples()] : [])]);
  const typed = first.view?.source.typed ?? null;
  const page = new Page({ actions: actionsOf, shown: shownBy, follow });
  listen(page, document.getElementById("app")!);
  await page.start();
  if (typed) page.editor.goOn(typed);
  if (first.view?.opened) page.dock.open(first.view.opened);
}

begin().catch(problem);
