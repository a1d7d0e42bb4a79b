// What a link is given along: text for another page and for a list of references, whatever a title says.
import { expect, test } from "vitest";
import { bibtex, frame } from "../src/citing";

const shared = {
  url: "https://example.org/z/abcdefghij",
  title: 'A "map" & 50 % of {x_1} <b>\\',
  stages: ["fused", "funmem"],
  version: "0.1.0",
};

test("a frame shows the source and the stages that are seen, with the title as it is", () => {
  expect(frame(shared)).toBe(
    '<iframe src="https://example.org/embed/abcdefghij?stages=source,fused,funmem" ' +
      'title="A &quot;map&quot; &amp; 50 % of {x_1} &lt;b&gt;\\" width="100%" height="480" loading="lazy"></iframe>',
  );
});

test("an entry of BibTeX has the title as it is, and the address", () => {
  const entry = bibtex(shared, new Date(2026, 5, 1));
  expect(entry.split("\n")).toEqual([
    "@misc{stridescope-abcdefghij,",
    String.raw`  title = {{A "map" \& 50 \% of \{x\_1\} <b>\textbackslash{}}},`,
    String.raw`  howpublished = {\url{https://example.org/z/abcdefghij}},`,
    "  year = {2026},",
    "  note = {A program and its compilation, frozen by Stridescope 0.1.0}",
    "}",
  ]);
});
