/** Remembers launches: the last answers per file, and the file and answers of each batch. */
import { z } from 'zod';
import { type LaunchAnswers, launchAnswers } from './plan.ts';

/** The required part of `vscode.Memento`. */
export interface Memory {
  get(key: string): unknown;
  update(key: string, value: unknown): Thenable<void>;
}

const launchedBatch = z.object({ batch: z.string(), file: z.string(), answers: launchAnswers });
/** A remembered launch with the absolute path of its batch file. */
export type LaunchedBatch = z.infer<typeof launchedBatch>;

const launchedFile = z.object({
  file: z.string(),
  answers: launchAnswers,
  /** Names of the values that the user entered. */ values: z.array(z.string()).default([]),
});
type LaunchedFile = z.infer<typeof launchedFile>;

const FILES = 'launch.files';
const BATCHES = 'launch.batches';
const MAX_FILES = 100;
const MAX_BATCHES = 500;

export class LaunchMemory {
  readonly #memory: Memory;

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /** Most recent first. */
  get files(): readonly LaunchedFile[] {
    return listOf(launchedFile, this.#memory.get(FILES));
  }

  file(file: string): LaunchedFile | undefined {
    return this.files.find((entry) => entry.file === file);
  }

  batch(batch: string): LaunchedBatch | undefined {
    return listOf(launchedBatch, this.#memory.get(BATCHES)).find((entry) => entry.batch === batch);
  }

  async storeFile(entry: LaunchedFile): Promise<void> {
    await this.#memory.update(
      FILES,
      [entry, ...this.files.filter(({ file }) => file !== entry.file)].slice(0, MAX_FILES),
    );
  }

  async storeBatch(entry: LaunchedBatch): Promise<void> {
    await this.#memory.update(
      BATCHES,
      [entry, ...listOf(launchedBatch, this.#memory.get(BATCHES))].slice(0, MAX_BATCHES),
    );
  }
}

/** Drops entries that another version wrote in a different format. */
function listOf<T>(schema: z.ZodType<T>, value: unknown): readonly T[] {
  return Array.isArray(value) ? value.flatMap((item) => schema.safeParse(item).data ?? []) : [];
}

export type { LaunchAnswers };
