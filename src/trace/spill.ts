/**
 * Moves values over 64 KiB out of events into blobs, and back. Small events, which nearly all are, are returned
 * unchanged.
 */
import { utf8ToBytes } from '@noble/hashes/utils.js';
import { sha256Hex } from '../common/hash.ts';
import { isJsonObject, type Json, type JsonObject } from '../common/json.ts';
import { type BlobRef, INLINE_LIMIT, type TraceEvent, type UnknownEvent } from './schema.ts';
import { escapeKeys, isBlobRef, unescapeKeys } from './values/keys.ts';
import { changeValues, type ValueChange } from './values/slots.ts';

/** Characters in the `head` of a reference. */
const HEAD_LENGTH = 1024;
/** Maximum bytes of JSON for one UTF-16 unit: a control character becomes `\u0000`. */
const BYTES_PER_UNIT = 6;
const TEXT = 'text/plain';
const JSON_TEXT = 'application/json';

export interface SpilledBlob {
  readonly sha: string;
  readonly bytes: Uint8Array;
  readonly media: string;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * Returns the event to store, and the blobs to store before it. A value with more than `INLINE_LIMIT` bytes of JSON
 * becomes a reference to a blob: text as `text/plain`, the base64 of a blob part as bytes with its media type, anything
 * else as `application/json` with the user's own keys. Keys of users that start with `$` become `$$…`.
 *
 * `own`: shas of blobs to which values already refer, such as the whole output of a tool whose result is truncated. Any
 * other `$blob` in a value is a user's key.
 *
 * Only values of users, tools, and models are moved (see values/slots.ts); the writers of other texts, such as error
 * messages, must keep them short. Does not modify the event, and returns it itself if nothing changes.
 */
export function spill<E extends TraceEvent | UnknownEvent>(
  event: E,
  own: ReadonlySet<string> = NONE,
): { event: E; blobs: SpilledBlob[] } {
  const blobs: SpilledBlob[] = [];
  const keep = (bytes: Uint8Array, media: string, text: string): BlobRef => {
    const sha = sha256Hex(bytes);
    blobs.push({ sha, bytes, media });
    return { $blob: sha, bytes: bytes.length, media, head: headOf(text) };
  };
  const isOwn = (ref: BlobRef): boolean => own.has(ref.$blob);
  const json = (value: Json): Json => {
    if (isBlobRef(value) && isOwn(value)) return value;
    if (sizeBound(value) > INLINE_LIMIT) {
      // `blobsOf` would not find a reference inside a blob, so the members of such a value are moved one by one.
      if (own.size > 0 && hasOwnRef(value, isOwn)) return changeMembers(value, json, escapeKey);
      const text = JSON.stringify(value);
      const bytes = utf8ToBytes(text);
      if (bytes.length > INLINE_LIMIT) {
        return typeof value === 'string' ? spillText(value, keep) : keep(bytes, JSON_TEXT, text);
      }
    }
    return escapeKeys(value, isOwn);
  };
  const change: ValueChange = {
    json,
    text: (value) => (typeof value === 'string' && tooLong(value) ? spillText(value, keep) : value),
    media: (value, mimeType) =>
      typeof value === 'string' && value.length > INLINE_LIMIT ? spillMedia(value, mimeType, keep) : value,
    record: (value) => changeRecord(value, json, escapeKey),
  };
  return { event: changeValues(event, change), blobs };
}

function escapeKey(key: string): string {
  return key.startsWith('$') ? `$${key}` : key;
}

function hasOwnRef(value: Json, isOwn: (ref: BlobRef) => boolean): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return (isBlobRef(value) && isOwn(value)) || Object.values(value).some((member) => hasOwnRef(member, isOwn));
}

function changeMembers(value: Json, json: (value: Json) => Json, rename: (key: string) => string): Json {
  if (Array.isArray(value)) return value.map(json);
  return isJsonObject(value) ? changeRecord(value, json, rename) : value;
}

type Keep = (bytes: Uint8Array, media: string, text: string) => BlobRef;

function spillText(text: string, keep: Keep): BlobRef {
  // UTF-8 cannot represent a lone surrogate; JSON can.
  if (/\p{Surrogate}/u.test(text)) return keep(utf8ToBytes(JSON.stringify(text)), JSON_TEXT, text);
  return keep(utf8ToBytes(text), TEXT, text);
}

function spillMedia(base64: string, mimeType: string, keep: Keep): BlobRef {
  const bytes = bytesOfBase64(base64);
  if (bytes !== undefined) return keep(bytes, mimeType, base64);
  return keep(utf8ToBytes(JSON.stringify(base64)), nonCanonicalBase64Media(mimeType), base64);
}

/** Media type for base64 that decoding and encoding would change: it is stored as the JSON of its text. */
function nonCanonicalBase64Media(mimeType: string): string {
  return mimeType === JSON_TEXT ? TEXT : JSON_TEXT;
}

/** Reads a whole blob. */
export type ReadBlob = (ref: BlobRef) => Promise<Uint8Array>;

/**
 * Returns the event with complete values and the users' original keys: the inverse of `spill`. References inside a
 * value, such as to the whole output of a tool, stay references. Rejects if `read` does.
 */
