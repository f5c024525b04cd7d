/** Parsed submissions by hash. They are immutable blobs, so the latest ones are cached. */
import { StudioError } from '../../common/errors.ts';
import { type InstalledModels, withInstalled } from '../../config/submission/installed.ts';
import {
  factsOf,
  modulesOf,
  recordedWorldsOf,
  replaysOf,
  type Submission,
  scenariosOf,
  submission,
  submissionSha,
} from '../../config/submission.ts';
import type { BlobStore } from '../../store/store.ts';

const KEPT = 32;
/** A submission contains prompts and configuration, but no tasks and no code. */
const MAX_BYTES = 16 * 1024 * 1024;

export class Submissions {
  readonly #blobs: BlobStore;
  readonly #models: InstalledModels;
  readonly #cache = new Map<string, Promise<Submission>>();

  /** `models`: those that are installed next to the server. */
  constructor(blobs: BlobStore, models: InstalledModels = {}) {
    this.#blobs = blobs;
    this.#models = models;
  }

  /**
   * Returns a submission with the addresses of installed models. Throws `not_found` when the blob is missing, `usage`
   * when it is not a submission.
   */
  get(sha: string): Promise<Submission> {
    const cached = this.#cache.get(sha);
    if (cached !== undefined) return cached;
    const reading = this.#read(sha);
    this.#cache.set(sha, reading);
    if (this.#cache.size > KEPT) this.#cache.delete(this.#cache.keys().next().value ?? '');
    reading.catch(() => this.#cache.delete(sha));
    return reading;
  }

  async #read(sha: string): Promise<Submission> {
    const blob = await this.#blobs.get(sha);
    if (blob === undefined)
      throw new StudioError('not_found', `The submission ${sha} was not uploaded.`, {
        hint: 'Upload it as a blob first.',
      });
    if (blob.size > MAX_BYTES)
      throw new StudioError('too_large', `The submission is too large: ${blob.size} bytes (limit ${MAX_BYTES}).`);
    const chunks: Uint8Array[] = [];
    for await (const chunk of blob.bytes) chunks.push(chunk);
    let raw: unknown;
    try {
      raw = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    } catch (cause) {
      throw new StudioError('usage', `The blob ${sha} is not a submission: it is not JSON.`, { cause });
    }
    const parsed = submission.safeParse(raw);
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      throw new StudioError(
        'usage',
        `The blob ${sha} is not a submission of this version: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}.`,
        { hint: 'Use a client and a server of the same version.' },
      );
    }
    // Parsing drops fields that this version does not know, which changes the hash: a newer client sent them.
    if (submissionSha(parsed.data) !== sha)
      throw new StudioError('version', `The submission ${sha} has fields that this server does not know.`, {
        hint: 'Use a client and a server of the same version.',
      });
    return withInstalled(parsed.data, this.#models);
  }
}

/** Returns all blobs of a submission: itself, bundles, source maps, scenarios, recordings, and pages. */
export function blobsOf(sha: string, value: Submission): string[] {
  return [
    ...new Set([
      sha,
      ...modulesOf(value).flatMap((module) => [module.bundle, module.map]),
      ...recordedWorldsOf(value).flatMap(({ calls, blobs }) => [calls, ...blobs]),
      ...factsOf(value),
      ...Object.values(scenariosOf(value)).flatMap(({ code, template, verifiers }) => [code, template, verifiers]),
      ...Object.values(replaysOf(value)).map(({ recording }) => recording),
    ]),
  ];
}

/** Throws `conflict` with the blobs that were not uploaded before. */
export async function requireBlobs(
  usable: (shas: readonly string[]) => Promise<Set<string>>,
  shas: readonly string[],
  subject: string,
): Promise<void> {
  const present = await usable(shas);
  const missing = shas.filter((sha) => !present.has(sha));
  if (missing.length === 0) return;
  throw new StudioError(
    'conflict',
    `${subject} refers to ` +
      `${missing.length === 1 ? 'a blob that was' : `${missing.length} blobs that were`} not uploaded: ` +
      `${missing.slice(0, 3).join(', ')}${missing.length > 3 ? ' …' : ''}.`,
    {
      hint: 'Upload them first.',
      details: { missing: missing.slice(0, 100) },
    },
  );
}
