/** What was launched how: the last answers of each file, and the file and answers of each batch. */
import { z } from 'zod';
import { type LaunchAnswers, launchAnswers } from './plan.ts';

/** The part of `vscode.Memento` that is needed. */
export interface Memory {
  get(key: string): unknown;
  update(key: string, value: unknown): Thenable<void>;
}

const launched = z.object({ batch: z.string(), file: z.string(), answers: launchAnswers });
/** A launch as it is remembered, with the absolute path of its batch file. */
export type LaunchedBatch = z.infer<typeof launched>;

const remembered = z.object({
  file: z.string(),
  answers: launchAnswers,
  /** Names of values the user was asked for. */ values: z.array(z.string()).default([]),
});
export type RememberedFile = z.infer<typeof remembered>;

const FILES = 'launch.files';
const BATCHES = 'launch.batches';
const FILES_KEPT = 100;
const BATCHES_KEPT = 500;

export class LaunchMemory {
  readonly #memory: Memory;

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /** Most recent first. */
  get files(): readonly RememberedFile[] {
    return listOf(remembered, this.#memory.get(FILES));
  }

  file(file: string): RememberedFile | undefined {
    return this.files.find((known) => known.file === file);
  }

  batch(batch: string): LaunchedBatch | undefined {
    return listOf(launched, this.#memory.get(BATCHES)).find((known) => known.batch === batch);
  }

  async keepFile(entry: RememberedFile): Promise<void> {
    await this.#memory.update(
      FILES,
      [entry, ...this.files.filter(({ file }) => file !== entry.file)].slice(0, FILES_KEPT),
    );
  }

  async keepBatch(entry: LaunchedBatch): Promise<void> {
    await this.#memory.update(BATCHES, [entry, ...listOf(launched, this.#memory.get(BATCHES))].slice(0, BATCHES_KEPT));
  }
}

/** What an older version wrote otherwise is forgotten. */
function listOf<T>(schema: z.ZodType<T>, value: unknown): readonly T[] {
  return Array.isArray(value) ? value.flatMap((item) => schema.safeParse(item).data ?? []) : [];
}

export type { LaunchAnswers };
