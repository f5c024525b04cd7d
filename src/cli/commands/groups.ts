import { batchId } from '../../client/reference.ts';
import { table } from '../../client/text/table.ts';
import { plural } from '../../common/text.ts';
import { compact } from '../../common/units.ts';
import type { GroupRow } from '../../protocol/groups.ts';
import { type Command, oneWord } from '../command.ts';

export const groups: Command = {
  name: 'groups',
  usage: 'BATCH',
  text: 'Lists the groups that a trainer requested of a batch: how far each is, and why one is not complete.',
  options: {},
  async run(context, commandLine) {
    const { api } = await context.connect();
    const batch = await batchId(api, oneWord(groups, commandLine), context.signal);
    const all = await Array.fromAsync(api.allGroups(batch, context.signal));
    if (context.json) context.printJson({ batch, groups: all });
    else if (all.length === 0) context.print('No groups yet. A trainer requests them by POST /v1/groups.');
    else {
      context.print(table([HEAD, ...all.map(cells)], [3, 4, 5]));
      const open = all.filter(({ state }) => state === 'open').length;
      const filtered = all.flatMap((row) => row.filtered ?? []);
      const tokens = filtered.reduce((sum, one) => sum + one.tokens, 0);
      const left =
        filtered.length === 0 ? '' : `, ${filtered.length} left out by the filter (${compact(tokens)} tokens)`;
      context.log(`${plural(all.length, 'group')}, ${open} open${left}`);
    }
    return 0;
  },
};

const HEAD = ['group', 'task', 'state', 'scored', 'open', 'seconds', 'why'];

function cells(row: GroupRow): string[] {
  const seconds = row.ended_at === undefined ? '' : ((row.ended_at - row.requested_at) / 1_000).toFixed(1);
  const tooOld = row.stale === undefined ? [] : [`${row.stale} too old`];
  const replaced = row.replaced === 0 ? [] : [`${row.replaced} replaced`];
  return [
    row.group,
    row.task,
    row.state,
    `${row.scored}/${row.size}`,
    String(row.open),
    seconds,
    [
      ...(row.why === undefined ? [] : [row.why]),
      ...(row.filtered === undefined ? [] : [row.filtered.why]),
      ...(row.replayed === undefined ? [] : [`${row.replayed} of earlier groups replayed`]),
      ...tooOld,
      ...replaced,
    ].join(' '),
  ];
}
