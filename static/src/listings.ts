// What other compilers make of a stage's text: asked for while a pane shows it, once for each text.
import * as client from "./client";
import { debounce } from "./dom";
import { sameText, type Model, type Text } from "./model";
import type { AnyAsked } from "./kept";

export class Listings {
  private readonly asked = new Map<string, Text>();
  private readonly soon = debounce(60, () => this.ask());

  /** `shown`: the ids of the stages that panes show. */
  constructor(private readonly model: Model, private readonly shown: () => string[]) {
    model.on("stages", this.soon);
    model.on("status", this.soon);
  }

  /** Panes show something else. */
  changed(): void {
    this.soon();
  }

  /** What a link keeps of them. */
  shared(): Pick<AnyAsked, "op" | "request">[] {
    const { model } = this;
    const made = model.listings.filter(({ id }) => {
      const state = model.stages.get(id);
      return state && sameText(state.of, model.now);
    });
    return made.map(({ id }) => ({ op: "listing", request: { listing: id } }));
  }

  private ask(): void {
    const { made, frozen, listings } = this.model;
    if (!made || frozen) return;
    for (const { id } of listings) {
      if (!this.shown().includes(id) || this.asked.get(id) === made) continue;
      this.asked.set(id, made);
      void this.answer(id, made);
    }
  }

  private async answer(id: string, of: Text): Promise<void> {
    const { model } = this;
    model.setListing(id, null);
    const answer = await client.post("listing", { ...of, listing: id });
    if (this.asked.get(id) !== of || model.made !== of) return;
    if (answer.ok) model.setStages({ [id]: answer.stage });
    model.setListing(id, answer.ok ? null : answer.error);
  }
}
