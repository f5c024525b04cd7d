/**
 * Removes secrets from events and blobs. A blob that contained one gets another hash, so the references to it change,
 * too.
 */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { jsonOf } from '../../common/json.ts';
import type { Redactor } from '../../common/redaction/redactor.ts';
import type { PendingBlob } from '../../rollout/ports.ts';
import type { TraceEvent } from '../../trace/schema.ts';

interface CleanAppend {
  readonly events: readonly TraceEvent[];
  readonly blobs: readonly PendingBlob[];
}

interface ChangedBlob extends PendingBlob {
  /** Undefined if it is not text. */
  readonly text: string | undefined;
}

/** Returns the events of one append and their blobs without secrets. */
export function cleanAppend(
  redactor: Redactor,
  events: readonly TraceEvent[],
  blobs: readonly PendingBlob[],
): CleanAppend {
  if (redactor.empty) return { events, blobs };
  const changed = new Map<string, ChangedBlob>();
  const clean = blobs.map((blob) => {
    const cleaned = cleanBlob(blob, redactor);
    if (cleaned === undefined) return blob;
    changed.set(blob.sha, cleaned);
    const { sha, bytes, media } = cleaned;
    return { sha, bytes, media };
  });
  const moved = changed.size === 0 ? events : events.map((event) => pointTo(event, changed) as TraceEvent);
  return { events: moved.map((event) => redactor.json(event)), blobs: clean };
}

/** Returns undefined if it contains no secret. */
function cleanBlob(blob: PendingBlob, redactor: Redactor): ChangedBlob | undefined {
  const bytes = Buffer.from(blob.bytes.buffer, blob.bytes.byteOffset, blob.bytes.byteLength);
  if (!isUtf8(bytes)) {
    const binary = bytes.toString('latin1');
    // Programs read it by position, so its length must not change.
    const masked = redactor.masked(binary);
    return masked === binary ? undefined : changedBlob(blob, Buffer.from(masked, 'latin1'), undefined);
  }
  const text = bytes.toString('utf8');
  const cleaned = redactor.text(text);
  if (cleaned === text) return undefined;
  const json = blob.media === 'application/json' ? jsonOf(text) : undefined;
  if (json === undefined) return changedBlob(blob, Buffer.from(cleaned, 'utf8'), cleaned);
  const clean = redactor.json(json);
  if (clean === json) return undefined;
  const written = JSON.stringify(clean);
  return changedBlob(blob, Buffer.from(written, 'utf8'), written);
}

function changedBlob({ media }: PendingBlob, bytes: Uint8Array, text: string | undefined): ChangedBlob {
  return { sha: createHash('sha256').update(bytes).digest('hex'), bytes, media, text };
}

/** Returns a copy of a value in which references and plain hashes of changed blobs are updated. */
function pointTo(value: unknown, changed: ReadonlyMap<string, ChangedBlob>): unknown {
  if (typeof value === 'string') return changed.get(value)?.sha ?? value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => pointTo(item, changed));
  const copy = Object.fromEntries(
    Object.entries(value).map(([key, member]: [string, unknown]) => [key, pointTo(member, changed)]),
  );
  const sha = '$blob' in value ? value.$blob : undefined;
  const blob = typeof sha === 'string' ? changed.get(sha) : undefined;
  if (blob === undefined) return copy;
  // The old head may end within a secret.
  const head = typeof copy['head'] === 'string' ? (blob.text ?? copy['head']).slice(0, copy['head'].length) : undefined;
  return { ...copy, $blob: blob.sha, bytes: blob.bytes.length, ...(head === undefined ? {} : { head }) };
}
