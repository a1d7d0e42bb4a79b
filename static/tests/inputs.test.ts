// Values to start from: of the types of parameters, in sizes that agree, and those of data sets that fit.
import { expect, test } from "vitest";
import { parameterOf, propose } from "../src/input_types";
import { dataSets, firstOf, sizesFrom, splitValues } from "../src/inputs";

const proposed = (params: Record<string, string>, given = ""): string[] => {
  const parameters = Object.entries(params).map(([name, type]) => parameterOf(type, name));
  return propose(
    parameters,
    parameters.map(() => undefined),
    splitValues(given),
  );
};

const START: [Record<string, string>, string[]][] = [
  [{ xs: "[n]f32", ys: "[n]f32" }, ["[1.0f32, 2.0f32, 3.0f32, 4.0f32]", "[1.0f32, 2.0f32, 3.0f32, 4.0f32]"]],
  [{ n: "i64", xs: "[n + 1]i32" }, ["4i64", "[1i32, 2i32, 3i32, 4i32, 5i32]"]],
  [{ p: "(i64, [2]bool)", x: "u8" }, ["(3i64, [true, false])", "3u8"]],
  [{ r: "{a: f64, b: [2][1]i8}" }, ["{a = 3.0f64, b = [[1i8], [2i8]]}"]],
  [{ ps: "[n](i64, f32)", k: "i64" }, ["[(1i64, 2.0f32), (3i64, 4.0f32), (5i64, 6.0f32), (7i64, 8.0f32)]", "3i64"]],
  [{ s: "#a | #b i64" }, ["#a"]],
  [{ s: "[2](#b i64 (#c | #d) | #e)", _: "[0](i32, #f)" }, ["[#b 1i64 (#c), #b 2i64 (#c)]", "empty([0](i32, #f))"]],
  [{ xs: "[1000][1000]f32" }, [""]],
  [{ f: "i64 -> i64" }, [""]],
];

test.each(START)("values of %j", (params, values) => expect(proposed(params)).toEqual(values));

const GIVEN = "2i64 [1, 2] [0.5f32, 1.5f32]";
const OF_SETS: [Record<string, string>, string, string[]][] = [
  [{ k: "i64", xs: "[k]i32", ys: "[k]f32" }, GIVEN, ["2i64", "[1, 2]", "[0.5f32, 1.5f32]"]],
  [{ k: "i64", xs: "[k]bool", ys: "[k]f32" }, GIVEN, ["2i64", "[true, false]", "[0.5f32, 1.5f32]"]],
  [{ p: "(i64, [k]i32)", ys: "[k]f32" }, GIVEN, ["2i64\n[1, 2]", "[0.5f32, 1.5f32]"]],
  [
    { r: "{a: {b: i32}, c: [n]i8}", xs: "[](#yes i32 | #no)", x: "#yes i32 | #no", t: "(i32, bool)" },
    "{a = {b = 1}, c = [2]} [#no, #yes 3] #yes 4 (5, true)",
    ["{a = {b = 1}, c = [2]}", "[#no, #yes 3]", "#yes 4", "(5, true)"],
  ],
];

test.each(OF_SETS)("values of %j that fit, out of %j", (params, given, values) =>
  expect(proposed(params, given)).toEqual(values),
);

test("values that are not all of them are none", () => {
  expect(proposed({ k: "i64", xs: "[k]i32", ys: "[k]f32", zs: "[k]f32" }, GIVEN)[0]).toBe("4i64");
});

const SOURCE = `-- ==
-- entry: f g
-- "small" input { 1 [2, 3] } output { 4 }
-- random input { [10]i32 }
-- ==
-- input { 7 }
entry main = 1
`;

test("data sets are those of an entry point, by name or by their values", () => {
  expect(dataSets(SOURCE, "g").map(({ name }) => name)).toEqual(["small", "[10]i32"]);
  expect(firstOf(dataSets(SOURCE, "f"))).toEqual({ input: "1 [2, 3]", random: "[10]i32" });
  expect(firstOf(dataSets(SOURCE, "main"))).toEqual({ input: "7", random: "" });
  expect(dataSets(SOURCE, "h")).toEqual([]);
});

test("sizes come out of the types of random inputs", () => {
  expect({ ...sizesFrom("[200][300]f32 10i32", ["[n][m]f32", "i32"], ["xs", "steps"]) }).toEqual({
    n: 200,
    m: 300,
    steps: 10,
  });
});
