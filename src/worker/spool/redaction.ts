/**
 * Secrets never leave the worker: their values are taken out of every event and blob. A blob whose text held one has
 * another hash then, so the references to it are changed with it.
 */
import { createHash } from 'node:crypto';
import type { Json } from '../../common/json.ts';
import { redactor } from '../../common/redact.ts';
import type { PendingBlob } from '../../rollout/ports.ts';
import type { TraceEvent } from '../../trace/schema.ts';

export interface Redaction {
  /** Characters of the longest secret; 0 = there is none. */
  readonly longest: number;
  /** Of text, e.g. an event's JSON. */
  text(text: string): string;
  /** The events' JSON texts and their blobs, without any secret. */
  append(
    events: readonly TraceEvent[],
    blobs: readonly PendingBlob[],
  ): { texts: string[]; blobs: readonly PendingBlob[] };
}

/** `secrets`: the values. With none it does nothing but JSON. */
export function redaction(secrets: readonly string[]): Redaction {
  const hidden = secrets.filter((value) => value.length >= 4);
  if (hidden.length === 0)
    return {
      longest: 0,
      text: (text) => text,
      append: (events, blobs) => ({ texts: events.map((event) => JSON.stringify(event)), blobs }),
    };
  const redact = redactor(hidden);
  return {
    // Twice, for JSON may write a character as two.
    longest: 2 * Math.max(...hidden.map((value) => value.length)),
    text: redact,
    append(events, blobs) {
      const changed = new Map<string, PendingBlob>();
      const clean = blobs.map((blob) => {
        const cleaned = cleanBlob(blob, redact);
        if (cleaned !== blob) changed.set(blob.sha, cleaned);
        return cleaned;
      });
      return {
        texts: events.map((event) =>
          redact(changed.size === 0 ? JSON.stringify(event) : JSON.stringify(event, pointTo(changed))),
        ),
        blobs: clean,
      };
    },
  };
}

/** Blobs are looked at as text; one that is none cannot hold a secret in a readable form and stays as it is. */
function cleanBlob(blob: PendingBlob, redact: (text: string) => string): PendingBlob {
  const text = Buffer.from(blob.bytes.buffer, blob.bytes.byteOffset, blob.bytes.byteLength).toString('utf8');
  const cleaned = redact(text);
  if (cleaned === text) return blob;
  const bytes = Buffer.from(cleaned, 'utf8');
  return { sha: createHash('sha256').update(bytes).digest('hex'), bytes, media: blob.media };
}

/** A replacer for JSON.stringify: references and plain shas of changed blobs. */
function pointTo(changed: ReadonlyMap<string, PendingBlob>): (key: string, value: Json) => Json {
  return (_, value) => {
    if (typeof value === 'string') return changed.get(value)?.sha ?? value;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const sha = value['$blob'];
    const blob = typeof sha === 'string' ? changed.get(sha) : undefined;
    return blob === undefined ? value : { ...value, $blob: blob.sha, bytes: blob.bytes.length };
  };
}