export async function unspill<E extends TraceEvent | UnknownEvent>(event: E, read: ReadBlob): Promise<E> {
  const refs = new Map<string, BlobRef>();
  const note = <T>(value: T): T => {
    if (isBlobRef(value)) refs.set(value.$blob, value);
    return value;
  };
  changeValues(event, {
    json: note,
    text: note,
    media: note,
    record: (record) => changeRecord(record, note, (key) => key),
  });
  const blobs = new Map<string, Uint8Array>();
  await Promise.all([...refs.values()].map(async (ref) => blobs.set(ref.$blob, await read(ref))));

  const bytesOf = (ref: BlobRef): Uint8Array => blobs.get(ref.$blob) ?? new Uint8Array();
  const json = (value: Json): Json => (isBlobRef(value) ? wholeValue(value, bytesOf(value)) : unescapeKeys(value));
  return changeValues(event, {
    json,
    text: (value) => (isBlobRef(value) ? wholeText(value, bytesOf(value)) : value),
    media: (value, mimeType) => (isBlobRef(value) ? wholeMedia(value, mimeType, bytesOf(value)) : value),
    record: (record) => changeRecord(record, json, (key) => (key.startsWith('$$') ? key.slice(1) : key)),
  });
}

/** Returns the value of a reference; the reference itself if the blob is neither text nor JSON. */
export function wholeValue(ref: BlobRef, bytes: Uint8Array): Json {
  if (ref.media === TEXT) return textOfBytes(bytes);
  return ref.media === JSON_TEXT ? (JSON.parse(textOfBytes(bytes)) as Json) : ref;
}

function wholeText(ref: BlobRef, bytes: Uint8Array): string {
  const text = textOfBytes(bytes);
  return ref.media === JSON_TEXT ? String(JSON.parse(text)) : text;
}

function wholeMedia(ref: BlobRef, mimeType: string, bytes: Uint8Array): string {
  return ref.media === nonCanonicalBase64Media(mimeType)
    ? String(JSON.parse(textOfBytes(bytes)))
    : base64OfBytes(bytes);
}

/** Returns the shas of all blobs that an event uses: values, token records, snapshots, tool lists, configurations. */
export function blobsOf(event: TraceEvent | UnknownEvent): string[] {
  const shas = new Set<string>();
  findRefs(event.data, shas);
  if (!('unknown' in event)) for (const sha of shaFields(event)) if (sha !== undefined) shas.add(sha);
  return [...shas];
}

function shaFields(event: TraceEvent): (string | undefined)[] {
  switch (event.kind) {
    case 'rollout.start':
      return [event.data.config, event.data.code];
    case 'rollout.lease':
      return [event.data.snapshot];
    case 'model.start':
      return [event.data.tools];
    case 'world.open':
      return [event.data.from, event.data.template];
    case 'world.snapshot':
      return [event.data.snapshot];
    case 'batch.start':
      return [event.data.submission];
    default:
      return [];
  }
}

function findRefs(value: unknown, shas: Set<string>): void {
  if (typeof value !== 'object' || value === null) return;
  if (isBlobRef(value)) shas.add(value.$blob);
  else for (const member of Object.values(value)) findRefs(member, shas);
}

function changeRecord(record: JsonObject, json: (value: Json) => Json, rename: (key: string) => string): JsonObject {
  const entries: [string, Json][] = [];
  let same = true;
  for (const [key, value] of Object.entries(record)) {
    const name = rename(key);
    const next = json(value);
    if (name !== key || next !== value) same = false;
    entries.push([name, next]);
  }
  return same ? record : Object.fromEntries(entries);
}

/** Returns an upper bound of the bytes of the value's JSON. Stops counting above the limit, and allocates nothing. */
function sizeBound(value: Json): number {
  if (typeof value === 'string') return value.length * BYTES_PER_UNIT + 2;
  if (typeof value !== 'object' || value === null) return 25; // the longest number
  let size = 2;
  if (Array.isArray(value)) {
    for (const item of value) {
      size += sizeBound(item) + 1;
      if (size > INLINE_LIMIT) return size;
    }
    return size;
  }
  for (const key in value) {
    const member = value[key];
    size += key.length * BYTES_PER_UNIT + 4 + (member === undefined ? 0 : sizeBound(member));
    if (size > INLINE_LIMIT) return size;
  }
  return size;
}

function tooLong(text: string): boolean {
  if (text.length * BYTES_PER_UNIT + 2 <= INLINE_LIMIT) return false;
  return text.length > INLINE_LIMIT || utf8ToBytes(JSON.stringify(text)).length > INLINE_LIMIT;
}

function headOf(text: string): string {
  const head = text.slice(0, HEAD_LENGTH);
  const last = head.charCodeAt(head.length - 1);
  // Keeps surrogate pairs whole.
  return last >= 0xd800 && last <= 0xdbff && head.length < text.length ? head.slice(0, -1) : head;
}

function textOfBytes(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

/** Returns undefined if the text is not canonical base64. */
function bytesOfBase64(base64: string): Uint8Array | undefined {
  let binary: string;
  try {
    binary = atob(base64);
  } catch {
    return undefined;
  }
  if (btoa(binary) !== base64) return undefined;
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

function base64OfBytes(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(binary);
}
