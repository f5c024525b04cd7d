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
    'Lists the batches of rollouts in the store, newest first: name, state, how many attempts passed and failed, ' +
    'tokens. A batch is tasks x attempts of an agent.',
  input: z.strictObject({ limit: z.number().int().min(1).max(100).default(20), cursor: CURSOR }),
  output: z.object({ batches: z.array(batchShape), next_cursor: NEXT }),
  effect: 'read',
  async run({ limit, cursor: from }, { api, signal }) {
    const page = await api.batches({ limit, ...(from === undefined ? {} : { before: places.read(from) }) }, signal);
    const room = new Room();
    const shown: BatchRow[] = [];
    for (const row of page.batches) {
      if (!room.take(batchData(row))) break;
      shown.push(row);
    }
    const last = shown.at(-1)?.batch;
    const next =
      (shown.length < page.batches.length || page.next !== undefined) && last !== undefined
        ? places.write(last)
        : undefined;
    const text = shown.length === 0 ? 'No batch. launch_batch runs one.' : batchTable(shown);
    return {
      data: { batches: shown.map(batchData), ...(next === undefined ? {} : { next_cursor: next }) },
      text: next === undefined ? text : `${text}\n\nOlder ones: cursor ${next}`,
    };
  },
});
