// A file's value on its way to the server, piece by piece: a run waits for it, and it is taken up where it broke off.
import * as client from "../client";
import type { Values } from "./values";

const TRIES = 4; // of a piece that nobody answers
const PAUSE = 1000; // milliseconds before the next one, each time twice as long
const KEPT = 45 * 60_000; // milliseconds after which the server may have deleted it: it is sent again

export class Sending {
  private id = "";
  private have = 0;
  private used = 0;
  private work: Promise<void> | null = null;
  private readonly stopping = new AbortController();
  /** Why it broke off, in words. */
  problem = "";

  /** `told`: called as it goes on. */
  constructor(
    readonly name: string,
    readonly values: Values,
    readonly data: Blob,
    private readonly told: () => void,
  ) {}

  /** The part of it that is there, from 0 to 1. */
  get part(): number {
    return this.have / this.data.size;
  }

  get isThere(): boolean {
    return this.id !== "" && this.have === this.data.size;
  }

  /** The server's name for it. */
  get sent(): string {
    return this.id;
  }

  /** Send it, or what is left of it. Throws, in words, what went wrong. */
  send(): Promise<void> {
    if (this.isThere && Date.now() - this.used > KEPT) this.begin("");
    if (this.isThere) return Promise.resolve();
    this.work ??= this.pieces()
      .catch((error: unknown) => {
        this.problem = error instanceof Error ? error.message : String(error);
        throw error;
      })
      .finally(() => {
        this.work = null;
        this.told();
      });
    return this.work;
  }

  /** Send no more of it, and have the server delete it. */
  drop(): void {
    this.stopping.abort();
    if (this.id) void client.dropUpload(this.id);
  }

  private begin(id: string): void {
    this.id = id;
    this.have = 0;
  }

  private async pieces(): Promise<void> {
    this.problem = "";
    let [longest, failures] = [1 << 20, 0];
    while (!this.isThere) {
      if (this.stopping.signal.aborted) throw new Error(`${this.name} was removed.`);
      const piece = this.data.slice(this.have, this.have + longest);
      const answer = this.id
        ? await client.sendPiece(this.id, this.have, piece)
        : await client.beginUpload(this.data.size);
      if (answer.ok) {
        failures = 0;
        this.used = Date.now();
        if ("id" in answer) {
          this.begin(answer.id);
          longest = answer.piece;
        } else this.have = answer.have;
        this.told();
        continue;
      }
      const { error } = answer;
      if (error.have !== undefined) this.have = error.have;
      else if (error.status === 404 && this.id && failures < TRIES) {
        failures += 1;
        this.begin("");
      } else if (error.retry !== undefined) await pause(1000 * error.retry);
      else if (error.status === 0 && failures < TRIES) await pause(PAUSE * 2 ** failures++);
      else throw new Error(`${this.name} was not sent: ${error.message} ${error.hint}`.trim());
    }
  }
}

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));
