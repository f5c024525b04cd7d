/** The submissions of a worker's rollouts: each is fetched once, and the values of `${env:…}` are filled in. */
import { StudioError } from '../../common/errors.ts';
import { resolveSubmission } from '../../config/env.ts';
import { type InstalledModels, installedNames, withInstalled } from '../../config/submission/installed.ts';
import type { Submission } from '../../config/submission.ts';
import { codeSha, configSha, scorerVersion, submission as submissionSchema } from '../../config/submission.ts';
import type { Outlet } from '../outlet.ts';

export interface LoadedSubmission {
  /** With secrets resolved. */
  readonly submission: Submission;
  /** Of the submission as it was sent. */
  readonly shas: { readonly config: string; readonly code: string };
  /** Of its scorer, likewise. */
  readonly scorerVersion: string;
}

/** `installs`: whether models of it are at `target:`. */
type CachedSubmission = LoadedSubmission & { readonly installs: boolean };

interface SubmissionSources {
  readonly readBlob: (sha: string) => Promise<Uint8Array>;
  readonly secrets: Readonly<Record<string, string>>;
  readonly outlet: Outlet;
  /** Returns the models that are installed on the target, as the server last said. */
  readonly models: () => InstalledModels;
}

export class Submissions {
  readonly #sources: SubmissionSources;
  readonly #loaded = new Map<string, Promise<CachedSubmission>>();

  constructor(sources: SubmissionSources) {
    this.#sources = sources;
  }

  /** Throws StudioError `config` if a value is missing, `not_found` if the server has no such submission. */
  async load(sha: string): Promise<LoadedSubmission> {
    const loaded = await this.#cached(sha);
    if (!loaded.installs) return loaded;
    return { ...loaded, submission: withInstalled(loaded.submission, this.#sources.models()) };
  }

  #cached(sha: string): Promise<CachedSubmission> {
    let loaded = this.#loaded.get(sha);
    if (loaded === undefined) {
      loaded = this.#load(sha);
      this.#loaded.set(sha, loaded);
      // The next rollout may succeed.
      loaded.catch(() => this.#loaded.delete(sha));
    }
    return loaded;
  }

  async #load(sha: string): Promise<CachedSubmission> {
    const { readBlob, secrets, outlet } = this.#sources;
    const parsed = submissionSchema.safeParse(JSON.parse(Buffer.from(await readBlob(sha)).toString('utf8')));
    if (!parsed.success)
      throw new StudioError(
        'version',
        `This worker does not support the submission ${sha}: ${parsed.error.issues[0]?.message ?? ''}`,
      );
    const raw = parsed.data;
    outlet.learn(raw.env);
    const submission = resolveSubmission(raw, secrets);
    return {
      submission,
      installs: installedNames(submission).length > 0,
      shas: { config: configSha(raw), code: codeSha(raw) },
      scorerVersion: scorerVersion(raw),
    };
  }
}
