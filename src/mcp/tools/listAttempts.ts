import { z } from 'zod';
import { resolveBatch } from '../../client/reference.ts';
import { table } from '../../client/text/table.ts';
import { plural } from '../../common/text.ts';
import { duration } from '../../common/units.ts';
import { compileQuery } from '../../trace/query.ts';
import { errorClass } from '../../trace/schema.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { Room } from '../answers/bounds.ts';
import { cursor } from '../answers/cursor.ts';
import { attemptData, attemptShape, BATCH, CURSOR, NEXT, outcome } from '../answers/shapes.ts';
import { fits, type RowPlace, rowMatches, rowPlace, rowsFrom, Tasks } from '../reading/rows.ts';
import { defineTool } from '../tool.ts';

/** Maximum rows to check per call, so that a filter without matches in a huge batch returns a cursor. */
const MAX_LOOKED_AT = 20_000;
const places = cursor('list_attempts', rowPlace);

export const listAttempts = defineTool({
  name: 'list_attempts',
  title: 'List attempts',
  description:
    'Lists the attempts of a batch with outcome, reward, steps, called tools, cause of failure, and error, ' +
    'optionally filtered. Pass their references to read_trajectory, compare_attempts, and fork_rollout.',
  input: z.strictObject({
    batch: BATCH,
    task: z.string().optional().describe('Only this task'),
    outcome: outcome.optional(),
    cause: z.string().optional().describe('Only attempts with this cause, as show_batch lists them'),
    error_class: errorClass.optional(),
    tool: z.string().optional().describe('Only attempts that called this tool'),
    query: z
      .string()
      .optional()
      .describe(
        'Words, or a CEL condition over task, attempt, step (number of steps), usage, reward, status; e.g. ' +
          '`reward < 0.5 && step > 10` or `task.level == 2`',
      ),
    limit: z.number().int().min(1).max(200).default(50),
    cursor: CURSOR,
  }),
  output: z.object({
    batch: z.string(),
    attempts: z.array(attemptShape),
    looked_at: z.number().int(),
    next_cursor: NEXT,
  }),
  effect: 'read',
  async run({ batch, task, query, limit, cursor: from, ...filter }, { api, signal, progress }) {
    const id = await resolveBatch(api, batch, signal);
    const compiled = query === undefined ? undefined : compileQuery(query);
    const tasks = new Tasks(api, id);
    const room = new Room();
    const listed: RolloutRow[] = [];
    let lookedAt = 0;
    let next: RowPlace | undefined;
    for await (const { row, place, next: behind } of rowsFrom(
      api,
      id,
      { task },
      from === undefined ? undefined : places.read(from),
      signal,
    )) {
      const matches = fits(row, filter) && (compiled === undefined || (await rowMatches(compiled, row, tasks, signal)));
      if (matches && !room.take(attemptData(row))) {
        next = place;
        break;
      }
      lookedAt++;
      if (matches) listed.push(row);
      if (listed.length === limit || lookedAt === MAX_LOOKED_AT) {
        next = behind;
        break;
      }
      if (lookedAt % 1000 === 0)
        await progress(lookedAt, undefined, `${plural(lookedAt, 'attempt')} checked, ${listed.length} found`);
    }
    const nextCursor = next === undefined ? undefined : places.write(next);
    const text =
      listed.length === 0
        ? `No matches among ${plural(lookedAt, 'attempt')} of batch ${id}.`
        : table(
            [['attempt', 'outcome', 'reward', 'steps', 'calls', 'time', 'cause', 'error'], ...listed.map(line)],
            [2, 3, 4],
          );
    return {
      data: {
        batch: id,
        attempts: listed.map(attemptData),
        looked_at: lookedAt,
        ...(nextCursor === undefined ? {} : { next_cursor: nextCursor }),
      },
      text: nextCursor === undefined ? text : `${text}\n\nNext page: cursor ${nextCursor}`,
    };
  },
});

function line(row: RolloutRow): string[] {
  const data = attemptData(row);
  const error = data.error_message ?? '';
  return [
    data.reference,
    data.outcome,
    data.reward === null ? '' : String(data.reward),
    String(data.steps),
    String(data.tool_calls),
    data.ms === undefined ? '' : duration(data.ms),
    data.cause ?? data.held ?? '',
    error,
  ];
}
