import { BLOB_REF } from '../sql/schema.ts';
import type { Transaction } from '../sql/sql.ts';

/**
 * A reference as `JSON.stringify` writes it. Inside of a string its quotes would be escaped, and a user's own key
 * `$blob` is written `$$blob`, so nothing else matches.
 */
const REFERENCE = /"\$blob":"([0-9a-f]{64})"/g;
/** The reference of a model call to its token record. */
const TOKENS = /"tokens":\{"\$blob":"([0-9a-f]{64})"/g;
const SHA = '[0-9a-f]{64}';
/** Event kinds with plain blob hashes, and their fields. */
const FIELDS: Readonly<Partial<Record<string, RegExp>>> = {
  'rollout.lease': new RegExp(`"snapshot":"(${SHA})"`, 'g'),
  'world.snapshot': new RegExp(`"snapshot":"(${SHA})"`, 'g'),
  'world.open': new RegExp(`"(?:from|template)":"(${SHA})"`, 'g'),
  'model.start': new RegExp(`"tools":"(${SHA})"`, 'g'),
};

/** Returns the blobs that an event references, from its JSON text. */
export function blobRefsOf(kind: string, body: string): string[] {
  const found = body.includes('"$blob":"') ? matches(REFERENCE, body) : [];
  const field = FIELDS[kind];
  if (field !== undefined) found.push(...matches(field, body));
  return found;
}

/** Returns the token records that an event references, from its JSON text. */
export function tokenRefsOf(body: string): string[] {
  return body.includes('"tokens":{"$blob"') ? matches(TOKENS, body) : [];
}

function matches(pattern: RegExp, body: string): string[] {
  return Array.from(body.matchAll(pattern), (match) => match[1] ?? '');
}

/** Records that a batch references these blobs. */
export async function addBlobRefs(tx: Transaction, batch: number, shas: readonly string[]): Promise<void> {
  if (shas.length > 0)
    await tx.insert(
      BLOB_REF,
      ['sha', 'batch'],
      shas.map((sha) => [sha, batch]),
      'ignore',
    );
}
