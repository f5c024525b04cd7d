import { z } from 'zod';
import { batchTable } from '../../client/text/batchText.ts';
import type { BatchRow } from '../../protocol/client.ts';
import { Room } from '../answers/bounds.ts';
import { cursor } from '../answers/cursor.ts';
import { batchData, batchShape, CURSOR, NEXT } from '../answers/shapes.ts';
import { defineTool } from '../tool.ts';

const places = cursor('list_batches', z.string());

export const listBatches = defineTool({
  name: 'list_batches',
  title: 'List batches',
  description:
    'Lists the batches in the store, newest first, with name, state, passed and failed attempts, and tokens. A batch ' +
    'runs an agent on tasks, with several attempts per task.',
  input: z.strictObject({ limit: z.number().int().min(1).max(100).default(20), cursor: CURSOR }),
  output: z.object({ batches: z.array(batchShape), next_cursor: NEXT }),
  effect: 'read',
  async run({ limit, cursor: from }, { api, signal }) {
    const page = await api.batches({ limit, ...(from === undefined ? {} : { before: places.read(from) }) }, signal);
    const room = new Room();
    const listed: BatchRow[] = [];
    for (const row of page.batches) {
      if (!room.take(batchData(row))) break;
      listed.push(row);
    }
    const last = listed.at(-1)?.batch;
    const next =
      (listed.length < page.batches.length || page.next !== undefined) && last !== undefined
        ? places.write(last)
        : undefined;
    const text = listed.length === 0 ? 'No batches yet. Run one with launch_batch.' : batchTable(listed);
    return {
      data: { batches: listed.map(batchData), ...(next === undefined ? {} : { next_cursor: next }) },
      text: next === undefined ? text : `${text}\n\nOlder batches: cursor ${next}`,
    };
  },
});
