/** A value to look at, wherever it is taken apart: small ones here and at once, large ones in a worker. */
import { StudioError } from '../../src/common/errors.ts';
import type { Json } from '../../src/common/json.ts';
import type { BlobRef } from '../../src/trace/schema.ts';
import { isBlobRef } from '../../src/trace/values/keys.ts';
import type { Blobs } from '../data/blobs.ts';
import { type Shape, ValueDocument } from './valueDocument.ts';
import type { Answers, Question, WorkerReply, WorkerRequest } from './workerProtocol.ts';
import workerSource from 'worker:./worker.ts';

/** Blobs up to this size are taken apart on the page's own thread. */
const HERE_BYTES = 128 * 1024;

type Ask = <W extends Exclude<Question['what'], 'load'>>(
  question: Extract<Question, { what: W }>,
) => Promise<Answers[W]>;

export interface ValueSource {
  readonly shape: Shape;
  /** There when the value is small: it can be looked at without waiting. */
  readonly document?: ValueDocument;
  readonly ask: Ask;
}

/** An inline value, at once. */
function inlineSource(value: Json, against?: Json): ValueSource {
  const document = new ValueDocument(value, against);
  return {
    shape: document.shape(),
    document,
    // the answer is that of the question's kind
    ask: (question) => Promise.resolve(answerHere(document, question) as never),
  };
}

/** A value that is kept as a blob. */
async function blobSource(ref: BlobRef, blobs: Blobs): Promise<ValueSource> {
  if (ref.media.startsWith('image/')) {
    const bytes = await blobs.bytes(ref);
    return inlineSource(`data:${ref.media};base64,${base64(bytes)}`);
  }
  if (ref.bytes <= HERE_BYTES) {
    const bytes = await blobs.bytes(ref);
    const text = new TextDecoder().decode(bytes);
    return inlineSource(ref.media.includes('json') ? (JSON.parse(text) as Json) : text);
  }
  const worker = theWorker();
  const document = `${ref.$blob} ${ref.media}`;
  // It keeps the last few that were looked at.
  const load = async (): Promise<Shape> => (await worker.load(document, blobs.pieces(ref), ref.media)) as Shape;
  return {
    shape: ((await worker.ask(document, { what: 'shape' })) as Shape | undefined) ?? (await load()),
    ask: async (question) => {
      const answer = await worker.ask(document, question);
      if (answer !== undefined) return answer as never;
      await load();
      return (await worker.ask(document, question)) as never;
    },
  };
}

export function sourceOf(value: Json, blobs: Blobs, against?: Json): ValueSource | Promise<ValueSource> {
  return isBlobRef(value) ? blobSource(value, blobs) : inlineSource(value, against);
}

function answerHere(document: ValueDocument, question: Exclude<Question, { what: 'load' }>): Answers[keyof Answers] {
  switch (question.what) {
    case 'shape':
      return document.shape();
    case 'firstOpen':
      return document.firstOpen();
    case 'rows':
      return document.rows(new Set(question.open));
    case 'count':
      return document.count(question.form);
    case 'lines':
      return document.lines(question.form, question.from, question.to);
    case 'cells':
      return document.cells(question.from, question.to);
    case 'whole':
      return document.whole();
  }
}

function base64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

/** Bytes that are all of their buffer, so that it can be given away. */
function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength
    ? new Uint8Array(buffer)
    : bytes.slice();
}

class ValueWorker {
  readonly #worker: Worker;
  readonly #waiting = new Map<
    number,
    { resolve(answer: Answers[keyof Answers] | undefined): void; reject(error: Error): void }
  >();
  #last = 0;

  constructor() {
    const url = URL.createObjectURL(new Blob([workerSource], { type: 'text/javascript' }));
    this.#worker = new Worker(url);
    URL.revokeObjectURL(url);
    this.#worker.addEventListener('message', (event: MessageEvent<WorkerReply>) => {
      const waiting = this.#waiting.get(event.data.id);
      this.#waiting.delete(event.data.id);
      if ('error' in event.data) waiting?.reject(new StudioError('internal', event.data.error));
      else waiting?.resolve(event.data.answer);
    });
  }

  /** The bytes are the worker's from then on: a copy of them would take the page's time. */
  async load(
    document: string,
    given: AsyncIterable<Uint8Array>,
    media: string,
  ): Promise<Answers[keyof Answers] | undefined> {
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    for await (const bytes of given) pieces.push(ownBytes(bytes));
    return this.ask(
      document,
      { what: 'load', pieces, media },
      pieces.map(({ buffer }) => buffer),
    );
  }

  /** undefined: the worker does not hold the document any more. */
  ask(document: string, question: Question, moved: Transferable[] = []): Promise<Answers[keyof Answers] | undefined> {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      const asked: WorkerRequest = { id, document, question };
      this.#worker.postMessage(asked, moved);
    });
  }
}

let started: ValueWorker | undefined;

function theWorker(): ValueWorker {
  return (started ??= new ValueWorker());
}
