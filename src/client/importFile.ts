/** Turns a foreign recording into an imported batch on a server. */
import { createHash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import path from 'node:path';
import { errorText, StudioError } from '../common/errors.ts';
import { newId } from '../common/ids.ts';
import type { Format, ImportedRecords, SkippedRecord } from '../formats/format.ts';
import { tauBench } from '../formats/tauBench.ts';
import type { Api } from '../protocol/api.ts';
import type { TraceEvent } from '../trace/schema.ts';
import { spill } from '../trace/spill.ts';

/** Every format that can be imported; the first that knows a file reads it. */
export const FORMATS: readonly Format[] = [tauBench];

const HEAD_BYTES = 64 * 1024;
const ROLLOUTS_AT_ONCE = 20;
const EVENTS_AT_ONCE = 5_000;
const TASKS_AT_ONCE = 500;

export interface ImportResult {
  readonly batch: string;
  readonly tasks: readonly string[];
  readonly rollouts: number;
  readonly skipped: readonly SkippedRecord[];
}

/** Imports one file. Throws `usage` for a file of no known format, `not_found`. */
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
    throw new StudioError('usage', `${name} holds no rollout that could be read.`, {
      hint:
        imported.skipped[0] === undefined
          ? 'Is it the right file?'
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
    throw new StudioError('not_found', `${file} cannot be read: ${errorText(error)}.`, { cause: error });
  }
  const format = FORMATS.find((candidate) => candidate.detect(head, name));
  if (format === undefined)
    throw new StudioError('usage', `${name} is of no format that can be imported.`, {
      hint: `There are: ${FORMATS.map((one) => one.name).join(', ')}.`,
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
      tasks: tasks.slice(0, TASKS_AT_ONCE),
      imported: { name: imported.name, attempts },
    },
    signal,
  );
  for (let from = TASKS_AT_ONCE; from < tasks.length; from += TASKS_AT_ONCE)
    await api.appendTasks(batch, from, tasks.slice(from, from + TASKS_AT_ONCE), signal);

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
    for (let from = 0; from < stored.length; from += EVENTS_AT_ONCE) {
      const part = stored.slice(from, from + EVENTS_AT_ONCE);
      page.push({ rollout, task, attempt, ...(from === 0 ? {} : { from: from + 1 }), events: part });
      events += part.length;
      if (page.length === ROLLOUTS_AT_ONCE || events >= EVENTS_AT_ONCE) await flush(done);
    }
  }
  await flush(rollouts.length);
  await api.commandBatch(batch, { command: newId('c'), verb: 'seal' }, signal);
}

/** The events with their large values put away as blobs. */
async function storeBlobs(api: Api, events: readonly TraceEvent[], signal: AbortSignal): Promise<TraceEvent[]> {
  const stored: TraceEvent[] = [];
  for (const event of events) {
    const spilled = spill(event);
    for (const blob of spilled.blobs) await api.putBlob(blob.sha, blob.bytes, signal);
    stored.push(spilled.event);
  }
  return stored;
}
