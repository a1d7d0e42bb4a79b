// Files that come from a machine: which are taken, and by what reason others are not.
import { expect, test } from "vitest";
import { mainOf } from "../src/files";
import { chosen } from "../src/intake";
import { zipped, type Packed } from "./zip";

const BASE = "def more (y: f32) : f32 = y + 1\n";
const zip = async (name: string, entries: readonly Packed[]): Promise<File> => new File([await zipped(entries)], name);
const packed = (files: Record<string, string>): Packed[] =>
  Object.entries(files).map(([name, data]) => ({ name, data }));

test("what cannot be taken is refused by name, and the rest is taken", async () => {
  const { texts, refused, passed } = await chosen([
    new File([new Uint8Array([0, 1, 2])], "binary.fut"),
    new File([new Uint8Array([...new TextEncoder().encode("def "), 0xfc])], "latin.fut"),
    new File(["entry main = 1i32\n"], "fine.fut"),
    await zip("lying.zip", [{ name: "lies.fut", data: BASE, says: { size: 4 } }]),
    await zip("broken.zip", [{ name: "torn.fut", data: BASE, says: { sum: 1 } }]),
    await zip("locked.zip", [{ name: "shut.fut", data: BASE, says: { flags: 1 } }]),
    await zip("bomb.zip", [{ name: "bomb.fut", data: "-".repeat(30_000_000) }]),
    await zip("whole.zip", [{ name: "good.fut", data: BASE }]),
    new File(["no zip at all"], "none.zip"),
    new File(["png"], "photo.png"),
    new File(["hidden"], ".hidden.fut"),
  ]);
  expect([...texts.keys()]).toEqual(["fine.fut", "good.fut"]);
  expect(texts.get("good.fut")).toBe(BASE);
  expect(passed).toBe(1);
  const why = {
    "binary.fut": "It is not UTF-8 text.",
    "latin.fut": "It is not UTF-8 text.",
    "lies.fut": "it is longer than declared",
    "torn.fut": "it is damaged",
    "shut.fut": "it is encrypted",
    "bomb.fut": "at most 400 kB",
    "none.zip": "it is not a zip file",
  };
  for (const [name, reason] of Object.entries(why))
    expect(refused.find((line) => line.startsWith(`\`${name}\``))).toContain(reason);
  expect(refused.length).toBe(Object.keys(why).length);
});

test("of too many files those near the top are taken, wherever the archive has them", async () => {
  const deep = Array.from({ length: 510 }, (_, k) => [`p/a/f${k}.fut`, `def a${k} = ${k}i32\n`]);
  const top = Array.from({ length: 3 }, (_, k) => [`p/b${k}.fut`, `def b${k} = ${k}i32\n`]);
  const all = Object.fromEntries([...deep, ...top, ["p/main.fut", "entry main = 1i32\n"]]) as Record<string, string>;
  const { texts, refused } = await chosen([await zip("p.zip", packed(all))]);
  expect(texts.size).toBe(500);
  expect(refused.length).toBe(14);
  expect([...texts.keys()].slice(0, 4)).toEqual(["main.fut", "b0.fut", "b1.fut", "b2.fut"]);
});

test("of too much text what is imported is taken, packages that nothing needs come last", async () => {
  const long = `-- ${"x".repeat(130_000)}\n`;
  const unused = Array.from({ length: 4 }, (_, k) => [`p/lib/github.com/a/a/a${k}.fut`, `${long}def a${k} = 1i32\n`]);
  const needed = {
    "p/futhark.pkg": "package github.com/me/own\nrequire { }\n",
    "p/main.fut": 'import "lib/github.com/z/z/one"\nentry main = two\n',
    "p/lib/github.com/z/z/one.fut": 'open import "deep/two"\n',
    "p/lib/github.com/z/z/deep/two.fut": `def two = 2i32\n${long}`,
    "p/lib/github.com/me/own/own.fut": `def own = 3i32\n${long}`,
  };
  const { texts } = await chosen([await zip("p.zip", packed({ ...Object.fromEntries(unused), ...needed }))]);
  expect(texts.size).toBe(6);
  for (const name of Object.keys(needed)) expect(texts.has(name.slice(2)), name).toBe(true);
});

test("the main file is none of another package", () => {
  const files = {
    "futhark.pkg": "package github.com/me/own\n",
    "lib/github.com/a/a/test.fut": "entry main = 1i32\n",
    "lib/github.com/me/own/test/test.fut": "entry main = 2i32\n",
  };
  expect(mainOf(new Map(Object.entries(files)))).toBe("lib/github.com/me/own/test/test.fut");
});
