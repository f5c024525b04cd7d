/** Access to the document of a value: in the page for small values, in a worker for large ones. */
import { StudioError } from '../../src/common/errors.ts';
import type { Json } from '../../src/common/json.ts';
import type { BlobRef } from '../../src/trace/schema.ts';
import { isBlobRef } from '../../src/trace/values/keys.ts';
import type { Blobs } from '../data/blobs.ts';
import { type Shape, ValueDocument } from './valueDocument.ts';
import type { Answers, Question, WorkerReply, WorkerRequest } from './workerProtocol.ts';
import workerSource from 'worker:./worker.ts';

/** Larger blobs are processed in the worker. */
const MAX_INLINE_BYTES = 128 * 1024;

type Ask = <W extends Exclude<Question['what'], 'load'>>(
  question: Extract<Question, { what: W }>,
) => Promise<Answers[W]>;

export interface ValueSource {
  readonly shape: Shape;
  /** Available immediately for small values. */
  readonly document?: ValueDocument;
  readonly ask: Ask;
}

function inlineSource(value: Json, baseline?: Json): ValueSource {
  const document = new ValueDocument(value, baseline);
  return {
    shape: document.shape(),
    document,
    // the type of the answer depends on the question
    ask: (question) => Promise.resolve(answerInline(document, question) as never),
  };
}

async function blobSource(ref: BlobRef, blobs: Blobs): Promise<ValueSource> {
  if (ref.media.startsWith('image/')) {
    const bytes = await blobs.bytes(ref);
    return inlineSource(`data:${ref.media};base64,${base64(bytes)}`);
  }
  if (ref.bytes <= MAX_INLINE_BYTES) {
    const bytes = await blobs.bytes(ref);
    const text = new TextDecoder().decode(bytes);
    return inlineSource(ref.media.includes('json') ? (JSON.parse(text) as Json) : text);
  }
  const worker = sharedWorker();
  const document = `${ref.$blob} ${ref.media}`;
  // The worker caches the most recently used documents.
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

export function sourceOf(value: Json, blobs: Blobs, baseline?: Json): ValueSource | Promise<ValueSource> {
  return isBlobRef(value) ? blobSource(value, blobs) : inlineSource(value, baseline);
}

function answerInline(document: ValueDocument, question: Exclude<Question, { what: 'load' }>): Answers[keyof Answers] {
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

/** Returns bytes that own their whole buffer, so that it can be transferred. */
function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength
    ? new Uint8Array(buffer)
    : bytes.slice();
}

class ValueWorker {
  readonly #worker: Worker;
  readonly #pending = new Map<
    number,
    { resolve(answer: Answers[keyof Answers] | undefined): void; reject(error: Error): void }
  >();
  #last = 0;

  constructor() {
    const url = URL.createObjectURL(new Blob([workerSource], { type: 'text/javascript' }));
    this.#worker = new Worker(url);
    URL.revokeObjectURL(url);
    this.#worker.addEventListener('message', (event: MessageEvent<WorkerReply>) => {
      const pending = this.#pending.get(event.data.id);
      this.#pending.delete(event.data.id);
      if ('error' in event.data) pending?.reject(new StudioError('internal', event.data.error));
      else pending?.resolve(event.data.answer);
    });
  }

  /** Loads a document. Transfers the bytes, because copying them would block the page. */
  async load(
    document: string,
    chunks: AsyncIterable<Uint8Array>,
    media: string,
  ): Promise<Answers[keyof Answers] | undefined> {
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    for await (const bytes of chunks) pieces.push(ownBytes(bytes));
    return this.ask(
      document,
      { what: 'load', pieces, media },
      pieces.map(({ buffer }) => buffer),
    );
  }

  /** Returns undefined if the worker no longer has the document. */
  ask(
    document: string,
    question: Question,
    transfer: Transferable[] = [],
  ): Promise<Answers[keyof Answers] | undefined> {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      const request: WorkerRequest = { id, document, question };
      this.#worker.postMessage(request, transfer);
    });
  }
}

let shared: ValueWorker | undefined;

function sharedWorker(): ValueWorker {
  return (shared ??= new ValueWorker());
}
