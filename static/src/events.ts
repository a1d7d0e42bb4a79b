// A stream of events that the server sends, as the HTML standard has them: a name, and data on one line.

/** A field of an event, which may be long. */
function fieldOf(block: string, name: string): string | null {
  const mark = `${name}: `;
  const from = block.startsWith(mark) ? 0 : block.indexOf(`\n${mark}`) + 1;
  const end = block.indexOf("\n", from);
  return block.startsWith(mark, from) ? block.slice(from + mark.length, end < 0 ? undefined : end) : null;
}

/** The (name, data) pairs of an event stream. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<[string, string]> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let pieces: string[] = []; // of an event that has not ended
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    pieces.push(value);
    if (!value.includes("\n")) continue;
    let buffer = pieces.join("");
    for (let end = buffer.indexOf("\n\n"); end >= 0; end = buffer.indexOf("\n\n")) {
      const block = buffer.slice(0, end);
      buffer = buffer.slice(end + 2);
      yield [fieldOf(block, "event") ?? "", fieldOf(block, "data") ?? "{}"];
    }
    pieces = [buffer];
  }
}
