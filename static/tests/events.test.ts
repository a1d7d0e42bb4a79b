// The server's events, wherever their stream is cut.
import { expect, test } from "vitest";
import { eventsOf } from "../src/events";

test.each([1, 7, 100_000])("events are whole where their stream is cut after %i bytes", async (size) => {
  const stream = 'event: part\ndata: {"a": "event: x, data: y"}\n\ndata: 2\n\nevent: done\n\nevent: cut';
  const bytes = new TextEncoder().encode(stream);
  const body = new ReadableStream<Uint8Array>({
    start(to) {
      for (let at = 0; at < bytes.length; at += size) to.enqueue(bytes.slice(at, at + size));
      to.close();
    },
  });
  const found: [string, string][] = [];
  for await (const one of eventsOf(body)) found.push(one);
  expect(found).toEqual([
    ["part", '{"a": "event: x, data: y"}'],
    ["", "2"],
    ["done", "{}"],
  ]);
});
