/** The body of a callback: a group of any size takes little memory. */

/** Characters up to which a body is sent whole, with its length, which the simplest receivers need. */
const WHOLE_CHARS = 8 * 1024 * 1024;

interface CallbackBody {
  readonly body: Blob | ReadableStream<Uint8Array>;
  /** Set for a body in chunks: it is read from the store while it is sent. */
  readonly duplex?: 'half';
}

/** Returns what `fetch` needs to send a text: whole if it is short, else in chunks, as `pieces` yields them. */
export async function callbackBody(pieces: AsyncGenerator<string>, wholeChars = WHOLE_CHARS): Promise<CallbackBody> {
  const first: string[] = [];
  let chars = 0;
  while (chars <= wholeChars) {
    const next = await pieces.next();
    if (next.done === true) return { body: new Blob(first) };
    first.push(next.value);
    chars += next.value.length;
  }
  const encoder = new TextEncoder();
  const bytes = async function* (): AsyncGenerator<Uint8Array> {
    for (const piece of first.splice(0)) yield encoder.encode(piece);
    for await (const piece of pieces) yield encoder.encode(piece);
  };
  return { body: ReadableStream.from(bytes()), duplex: 'half' };
}
