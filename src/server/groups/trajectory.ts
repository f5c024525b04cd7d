import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { StudioError } from '../../common/errors.ts';
import type { RolloutRecord, Store } from '../../store/store.ts';
import { type AnyEvent, TrajectoryModel } from '../../trace/model.ts';
import { type TokenRecord, type TraceEvent, tokenRecord } from '../../trace/schema.ts';
import { readEvent } from '../../trace/upgrades.ts';
import { StreamReader } from '../streamReader.ts';

const READ_BYTES = 1024 * 1024;
/** Token records of a rollout that are read at the same time. */
const AT_A_TIME = 16;

/** Reads a rollout from the store, with the token records of its calls by seq of their start. */
export async function readTrajectory(
  store: Store,
  { row, lineage }: RolloutRecord,
): Promise<{ readonly model: TrajectoryModel; readonly tokens: ReadonlyMap<number, TokenRecord> }> {
  const model = new TrajectoryModel();
  const refs: { readonly seq: number; readonly sha: string }[] = [];
  const reader = new StreamReader(store, row.rollout, lineage);
  for await (const bodies of reader.all(0, row.last, READ_BYTES)) {
    // Checked before they were stored.
    const events = bodies.map((body): AnyEvent => readEvent(JSON.parse(body) as TraceEvent, { checked: true }));
    model.push(events);
    refs.push(...tokenRefs(events));
  }
  const records = await Readable.from(refs)
    .map(
      async ({ seq, sha }: { seq: number; sha: string }): Promise<[number, TokenRecord]> => [
        seq,
        tokenRecord.parse(JSON.parse(await blobText(store, sha))),
      ],
      { concurrency: AT_A_TIME },
    )
    .toArray();
  return { model, tokens: new Map(records as [number, TokenRecord][]) };
}

/** Returns where the token records of calls are: by seq of the call's start. */
export function tokenRefs(events: readonly AnyEvent[]): { readonly seq: number; readonly sha: string }[] {
  return events.flatMap((event) =>
    'unknown' in event || event.kind !== 'model.end' || event.span === undefined || event.data.tokens === undefined
      ? []
      : [{ seq: event.span, sha: event.data.tokens.$blob }],
  );
}

export async function blobText({ blobs }: Pick<Store, 'blobs'>, sha: string): Promise<string> {
  const blob = await blobs.get(sha);
  if (blob === undefined) throw new StudioError('not_found', `There is no blob ${sha}.`);
  return text(Readable.from(blob.bytes));
}
