/** The token groups of a batch as JSON Lines: a line for each segment of its attempts, those of a task together. */
import { Readable } from 'node:stream';
import type { Api } from '../protocol/api.ts';
import type { TrajectoryModel } from '../trace/model.ts';
import { type TokenRecord, tokenRecord } from '../trace/schema.ts';
import { type TrainingRow, trainingRows } from '../trace/segments/trainingRows.ts';
import type { RolloutRow } from '../trace/summary.ts';
import { readModel } from './readStep.ts';

/** What the lines leave out. */
export interface GroupCounts {
  attempts: number;
  rows: number;
  /** Attempts that have not ended. */
  running: number;
  /** Model calls that are in no line, by reason. */
  readonly left_out: Record<string, number>;
}

/** Attempts that are read at the same time. */
const AT_A_TIME = 8;

/** Returns the lines of a batch, in order of its tasks and attempts, and counts them in `counts`. */
export async function* tokenGroups(
  api: Api,
  batch: string,
  counts: GroupCounts,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const rows = (await Array.fromAsync(api.allRollouts(batch, {}, signal))).sort(
    (a, b) => a.task_index - b.task_index || a.attempt - b.attempt,
  );
  const ended = rows.filter(({ state }) => state === 'ended');
  counts.running += rows.length - ended.length;
  const read = async (row: RolloutRow): Promise<readonly TrainingRow[]> => {
    const model = await readModel(api, row.rollout, signal);
    const { rows: lines, left_out: leftOut } = trainingRows(model, row, await recordsOf(api, model, signal));
    for (const { why } of leftOut) counts.left_out[why] = (counts.left_out[why] ?? 0) + 1;
    return lines;
  };
  const attempts: AsyncIterable<readonly TrainingRow[]> = Readable.from(ended).map(read, {
    concurrency: AT_A_TIME,
    signal,
  });
  for await (const lines of attempts) {
    counts.attempts++;
    counts.rows += lines.length;
    yield Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  }
}

/** Reads the token records of a rollout, by seq of the start of their call. */
async function recordsOf(api: Api, model: TrajectoryModel, signal: AbortSignal): Promise<Map<number, TokenRecord>> {
  const refs = model.events.flatMap((event) => {
    if ('unknown' in event || event.kind !== 'model.end' || event.span === undefined) return [];
    return event.data.tokens === undefined ? [] : [{ seq: event.span, sha: event.data.tokens.$blob }];
  });
  const texts = await api.blobTexts(
    refs.map(({ sha }) => sha),
    signal,
  );
  return new Map(refs.map(({ seq }, index) => [seq, tokenRecord.parse(JSON.parse(texts[index] ?? ''))]));
}
