/** What a batch waits for until its first attempt ends. */
import { plural } from '../../../src/common/text.ts';
import type { BatchRow, ServerInfo } from '../../../src/protocol/client.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';

interface StartupFacts {
  readonly row: BatchRow;
  /** Undefined until the server was read. */
  readonly server: ServerInfo | undefined;
  /** The model's endpoint, if the submission was read. */
  readonly endpoint: string | undefined;
  readonly rows: Iterable<RolloutRow>;
  /** Ended attempts. */
  readonly done: number;
}

/** `text`: a few words; `more`: a sentence. */
interface StartupText {
  readonly text: string;
  readonly more: string;
}

/** Returns undefined for a batch that is paused, was imported, or has an attempt that ended. */
export function startupText({ row, server, endpoint, rows, done }: StartupFacts): StartupText | undefined {
  if (done > 0 || row.imported || (row.state !== 'running' && row.state !== 'open')) return undefined;
  let running = 0;
  let held = 0;
  let steps = 0;
  let answered = false;
  for (const { state, progress } of rows) {
    if (state === 'running') running += 1;
    if (state === 'held') held += 1;
    steps += progress.steps;
    answered ||= progress.steps > 1 || progress.tool_calls > 0 || progress.output_tokens > 0;
  }
  if (running > 0) return answered ? firstSteps(running, steps) : model(server, endpoint);
  if (held > 0) return undefined;
  if (row.tasks === 0) return { text: 'Receiving tasks…', more: 'The tasks of this batch are still being uploaded.' };
  return workers(server);
}

function firstSteps(running: number, steps: number): StartupText {
  return {
    text: `First attempts: ${plural(steps, 'step')}`,
    more: `${plural(running, 'attempt')} running, none has ended. Open one to watch it.`,
  };
}

function model(server: ServerInfo | undefined, endpoint: string | undefined): StartupText {
  const paused = server?.endpoints.find(({ pause, endpoint: each }) => pause !== undefined && each === endpoint)?.pause;
  if (paused !== undefined)
    return {
      text: `Model paused by ${paused.by}`,
      more: `Model calls wait until the trainer resumes it, or: rollout endpoint resume ${endpoint ?? ''}`,
    };
  const stuck = server?.endpoints.find(({ state, endpoint: each }) => state !== 'ok' && each === endpoint);
  if (stuck !== undefined)
    return {
      text: stuck.state === 'down' ? 'Model does not respond' : 'Model is busy…',
      more: stuck.text ?? `${stuck.endpoint} is ${stuck.state}.`,
    };
  return { text: 'Waiting for the model…', more: `No response from ${endpoint ?? 'the model'} yet.` };
}

function workers(server: ServerInfo | undefined): StartupText {
  const alive = server?.workers.filter((worker) => worker.alive) ?? [];
  if (alive.length === 0)
    return { text: 'Starting workers…', more: 'Attempts start as soon as a worker has loaded the tools.' };
  const free = alive.some(({ slots, running, held }) => running + held < slots);
  return free
    ? { text: 'Starting attempts…', more: 'A worker opens the world of the first attempts.' }
    : { text: 'Waiting for a free worker…', more: 'Attempts of other batches use all slots of the workers.' };
}
