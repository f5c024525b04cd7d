import { z } from 'zod';
import { batchId, parseReference } from '../../client/reference.ts';
import { nounFor, plural } from '../../common/text.ts';
import { compileQuery, type Query } from '../../trace/query.ts';
import { errorClass } from '../../trace/schema.ts';
import { Room } from '../answers/bounds.ts';
import { cursor } from '../answers/cursor.ts';
import { attemptReference, CURSOR, NEXT, outcome } from '../answers/shapes.ts';
import { openAttempt } from '../reading/attempt.ts';
import { fits, rowPlace, rowsFrom, Tasks } from '../reading/rows.ts';
import { findIn, foundShape, type SearchHit } from '../reading/search.ts';
import { type Call, defineTool } from '../tool.ts';

/** Limits per call, after which it returns a cursor: number of events and time. */
const MAX_EVENTS = 200_000;
const MAX_MS = 15_000;

const place = z.object({ ...rowPlace.shape, step: z.number().int().min(0).optional() });
type Place = z.infer<typeof place>;
const places = cursor('search_trajectories', place);

export const searchTrajectories = defineTool({
  name: 'search_trajectories',
  title: 'Search trajectories',
  description:
    'Finds the steps of one attempt, or of all attempts of a batch, that contain words or match a CEL condition. ' +
    'Returns references and excerpts. All words must occur, ignoring case; phrases can be quoted. CEL variables: ' +
    'event, step, tool (name, arguments, result, error, ms), message (role, text, calls), agent, task, attempt, ' +
    'usage, world (changes), reward, status: `tool.name == "search" && tool.error != null`, `message.role == ' +
    '"assistant" && message.text.contains("sorry")`. Only the first 64 KiB of a value are searched.',
  input: z.strictObject({
    query: z.string().min(1),
    in: z.string().default('last').describe('A batch, BATCH/TASK/ATTEMPT, or a rollout ID'),
    task: z.string().optional().describe('Only attempts of this task'),
    outcome: outcome.optional().describe('Only attempts with this outcome'),
    cause: z.string().optional().describe('Only attempts with this cause, as show_batch lists them'),
    error_class: errorClass.optional().describe('Only attempts that ended with this error class'),
    tool: z.string().optional().describe('Only attempts that called this tool'),
    limit: z.number().int().min(1).max(100).default(30).describe('Maximum number of hits'),
    per_attempt: z
      .number()
      .int()
      .min(1)
      .max(100)
      .default(3)
      .describe('Maximum number of hits per attempt when searching a batch'),
    cursor: CURSOR,
  }),
  output: z.object({
    understood: z.string().describe('How the query was interpreted'),
    places: z.array(foundShape),
    attempts: z.number().int().describe('Attempts searched in this call'),
    next_cursor: NEXT,
  }),
  effect: 'read',
  async run({ query: text, in: where, task, limit, per_attempt: perAttempt, cursor: position, ...filter }, call) {
    const query = compileQuery(text);
    const start = position === undefined ? undefined : places.read(position);
    const reference = parseReference(where);
    const result =
      reference.kind === 'batch'
        ? await searchBatch(
            await batchId(call.api, reference.batch, call.signal),
            { query, task, filter, limit, perAttempt, start },
            call,
          )
        : await searchOne(where, { query, limit, start }, call);
    const next = result.next === undefined ? undefined : places.write(result.next);
    const lines = result.found.map(
      (one) =>
        `${one.reference}  ${one.what}: ${one.excerpt}` +
        (one.more === undefined ? '' : `  (and ${one.more} more ${nounFor(one.more, 'step')} of this attempt)`),
    );
    const head = `${plural(lines.length, 'hit')} in ${plural(result.attempts, 'attempt')}: ${query.explain}`;
    return {
      data: {
        understood: query.explain,
        places: [...result.found],
        attempts: result.attempts,
        ...(next === undefined ? {} : { next_cursor: next }),
      },
      text: [head, '', ...lines, ...(next === undefined ? [] : ['', `Next page: cursor ${next}`])].join('\n'),
    };
  },
});

interface SearchResult {
  readonly found: readonly SearchHit[];
  readonly attempts: number;
  readonly next?: Place | undefined;
}

async function searchOne(
  where: string,
  { query, limit, start }: { query: Query; limit: number; start: Place | undefined },
  call: Call,
): Promise<SearchResult> {
  const { model, info, reference } = await openAttempt(where, call);
  const page = new Pager(limit);
  const next = page.add([...findIn(model, query, { reference, task: info.task, from: start?.step ?? 0 })], Infinity);
  return { found: page.found, attempts: 1, next: next === undefined ? undefined : { skip: 0, step: next } };
}

interface BatchSearch {
  readonly query: Query;
  readonly task: string | undefined;
  readonly filter: Parameters<typeof fits>[1];
  readonly limit: number;
  readonly perAttempt: number;
  readonly start: Place | undefined;
}

async function searchBatch(
  batch: string,
  { query, task, filter, limit, perAttempt, start }: BatchSearch,
  { api, session, signal, progress }: Call,
): Promise<SearchResult> {
  const tasks = new Tasks(api, batch);
  const page = new Pager(limit);
  const until = performance.now() + MAX_MS;
  let attempts = 0;
  let events = 0;
  let firstStep = start?.step;
  for await (const { row, place: here, next: behind } of rowsFrom(api, batch, { task }, start, signal)) {
    const from = firstStep ?? 0;
    firstStep = undefined;
    if (row.state === 'queued' || !fits(row, filter)) continue;
    const model = await session.trajectories.pass(api, row.rollout, signal);
    attempts++;
    events += model.last;
    const found = [
      ...findIn(model, query, {
        reference: attemptReference(row),
        task: await tasks.get(row.task_index, signal),
        from,
      }),
    ];
    const next = page.add(found, perAttempt);
    if (next !== undefined) return { found: page.found, attempts, next: { ...here, step: next } };
    if (behind !== undefined && (events >= MAX_EVENTS || performance.now() >= until))
      return { found: page.found, attempts, next: behind };
    if (attempts % 20 === 0)
      await progress(
        attempts,
        undefined,
        `${plural(attempts, 'attempt')} searched, ${plural(page.found.length, 'hit')} found`,
      );
  }
  return { found: page.found, attempts };
}

/** Collects the hits of a page. */
class Pager {
  readonly found: SearchHit[] = [];
  readonly #limit: number;
  readonly #room = new Room();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Adds up to `max` hits of one attempt. Returns the step to continue from if the page is full. */
  add(places: readonly SearchHit[], max: number): number | undefined {
    for (const [index, one] of places.entries()) {
      if (index >= max) return undefined;
      const left = places.length - max;
      const hit = index === max - 1 && left > 0 ? { ...one, more: left } : one;
      if (this.found.length >= this.#limit || !this.#room.take(hit)) return one.step;
      this.found.push(hit);
    }
    return undefined;
  }
}
