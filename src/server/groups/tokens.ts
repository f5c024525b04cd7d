/** `GET /v1/batches/<id>/tokens`: the token records of a batch in pages. */
import { StudioError } from '../../common/errors.ts';
import { trimmedError } from '../../common/trimmed.ts';
import type { RolloutRecord } from '../../store/store.ts';
import type { AnyEvent } from '../../trace/model.ts';
import type { TraceEvent } from '../../trace/schema.ts';
import { readEvent } from '../../trace/upgrades.ts';
import { recordOf } from '../batches/create.ts';
import { type Call, limitQuery, param } from '../http/call.ts';
import { JsonText } from '../http/router.ts';
import type { Services } from '../services.ts';
import { StreamReader } from '../streamReader.ts';
import { blobText, tokenRefs } from './trajectory.ts';

const RECORDS = { usual: 500, most: 5_000 };
/** A page ends with the record that exceeds it. */
const PAGE_CHARS = 4 * 1024 * 1024;
const READ_BYTES = 1024 * 1024;
const ROLLOUTS = 50;

/** A place between two calls: the cursor of the list of rollouts, before the rollout, and the seq of the last call. */
interface Place {
  readonly rollouts: string | undefined;
  readonly seq: number;
}

export async function tokens(services: Services, call: Call): Promise<JsonText> {
  const { row } = await recordOf(services, param(call, 'batch'));
  if (row.trimmed !== undefined) throw trimmedError(row.batch, row.trimmed);
  const limit = limitQuery(call, RECORDS.usual, RECORDS.most);
  let { rollouts: list, seq: after } = placeOf(call.query.get('after') ?? '', row.batch);
  const records: string[] = [];
  let chars = 0;
  for (;;) {
    const page = await services.store.rollouts(row.batch, {
      limit: ROLLOUTS,
      ...(list === undefined ? {} : { after: list }),
    });
    for (const { rollout } of page.rollouts) {
      const record = await services.store.rollout(rollout);
      if (record === undefined) continue;
      for (const { seq, sha } of await refsOf(services, record, after)) {
        if (records.length >= limit || chars >= PAGE_CHARS)
          return new JsonText(pageText(records, `${row.batch}.${list ?? '-'}.${after}`));
        const text = await blobText(services.store, sha);
        records.push(`{"rollout":${JSON.stringify(rollout)},"seq":${seq},"tokens":${text}}`);
        chars += text.length;
        after = seq;
      }
      list = `${record.row.task_index}.${record.row.attempt}.${record.row.try}`;
      after = 0;
    }
    if (page.next === undefined) return new JsonText(pageText(records, undefined));
  }
}

function pageText(records: readonly string[], next: string | undefined): string {
  return `{"records":[${records.join(',')}]${next === undefined ? '' : `,"next":${JSON.stringify(next)}`}}`;
}

/** Returns the calls after the one that began at `after`, and where their token records are. */
async function refsOf(
  { store }: Services,
  { row, lineage }: RolloutRecord,
  after: number,
): Promise<{ readonly seq: number; readonly sha: string }[]> {
  const events: AnyEvent[] = [];
  // Checked before they were stored.
  for await (const bodies of new StreamReader(store, row.rollout, lineage).all(after, row.last, READ_BYTES))
    for (const body of bodies)
      if (body.includes('"model.end"')) events.push(readEvent(JSON.parse(body) as TraceEvent, { checked: true }));
  return tokenRefs(events)
    .filter(({ seq }) => seq > after)
    .sort((a, b) => a.seq - b.seq);
}

function placeOf(cursor: string, batch: string): Place {
  if (cursor === '' || cursor === '0') return { rollouts: undefined, seq: 0 };
  const [, of, rollouts, seq] = /^(b[\w-]+)\.(-|\d+\.\d+\.\d+)\.(\d+)$/.exec(cursor) ?? [];
  if (of === undefined || rollouts === undefined || of !== batch)
    throw new StudioError(
      'usage',
      of === undefined
        ? `“${cursor.slice(0, 100)}” is not a cursor of token records.`
        : `The cursor belongs to batch ${of}, not to ${batch}.`,
      { hint: 'Use `next` of the previous page.' },
    );
  return { rollouts: rollouts === '-' ? undefined : rollouts, seq: Number(seq) };
}
