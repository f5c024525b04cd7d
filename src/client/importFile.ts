/** Imports recordings of other tools as batches on a server. */
import { createHash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import path from 'node:path';
import { StudioError } from '../common/errors.ts';
import { newId } from '../common/ids.ts';
import type { Format, ImportedRecords, SkippedRecord } from '../formats/format.ts';
import { tauBench } from '../formats/tauBench.ts';
import type { Api } from '../protocol/api.ts';
import type { TraceEvent } from '../trace/schema.ts';
import { spill } from '../trace/spill.ts';
import { diskError } from './disk.ts';

/** All import formats. The first that detects a file reads it. */
const FORMATS: readonly Format[] = [tauBench];

const HEAD_BYTES = 64 * 1024;
const ROLLOUTS_PER_REQUEST = 20;
const EVENTS_PER_REQUEST = 5_000;
const TASKS_PER_REQUEST = 500;

export interface ImportResult {
  readonly batch: string;
  readonly tasks: readonly string[];
  readonly rollouts: number;
  readonly skipped: readonly SkippedRecord[];
}

/** Imports one file. Throws StudioError `usage` if its format is unknown, and `not_found`. */
export async function importFile(
  api: Api,
  file: string,
  options: { signal: AbortSignal; onProgress?: (done: number, all: number) => void },
): Promise<ImportResult> {
  const name = path.basename(file);
  const format = await detect(file, name);
  const batch = newId('b');
  const bytes = await readFile(file);
  const imported = await format.read(
    { name, text: () => Promise.resolve(bytes.toString('utf8')) },
    { batch, at: Date.now() },
  );
  if (imported.rollouts.length === 0) {
    throw new StudioError('usage', `${name} contains no readable rollouts.`, {
      hint:
        imported.skipped[0] === undefined
          ? 'Check that it is the right file.'
          : `${imported.skipped[0].place}: ${imported.skipped[0].why}`,
    });
  }
  await send(api, batch, imported, bytes, options);
  return {
    batch,
    tasks: imported.tasks.map((task) => task.id),
    rollouts: imported.rollouts.length,
    skipped: imported.skipped,
  };
}

async function detect(file: string, name: string): Promise<Format> {
  let head: string;
  try {
    await using handle = await open(file);
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
  source: Uint8Array,
  { signal, onProgress }: { signal: AbortSignal; onProgress?: (done: number, all: number) => void },
): Promise<void> {
  const sha = createHash('sha256').update(source).digest('hex');
  await api.putBlob(sha, source, signal);
  const { tasks, rollouts } = imported;
  const attempts = Math.max(...rollouts.map((rollout) => rollout.attempt));
  await api.createBatch(
    {
      batch,
      submission: sha,
      open: true,
      tasks: tasks.slice(0, TASKS_PER_REQUEST),
      imported: { name: imported.name, attempts },
    },
    signal,
  );
  for (let from = TASKS_PER_REQUEST; from < tasks.length; from += TASKS_PER_REQUEST)
    await api.appendTasks(batch, from, tasks.slice(from, from + TASKS_PER_REQUEST), signal);

  let page: { rollout: string; task: string; attempt: number; from?: number; events: readonly TraceEvent[] }[] = [];
  let events = 0;
  const flush = async (done: number): Promise<void> => {
    if (page.length > 0) await api.importRollouts(batch, page, signal);
    page = [];
    events = 0;
    onProgress?.(done, rollouts.length);
  };
  for (const [done, { task, attempt, events: whole }] of rollouts.entries()) {
    const rollout = newId('r');
    const stored = await storeBlobs(api, whole, signal);
    for (let from = 0; from < stored.length; from += EVENTS_PER_REQUEST) {
      const part = stored.slice(from, from + EVENTS_PER_REQUEST);
      page.push({ rollout, task, attempt, ...(from === 0 ? {} : { from: from + 1 }), events: part });
      events += part.length;
      if (page.length === ROLLOUTS_PER_REQUEST || events >= EVENTS_PER_REQUEST) await flush(done);
    }
  }
  await flush(rollouts.length);
  await api.commandBatch(batch, { command: newId('c'), verb: 'seal' }, signal);
}

/** Stores large values as blobs and returns the events that reference them. */
async function storeBlobs(api: Api, events: readonly TraceEvent[], signal: AbortSignal): Promise<TraceEvent[]> {
  const stored: TraceEvent[] = [];
  for (const event of events) {
    const spilled = spill(event);
    for (const blob of spilled.blobs) await api.putBlob(blob.sha, blob.bytes, signal);
    stored.push(spilled.event);
  }
  return stored;
}
