/**
 * Keeps secrets in the worker: their values are removed from every event and blob. A blob that contained one gets
 * another hash, so the references to it change, too.
 */
import { createHash } from 'node:crypto';
import type { Json } from '../../common/json.ts';
import { redactor } from '../../common/redact.ts';
import type { PendingBlob } from '../../rollout/ports.ts';
import type { TraceEvent } from '../../trace/schema.ts';

export interface Redaction {
  /** Number of characters of the longest secret; 0 if there is none. */
  readonly longest: number;
  /** Redacts text, e.g. an event's JSON. */
  text(text: string): string;
  /** Returns the events' JSON texts and their blobs, without secrets. */
  append(
    events: readonly TraceEvent[],
    blobs: readonly PendingBlob[],
  ): { texts: string[]; blobs: readonly PendingBlob[] };
}

/** `secrets`: the values. Without any, it only serializes JSON. */
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
    // Twice, because JSON may escape a character.
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

/** Blobs are redacted as text; one that is not text cannot contain a readable secret and stays unchanged. */
function cleanBlob(blob: PendingBlob, redact: (text: string) => string): PendingBlob {
  const text = Buffer.from(blob.bytes.buffer, blob.bytes.byteOffset, blob.bytes.byteLength).toString('utf8');
  const cleaned = redact(text);
  if (cleaned === text) return blob;
  const bytes = Buffer.from(cleaned, 'utf8');
  return { sha: createHash('sha256').update(bytes).digest('hex'), bytes, media: blob.media };
}

/** Returns a replacer for JSON.stringify that updates references and plain hashes of changed blobs. */
function pointTo(changed: ReadonlyMap<string, PendingBlob>): (key: string, value: Json) => Json {
  return (_, value) => {
    if (typeof value === 'string') return changed.get(value)?.sha ?? value;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const sha = value['$blob'];
    const blob = typeof sha === 'string' ? changed.get(sha) : undefined;
    return blob === undefined ? value : { ...value, $blob: blob.sha, bytes: blob.bytes.length };
  };
}
