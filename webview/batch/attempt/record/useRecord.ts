/** Loads the events of the shown attempt once the pointer rests, and only while it is shown. */
import { useEffect, useReducer, useRef } from 'preact/hooks';
import { sleep } from '../../../../src/common/abort.ts';
import { errorText } from '../../../../src/common/errors.ts';
import type { Api } from '../../../../src/protocol/api.ts';
import { causeOf } from '../../../../src/trace/cause.ts';
import type { RolloutRow } from '../../../../src/trace/summary.ts';
import type { BatchView, CellAt } from '../../batchView.ts';
import { AttemptReader } from './attemptReader.ts';
import type { AttemptRecords } from './attemptRecords.ts';

/** The pointer must rest this long before anything is requested. */
const REST_MS = 150;
/** Minimum interval of updates for a running attempt. */
const NEWS_MS = 500;
export interface AttemptRecord {
  /** Undefined until something was read. */
  readonly reader: AttemptReader | undefined;
  readonly problem: string | undefined;
}

interface RecordSource {
  readonly api: Api;
  readonly records: AttemptRecords;
  /** The newest rows of all attempts of the task. */
  readonly attempts: readonly RolloutRow[];
}

/** `row`: the newest row of the attempt; undefined before it starts. */
export function useRecord(source: RecordSource, row: RolloutRow | undefined): AttemptRecord {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const newest = useRef(row);
  newest.current = row;
  const { api, records, attempts } = source;
  const rollout = row?.rollout;
  // Once it has ended without passing, other attempts decide where it diverges.
  const others = row !== undefined && causeOf(row) !== undefined ? passedIn(attempts) : '';
  useEffect(() => {
    if (rollout === undefined) return undefined;
    const left = new AbortController();
    void keepUp(
      { api, records, attempts },
      () => newest.current,
      () => draw(undefined),
      left.signal,
    );
    return () => left.abort();
  }, [api, records, rollout, row?.state === 'ended', others]);
  const entry = rollout === undefined ? undefined : records.get(rollout);
  const reader = entry === undefined || entry.reader.outline.last === 0 ? undefined : entry.reader;
  return { reader, problem: entry?.problem };
}

async function keepUp(
  { api, records, attempts }: RecordSource,
  newest: () => RolloutRow | undefined,
  changed: () => void,
  signal: AbortSignal,
): Promise<void> {
  const rollout = newest()?.rollout;
  if (rollout === undefined) return;
  const entry = records.get(rollout) ?? { reader: new AttemptReader(rollout), problem: undefined };
  const { reader } = entry;
  try {
    if (reader.outline.last === 0) await sleep(REST_MS, signal);
    records.keep(rollout, entry);
    for (;;) {
      const row = newest();
      if (row === undefined) return;
      if (row.last > reader.outline.last) {
        if (row.trimmed === true) await reader.readKept(api, signal);
        else await reader.readOn(api, row.last, signal);
        entry.problem = undefined;
        changed();
      }
      if (row.state === 'ended') {
        if (causeOf(row) !== undefined && (await reader.findSplit(api, attempts, signal))) changed();
        return;
      }
      await sleep(NEWS_MS, signal);
    }
  } catch (error) {
    if (signal.aborted) return;
    entry.problem = errorText(error);
    changed();
  }
}

/** Returns the IDs of the passed attempts. */
function passedIn(attempts: readonly RolloutRow[]): string {
  return attempts
    .filter(({ state, progress }) => state === 'ended' && progress.passed === true)
    .map(({ rollout }) => rollout)
    .join(' ');
}

/** Returns where the record of an attempt comes from. */
export function recordSource({ data, attemptRecords }: BatchView, { index }: CellAt): RecordSource {
  return {
    api: data.api,
    records: attemptRecords,
    attempts: data.tasks[index]?.attempts.filter((row) => row !== undefined) ?? [],
  };
}
