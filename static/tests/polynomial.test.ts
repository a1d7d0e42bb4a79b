// Polynomials as data: their values, and how they are written, also as a proof's words.
import { expect, test } from "vitest";
import { asFactor, evaluate, inOrder, namesIn, numberOf, pretty, prettyCells } from "../src/polynomial";
import { renamed, signed } from "../src/polynomial";
import { inequality, inWords, readAssumptions } from "../src/proof/words";
import type { Polynomial } from "../src/types";

const CLAIM: Polynomial = [[1, "n"], [-2, "b"], [-1]];

test("a value is that of its terms, and null where a name is missing", () => {
  expect(evaluate(CLAIM, { n: 9, b: 3 })).toBe(2);
  expect(evaluate(CLAIM, { n: 9 })).toBeNull();
  expect(evaluate([], {})).toBe(0);
  expect(evaluate([[3, "n", "n"]], { n: -2 })).toBe(12);
  const floor: Polynomial = [[1, { op: "/", of: [[[1, "n"]], [[4]]] }]];
  expect([7, 8, -1].map((n) => evaluate(floor, { n }))).toEqual([1, 2, -1]);
  const least: Polynomial = [[2, { op: "min", of: [[[1, "n"]], [[5]]] }]];
  expect([3, 9].map((n) => evaluate(least, { n }))).toEqual([6, 10]);
  expect(numberOf([[3], [4]])).toBe(7);
  expect(numberOf(CLAIM)).toBeNull();
});

test("it is written with powers, signs and no factor of 1", () => {
  expect(inOrder(CLAIM)).toBe("n - 2·b - 1");
  expect(inOrder([])).toBe("0");
  expect(inOrder([[-1, "n", "n"], [3]])).toBe("-n² + 3");
  expect(inOrder([[1, { op: "/", of: [[[1, "n"], [1]], [[2]]] }]])).toBe("⌊(n + 1)/2⌋");
  expect(pretty([[1, "n"]])).toBe("n");
  expect(asFactor([[1, "n"], [1]])).toBe("(n + 1)");
  expect(signed(CLAIM)).toEqual({ more: ["n"], less: ["2·b", "1"] });
  expect(prettyCells({ offset: [[1, "o"]], dims: [[[[1, "n"]], [[2]]]] })).toBe("o + {(n : 2)}");
});

test("names are found and changed in all of an answer", () => {
  const answer = { claims: [CLAIM], text: "n", nested: { one: [[2, "n", "m"]] } };
  expect(new Set(namesIn(answer))).toEqual(new Set(["n", "b", "m"]));
  const other = renamed(answer, (name) => `${name}'`);
  expect(other.claims).toEqual([[[1, "n'"], [-2, "b'"], [-1]]]);
  expect(other.text).toBe("n");
});

test("what is not negative is an inequality, in signs and in words", () => {
  expect(inequality(CLAIM)).toBe("n ≥ 2·b + 1");
  expect(inWords(CLAIM)).toBe("`n` is at least `2·b + 1`");
  expect(inequality([[-1, "i"], [7]])).toBe("i ≤ 7");
  expect(inWords([[-1, "i"], [7]])).toBe("`i` is at most `7`");
  expect(inWords([[1, "n"]])).toBe("`n` is not negative");
});

test("assumptions are read one by one, chains as well", () => {
  expect(readAssumptions("0 <= i < n, n = 2·k\n\nm ≥ 1").other).toEqual(["0 <= i", "i < n", "n == 2*k", "m >= 1"]);
  expect(readAssumptions(" ; ").other).toEqual([]);
  expect(readAssumptions("odd").other).toEqual(["odd"]);
});
