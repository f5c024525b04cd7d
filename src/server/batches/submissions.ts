/** Submissions by sha, parsed. They are blobs and never change, so a few are kept. */
import { StudioError } from '../../common/errors.ts';
import { modulesOf, type Submission, submission, submissionSha } from '../../config/submission.ts';
import type { BlobStore } from '../../store/store.ts';

const KEPT = 32;
/** A submission holds prompts and configuration, no tasks and no code. */
const MAX_BYTES = 16 * 1024 * 1024;

export class Submissions {
  readonly #blobs: BlobStore;
  readonly #kept = new Map<string, Promise<Submission>>();

  constructor(blobs: BlobStore) {
    this.#blobs = blobs;
  }

  /** Throws `not_found` when the blob is absent, `usage` when it is no submission. */
  get(sha: string): Promise<Submission> {
    const known = this.#kept.get(sha);
    if (known !== undefined) return known;
    const reading = this.#read(sha);
    this.#kept.set(sha, reading);
    if (this.#kept.size > KEPT) this.#kept.delete(this.#kept.keys().next().value ?? '');
    reading.catch(() => this.#kept.delete(sha));
    return reading;
  }

  async #read(sha: string): Promise<Submission> {
    const blob = await this.#blobs.get(sha);
    if (blob === undefined)
      throw new StudioError('not_found', `The submission ${sha} is not here.`, { hint: 'PUT it as a blob first.' });
    if (blob.size > MAX_BYTES)
      throw new StudioError('too_large', `A submission has at most ${MAX_BYTES} bytes; this one has ${blob.size}.`);
    const chunks: Uint8Array[] = [];
    for await (const chunk of blob.bytes) chunks.push(chunk);
    let raw: unknown;
    try {
      raw = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    } catch (cause) {
      throw new StudioError('usage', `The blob ${sha} is no submission: it is no JSON.`, { cause });
    }
    const parsed = submission.safeParse(raw);
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      throw new StudioError(
        'usage',
        `The blob ${sha} is no submission of this version: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}.`,
        { hint: 'Use a client and a server of the same version.' },
      );
    }
    // Fields this version does not know are dropped by parsing, and with them the right hash: those are a newer
    // client's.
    if (submissionSha(parsed.data) !== sha)
      throw new StudioError('version', `The submission ${sha} holds what this server does not know.`, {
        hint: 'Use a client and a server of the same version.',
      });
    return parsed.data;
  }
}

/** Everything a submission names: itself, bundles and source maps. */
export function blobsOf(sha: string, value: Submission): string[] {
  return [...new Set([sha, ...modulesOf(value).flatMap((module) => [module.bundle, module.map])])];
}

/** Throws `conflict` naming blobs that were not PUT before. */
export async function requireBlobs(blobs: BlobStore, shas: readonly string[], whose: string): Promise<void> {
  const there = await blobs.has(shas);
  const missing = shas.filter((sha) => !there.has(sha));
  if (missing.length === 0) return;
  throw new StudioError(
    'conflict',
    `${whose} names ${missing.length === 1 ? 'a blob that is' : `${missing.length} blobs that are`} not here: ` +
      `${missing.slice(0, 3).join(', ')}${missing.length > 3 ? ' …' : ''}.`,
    {
      hint: 'PUT them first.',
      details: { missing: missing.slice(0, 100) },
    },
  );
}
