/**
 * Frames between a worker and the tool server: their length, their kind, and their content. Neither side trusts the
 * other, so that sizes are limited before anything is read.
 */
import type { Socket } from 'node:net';

export const KIND = {
  /** A request or an event as JSON. */
  control: 0,
  /** Bytes of a pipe: the number of the program, the number of the pipe, the bytes. No bytes: its end. */
  data: 1,
  /** A message of a program's channel: the number of the program, the message as V8 serializes it. */
  message: 2,
} as const;
type Kind = (typeof KIND)[keyof typeof KIND];

const MB = 1024 * 1024;
const LIMITS: Readonly<Record<Kind, number>> = { 0: 16 * MB, 1: 2 * MB, 2: 256 * MB };
/** Bytes of a pipe in a frame. */
export const CHUNK_BYTES = MB;
/** A peer that does not read so much does not work. */
const MAX_UNREAD = 512 * MB;
const LENGTH_BYTES = 4;

export interface Frame {
  readonly kind: Kind;
  readonly content: Buffer;
}

/** Splits a stream into frames. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #bytes = 0;

  /** Returns the frames that are complete. Throws Error if one is too large or of no kind. */
  push(chunk: Buffer): Frame[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    const frames: Frame[] = [];
    while (this.#bytes > LENGTH_BYTES) {
      const head = this.#peek(LENGTH_BYTES + 1);
      const length = head.readUInt32BE(0);
      const kind = kindOf(head[LENGTH_BYTES]);
      if (length < 1 || length > LIMITS[kind]) throw new Error(`A frame has ${length} bytes.`);
      if (this.#bytes < LENGTH_BYTES + length) break;
      const whole = this.#peek(LENGTH_BYTES + length);
      this.#take(LENGTH_BYTES + length);
      frames.push({ kind, content: whole.subarray(LENGTH_BYTES + 1, LENGTH_BYTES + length) });
    }
    return frames;
  }

  #peek(bytes: number): Buffer {
    const [first = Buffer.alloc(0)] = this.#chunks;
    if (first.length >= bytes) return first;
    const whole = Buffer.concat(this.#chunks);
    this.#chunks = [whole];
    return whole;
  }

  #take(bytes: number): void {
    const [first = Buffer.alloc(0), ...rest] = this.#chunks;
    this.#bytes -= bytes;
    this.#chunks = first.length === bytes ? rest : [first.subarray(bytes), ...rest];
  }
}

function kindOf(value: number | undefined): Kind {
  if (value === 0 || value === 1 || value === 2) return value;
  throw new Error(`A frame has the kind ${value}.`);
}

/** Writes a frame. Returns false if the peer is slower than its frames. */
export function writeFrame(socket: Socket, kind: Kind, ...parts: readonly Uint8Array[]): boolean {
  if (socket.destroyed || !socket.writable) return true;
  const length = parts.reduce((sum, part) => sum + part.length, 1);
  if (length > LIMITS[kind]) {
    socket.destroy(new Error(`A frame of ${length} bytes is too large.`));
    return true;
  }
  const head = Buffer.alloc(LENGTH_BYTES + 1);
  head.writeUInt32BE(length, 0);
  head[LENGTH_BYTES] = kind;
  const sent = socket.write(Buffer.concat([head, ...parts]));
  if (socket.writableLength > MAX_UNREAD) socket.destroy(new Error('It does not read what it is sent.'));
  return sent;
}

export function writeControl(socket: Socket, content: unknown): void {
  writeFrame(socket, KIND.control, Buffer.from(JSON.stringify(content)));
}

/** Writes bytes of a pipe in frames that are not too large. */
export function writeData(socket: Socket, id: number, pipe: number, bytes: Uint8Array): boolean {
  let ready = true;
  for (let from = 0; from < bytes.length; from += CHUNK_BYTES)
    ready = writeFrame(socket, KIND.data, pipeHead(id, pipe), bytes.subarray(from, from + CHUNK_BYTES));
  return ready;
}

/** Ends a pipe. */
export function writeEnd(socket: Socket, id: number, pipe: number): void {
  writeFrame(socket, KIND.data, pipeHead(id, pipe));
}

function pipeHead(id: number, pipe: number): Buffer {
  const head = Buffer.alloc(LENGTH_BYTES + 1);
  head.writeUInt32BE(id, 0);
  head[LENGTH_BYTES] = pipe;
  return head;
}

/** Reads the content of a `data` frame. */
export function readData(content: Buffer): { readonly id: number; readonly pipe: number; readonly bytes: Buffer } {
  if (content.length <= LENGTH_BYTES) throw new Error('A frame is too short.');
  return {
    id: content.readUInt32BE(0),
    pipe: content.readUInt8(LENGTH_BYTES),
    bytes: content.subarray(LENGTH_BYTES + 1),
  };
}

export function writeMessage(socket: Socket, id: number, message: Uint8Array): void {
  const head = Buffer.alloc(LENGTH_BYTES);
  head.writeUInt32BE(id, 0);
  writeFrame(socket, KIND.message, head, message);
}

/** Reads the content of a `message` frame. */
export function readMessage(content: Buffer): { readonly id: number; readonly message: Buffer } {
  if (content.length <= LENGTH_BYTES) throw new Error('A frame is too short.');
  return { id: content.readUInt32BE(0), message: content.subarray(LENGTH_BYTES) };
}
