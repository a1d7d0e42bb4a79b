// Fields for numbers that stay where they are while answers come, and leave what is being typed alone.
import { h } from "./dom";

export class NumberField {
  readonly input: HTMLInputElement;
  private change: (value: number) => void = () => undefined;

  constructor(value: number, more: Record<string, unknown>) {
    this.input = h("input", { type: "number", min: 0, value, ...more });
    this.input.addEventListener("input", () => {
      if (this.isTaken()) this.change(this.input.valueAsNumber);
    });
  }

  /** True if the text is a whole number and not too small; other texts are not reported. */
  private isTaken(): boolean {
    return Number.isSafeInteger(this.input.valueAsNumber) && !this.input.validity.rangeUnderflow;
  }

  /** Show a value, unless one is being typed that is none yet; whether it is another than before. */
  take(value: number, change: (value: number) => void): boolean {
    this.change = change;
    const typing = document.activeElement === this.input && !this.isTaken();
    if (typing || this.input.valueAsNumber === value) return false;
    this.input.value = String(value);
    return true;
  }
}

/** Values by key, made when first requested and kept as long as they are used. */
export class Keyed<T> {
  private readonly kept = new Map<string, T>();

  /** Those of these keys, in their order, and no others from here on. */
  of<K>(wanted: readonly K[], keyOf: (one: K) => string, make: (one: K) => T): T[] {
    const keys = wanted.map(keyOf);
    for (const key of [...this.kept.keys()]) if (!keys.includes(key)) this.kept.delete(key);
    return wanted.map((one, k) => {
      const found = this.kept.get(keys[k]!) ?? make(one);
      this.kept.set(keys[k]!, found);
      return found;
    });
  }
}
