import { batchTable } from '../../client/text/batchText.ts';
import type { BatchRow } from '../../protocol/client.ts';
import { type Command, flag, numberOption } from '../command.ts';

const PAGE = 20;

export const batches: Command = {
  name: 'batches',
  usage: '[--limit N] [--all]',
  text: 'Lists the batches in the store, newest first.',
  options: {
    limit: { type: 'string', value: 'N', text: `number of batches to list (${PAGE})` },
    all: { type: 'boolean', text: 'list all batches' },
  },
  async run(context, commandLine) {
    const { api } = await context.connect();
    const limit = flag(commandLine, 'all') ? Number.POSITIVE_INFINITY : (numberOption(commandLine, 'limit', 1) ?? PAGE);
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
      context.print('No batches yet. Create a sample workspace with rollout init, or run one with rollout run BATCH.');
    else context.print(batchTable(rows));
    return 0;
  },
};
