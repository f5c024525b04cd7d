/** Builds the items of the Targets view for users or queues, and for batches that wait. */

import { shareLines, shareName, shareText } from '../../../common/sharesText.ts';
import { plural } from '../../../common/text.ts';
import { ordinal } from '../../../common/waitingText.ts';
import type { SharesReply } from '../../../protocol/shares.ts';
import type { TargetNode } from './targetNodes.ts';

interface ShareNodesInput {
  readonly target: string;
  readonly shares: SharesReply | undefined;
  /** Returns the name of a batch, if it is known. */
  readonly batchName: (batch: string) => string | undefined;
  /** Whether the server is of one user, to whom its only row says nothing. */
  readonly isOwn: boolean;
}

/** Returns no items for a server that does not say how it divides what it has. */
export function shareNodes({ target, shares, batchName, isOwn }: ShareNodesInput): TargetNode[] {
  if (shares === undefined) return [];
  const { rows, waiting, own } = shares;
  const kinds = new Set(rows.map(({ kind }) => kind));
  // A server with queues divides among these first, and then among their users.
  const label = kinds.size > 1 ? 'Queues and Users' : kinds.has('queue') ? 'Queues' : 'Users';
  const description = rows.length === 0 ? 'nobody runs anything now' : String(rows.length);
  const nodes: TargetNode[] = [];
  if (!isOwn || rows.length > 1)
    nodes.push({
      id: `target/${target}/shares`,
      collapsed: true,
      item: {
        label,
        description,
        tooltip: 'Who uses the server now: share of the tokens of the last minute, of what it is entitled to',
        icon: { id: 'organization' },
        context: 'shares',
        ariaLabel: `${label}, ${description}`,
      },
      children: rows.map((row) => {
        const name = shareName(row);
        const text = shareText(row);
        const isYou = own !== undefined && own.kind === row.kind && own.name === row.name;
        return {
          id: `target/${target}/shares/${row.kind}/${row.name}`,
          item: {
            label: name,
            description: isYou ? `you · ${text}` : text,
            tooltip: [name, ...shareLines(row)].join('\n'),
            icon: { id: row.kind === 'user' ? 'account' : 'list-ordered' },
            context: `share.${row.kind}`,
            ariaLabel: `${row.kind === 'user' ? 'User' : 'Queue'} ${name}, ${text}`,
          },
          children: [],
        };
      }),
    });
  if (waiting.length > 0) {
    const count = plural(waiting.length, 'batch', 'batches');
    nodes.push({
      id: `target/${target}/waiting`,
      item: {
        label: 'Waiting',
        description: count,
        icon: { id: 'watch', color: 'charts.yellow' },
        context: 'waiting',
        ariaLabel: `Waiting, ${count}`,
      },
      children: [...waiting]
        .sort((a, b) => a.position - b.position)
        .map(({ batch, position, of, text }) => {
          const name = batchName(batch) ?? batch;
          return {
            id: `target/${target}/waiting/${batch}`,
            opens: batch,
            item: {
              label: `${position}. ${name}`,
              description: text,
              tooltip: [name, batch, text, 'Click to open the batch.'].join('\n'),
              icon: { id: 'table' },
              context: 'waiting.batch',
              ariaLabel: `Batch ${name} waits, ${ordinal(position)} of ${of}: ${text}`,
            },
            children: [],
          };
        }),
    });
  }
  return nodes;
}
