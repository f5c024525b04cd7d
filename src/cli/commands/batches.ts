import { batchTable } from '../../client/text/batchText.ts';
import type { BatchRow } from '../../protocol/client.ts';
import { type Command, flag, numberOption } from '../command.ts';

const PAGE = 20;

export const batches: Command = {
  name: 'batches',
  usage: '[--limit N] [--all]',
  text: 'Lists the batches of a store, newest first.',
  options: {
    limit: { type: 'string', value: 'N', text: `how many (${PAGE})` },
    all: { type: 'boolean', text: 'all of them' },
  },
  async run(context, given) {
    const { api } = await context.connect();
    const limit = flag(given, 'all') ? Number.POSITIVE_INFINITY : (numberOption(given, 'limit', 1) ?? PAGE);
    const rows: BatchRow[] = [];
    let before: string | undefined;
    do {
      const page = await api.batches(
        { limit: Math.min(limit - rows.length, 200), ...(before === undefined ? {} : { before }) },
        context.signal,
      );
      rows.push(...page.batches);
      before = page.next;
    } while (before !== undefined && rows.length < limit);
    if (context.json) context.printJson({ batches: rows });
    else if (rows.length === 0)
      context.print('No batch yet. rollout init makes a sample workspace; rollout run BATCH runs one.');
    else context.print(batchTable(rows));
    return 0;
  },
};
