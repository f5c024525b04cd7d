/** Writes a file with recorded calls, attempt by attempt (see `trace/recordedCalls/schema.ts`). */
import { type FileHandle, open, rm } from 'node:fs/promises';
import type { TrajectoryModel } from '../../trace/model.ts';
import { ToolBook } from '../../trace/recordedCalls/definitions.ts';
import { readRecordedCalls } from '../../trace/recordedCalls/read.ts';
import type { RecordedAttempt, RecordedIndex } from '../../trace/recordedCalls/schema.ts';
import type { ReadBlob } from '../../trace/spill.ts';
import type { ContentCache } from '../published/cache.ts';

export interface RecordedCallsFile {
  readonly sha: string;
  readonly path: string;
  readonly index: RecordedIndex;
  /** Files with the long answers. */
  readonly blobs: readonly { readonly sha: string; readonly path: string }[];
}

export class RecordedCallsWriter {
  readonly #cache: ContentCache;
  readonly #file: FileHandle;
  readonly #temporary: string;
  readonly #tools = new ToolBook();
  readonly #attempts: RecordedIndex['attempts'] = [];
  readonly #blobs = new Map<string, string>();
  #offset = 0;

  private constructor(cache: ContentCache, file: FileHandle, temporary: string) {
    this.#cache = cache;
    this.#file = file;
    this.#temporary = temporary;
  }

  static async open(cache: ContentCache): Promise<RecordedCallsWriter> {
    const temporary = cache.temporary();
    return new RecordedCallsWriter(cache, await open(temporary, 'wx', 0o600), temporary);
  }

  /** Adds the calls of a trajectory. Returns how many it has, the store has lost, and have no result. */
  async add(
    { task, question, rollout }: Pick<RecordedAttempt, 'task' | 'question' | 'rollout'>,
    model: TrajectoryModel,
    read: ReadBlob,
  ): Promise<{ readonly calls: number; readonly lost: number; readonly open: number }> {
    const keep = (bytes: Uint8Array): Promise<string> => this.#keep(bytes);
    const { calls, definitions, lost, open: unanswered } = await readRecordedCalls(model, { read, keep });
    if (calls.length === 0) return { calls: 0, lost, open: unanswered };
    this.#tools.define(definitions);
    this.#tools.called(calls);
    const bytes = await this.#line({ task, question, rollout, calls } satisfies RecordedAttempt);
    this.#attempts.push({ task, question, rollout, calls: calls.length, offset: this.#offset, bytes: bytes - 1 });
    this.#offset += bytes;
    return { calls: calls.length, lost, open: unanswered };
  }

  /** Writes the index, and moves the file to the cache. */
  async finish(): Promise<RecordedCallsFile> {
    const index: RecordedIndex = {
      recorded_calls: 1,
      tools: this.#tools.tools,
      blobs: [...this.#blobs.keys()],
      attempts: this.#attempts,
    };
    await this.#line(index);
    await this.#file.close();
    const blobs = [...this.#blobs].map(([sha, path]) => ({ sha, path }));
    return { ...(await this.#cache.adopt(this.#temporary)), index, blobs };
  }

  /** Removes what was written. */
  async discard(): Promise<void> {
    await this.#file.close().catch(() => undefined); // it may be closed
    await rm(this.#temporary, { force: true });
  }

  async #keep(bytes: Uint8Array): Promise<string> {
    const { sha, path } = await this.#cache.add(bytes);
    this.#blobs.set(sha, path);
    return sha;
  }

  /** Returns its number of bytes. */
  async #line(value: unknown): Promise<number> {
    const line = Buffer.from(`${JSON.stringify(value)}\n`);
    await this.#file.write(line);
    return line.length;
  }
}
