/** Imports recordings of other tools as batches on a server. */
import path from 'node:path';
import { StudioError } from '../common/errors.ts';
import { newId } from '../common/ids.ts';
import { drive } from '../formats/drive.ts';
import type { Format, ImportedRecords, SkippedRecord } from '../formats/format.ts';
import { tauBench } from '../formats/tauBench.ts';
import type { Api } from '../protocol/api.ts';
import { openRegular } from '../tools/regularFile.ts';
import type { TraceEvent } from '../trace/schema.ts';
import { spill } from '../trace/spill.ts';
import { diskError } from './disk.ts';
import { elementsOf, HashedFile } from './importSource.ts';

/** All import formats. The first that detects a file reads it. */
const FORMATS: readonly Format[] = [tauBench, drive];

const HEAD_BYTES = 64 * 1024;
const ROLLOUTS_PER_REQUEST = 20;
const EVENTS_PER_REQUEST = 5_000;
/** The events of a request are in memory, more than once. */
const CHARS_PER_REQUEST = 512 * 1024;
const TASKS_PER_REQUEST = 500;

export interface ImportResult {
  readonly batch: string;
  readonly tasks: readonly string[];
  readonly rollouts: number;
  readonly skipped: readonly SkippedRecord[];
}

/**
 * Imports one file, which can be larger than memory. Throws StudioError `usage` if its format is unknown, and
 * `not_found`.
 */
export async function importFile(
  api: Api,
  file: string,
  options: { signal: AbortSignal; onProgress?: (done: number, all: number) => void },
): Promise<ImportResult> {
  const name = path.basename(file);
  const format = await detect(file, name);
  const batch = newId('b');
  const source = new HashedFile(file, options.signal);
  const imported = await format.read({ name, elements: () => elementsOf(name, source) }, { batch, at: Date.now() });
  const [skipped] = imported.skipped;
  if (imported.count === 0) {
    throw new StudioError('usage', `${name} contains no readable rollouts.`, {
      hint: skipped === undefined ? 'Check that it is the right file.' : `${skipped.place}: ${skipped.why}`,
    });
  }
  const sha = source.sha;
  await send(api, batch, imported, { sha, bytes: () => source.bytes() }, options);
  if (source.sha !== sha)
    throw new StudioError('usage', `${name} changed while it was imported.`, {
      hint: 'Import it again. The incomplete batch can be removed with rollout gc.',
    });
  await api.commandBatch(batch, { command: newId('c'), verb: 'seal' }, options.signal);
  return {
    batch,
    tasks: imported.tasks.map((task) => task.id),
    rollouts: imported.count,
    skipped: imported.skipped,
  };
}

/** Reads a file without importing it: its tasks and finished rollouts. Throws as `importFile`. */
export async function importedRecords(file: string, signal: AbortSignal): Promise<ImportedRecords> {
  const name = path.basename(file);
  const format = await detect(file, name);
  const source = new HashedFile(file, signal);
  return await format.read({ name, elements: () => elementsOf(name, source) }, { batch: newId('b'), at: Date.now() });
}

async function detect(file: string, name: string): Promise<Format> {
  let head: string;
  try {
    const opened = await openRegular(file);
    await using handle = opened.handle;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    head = buffer.toString('utf8', 0, bytesRead);
  } catch (error) {
    throw diskError(file, error);
  }
  const format = FORMATS.find((candidate) => candidate.detect(head, name));
  if (format === undefined)
    throw new StudioError('usage', `${name} does not have a supported format.`, {
      hint: `Supported formats: ${FORMATS.map((one) => one.name).join(', ')}.`,
    });
  return format;
}

async function send(
  api: Api,
  batch: string,
  imported: ImportedRecords,
  source: { readonly sha: string; readonly bytes: () => AsyncIterable<Uint8Array> },
  { signal, onProgress }: { signal: AbortSignal; onProgress?: (done: number, all: number) => void },
): Promise<void> {
  if (!(await api.hasBlob(source.sha, signal))) await api.putBlob(source.sha, source.bytes, signal);
  const { tasks, attempts, count } = imported;
  await api.createBatch(
    {
      batch,
      submission: source.sha,
      open: true,
      tasks: tasks.slice(0, TASKS_PER_REQUEST),
      imported: { name: imported.name, attempts },
    },
    signal,
  );
  for (let from = TASKS_PER_REQUEST; from < tasks.length; from += TASKS_PER_REQUEST)
    await api.appendTasks(batch, from, tasks.slice(from, from + TASKS_PER_REQUEST), signal);

  type Part = Parameters<Api['importRollouts']>[1][number];
  let page: (Part & { readonly events: TraceEvent[] })[] = [];
  let chars = 0;
  let done = 0;
  const flush = async (): Promise<void> => {
    if (page.length > 0) await api.importRollouts(batch, page, signal);
    page = [];
    chars = 0;
    onProgress?.(done, count);
  };
  for await (const { task, attempt, events } of imported.rollouts()) {
    const rollout = newId('r');
    let part: TraceEvent[] | undefined;
    for (const event of events) {
      const stored = await storeBlobs(api, event, signal);
      if (part === undefined) {
        part = [];
        page.push({ rollout, task, attempt, from: event.seq, events: part });
      }
      part.push(stored);
      chars += JSON.stringify(stored).length;
      if (part.length < EVENTS_PER_REQUEST && chars < CHARS_PER_REQUEST) continue;
      await flush();
      part = undefined;
    }
    done++;
    if (page.length >= ROLLOUTS_PER_REQUEST) await flush();
  }
  await flush();
}

/** Stores large values as blobs and returns the event that references them. */
async function storeBlobs(api: Api, event: TraceEvent, signal: AbortSignal): Promise<TraceEvent> {
  const spilled = spill(event);
  for (const blob of spilled.blobs) await api.putBlob(blob.sha, blob.bytes, signal);
  return spilled.event;
}
