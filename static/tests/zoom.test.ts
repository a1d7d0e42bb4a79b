// How large a drawing is shown, and what stays in its middle.
import { expect, test } from "vitest";
import { fitting, kept } from "../src/zoom";

test("all of a drawing is in sight, and a small one is not made larger", () => {
  const room = { width: 400, height: 300 };
  expect(fitting(800, 300, room)).toBe(0.5);
  expect(fitting(400, 1200, room)).toBe(0.25);
  expect(fitting(100, 50, room)).toBe(1);
  expect(fitting(1e6, 10, room)).toBeGreaterThan(0);
});

test("what is in the middle stays there", () => {
  expect(kept(100, 200, 2)).toBe(300); // 200 is in the middle, then 400
  expect(kept(0, 200, 0.5)).toBe(0);
});
