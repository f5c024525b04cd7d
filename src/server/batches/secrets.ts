/** Values of `${env:…}`: one file with mode 0600 per batch, from its submission until its end. Never in the store. */
import { mkdirSync } from 'node:fs';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { NO_SECRETS, type Redactor, redactor } from '../../common/redaction/redactor.ts';
import { Serial } from '../../common/serial.ts';
import { hiddenValues } from '../../config/env.ts';
import type { Submission } from '../../config/submission.ts';

const values = z.record(z.string(), z.string());

export class Secrets {
  readonly #folder: string;
  /** What hides the values of a batch, as long as this server may still write about it. */
  readonly #redactors = new Map<string, Redactor>();
  readonly #turns = new Serial();

  /** Creates `folder`, readable by its owner only. */
  constructor(folder: string) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#folder = folder;
  }

  path(batch: string): string {
    return path.join(this.#folder, `${batch}.json`);
  }

  /** Keeps the values of a batch, and hides them from now on. */
  async put(batch: string, env: Submission['env'], secrets: Readonly<Record<string, string>>): Promise<void> {
    this.hide(batch, env, secrets);
    const draft = `${this.path(batch)}.${process.pid}`;
    await writeFile(draft, JSON.stringify(secrets), { mode: 0o600 });
    await rename(draft, this.path(batch));
  }

  /** Returns undefined when the batch has no secrets, or has ended. */
  async get(batch: string): Promise<Record<string, string> | undefined> {
    let text: string;
    try {
      text = await readFile(this.path(batch), 'utf8');
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw new StudioError('storage', `Cannot read the secrets of batch ${batch}.`, { cause: error });
    }
    return values.parse(JSON.parse(text));
  }

  /** Hides these values of a batch from now on. */
  hide(batch: string, { shown }: Submission['env'], secrets: Readonly<Record<string, string>>): void {
    this.#redactors.set(batch, redactor(hiddenValues(shown, secrets)));
  }

  /** Returns a value that is about to be recorded or shown without the batch's secrets. */
  clean<T>(batch: string, value: T): T {
    return (this.#redactors.get(batch) ?? NO_SECRETS).json(value);
  }

  /** Returns what hides the values of a batch; undefined if this server does not know them. */
  redactor(batch: string): Redactor | undefined {
    return this.#redactors.get(batch);
  }

  /** Returns a line of the log without the secrets of any batch. */
  line(text: string): string {
    let clean = text;
    for (const one of this.#redactors.values()) clean = one.text(clean);
    return clean;
  }

  async remove(batch: string): Promise<void> {
    await rm(this.path(batch), { force: true });
    this.#redactors.delete(batch);
  }

  /**
   * Runs tasks one after another: a batch is reopened with values, or values are removed because their batch has ended.
   * Otherwise, an end that was read before a retry could remove the values of the retry.
   */
  inTurn<T>(task: () => Promise<T>): Promise<T> {
    return this.#turns.run(task);
  }

  /** Returns the IDs of the batches that have secrets. */
  async batches(): Promise<string[]> {
    return (await readdir(this.#folder)).flatMap((name) =>
      name.endsWith('.json') ? [name.slice(0, -'.json'.length)] : [],
    );
  }
}

/** Throws `config` with the variables of a submission that have no value. */
export function requireSecrets(
  submission: Submission,
  secrets: Readonly<Record<string, string>> | undefined,
  hint: string,
): void {
  const missing = submission.env.names.filter((name) => secrets === undefined || !Object.hasOwn(secrets, name));
  if (missing.length === 0) return;
  throw new StudioError(
    'config',
    `The batch uses ${missing.map((name) => `\${env:${name}}`).join(', ')}, but no value was sent.`,
    { hint, details: { missing } },
  );
}
