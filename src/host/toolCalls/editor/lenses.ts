/** Provides CodeLenses on tools: the batch, its statistics, and failed calls. */
import * as vscode from 'vscode';
import { plural } from '../../../common/text.ts';
import { statsText } from '../../../trace/toolCalls/text.ts';
import { NBSP } from '../../codelens/lensText.ts';
import { agoText } from '../../views/batches/batchNodes.ts';
import { LENS_COMMANDS } from '../ids.ts';
import { type LocatedStatistics, rangeOf, type ToolLookup } from './lookup.ts';
import type { CallsQuery } from './showCalls.ts';

export async function toolLenses(lookup: ToolLookup, document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
  return (await lookup.statistics(document)).flatMap((each) => lensesOf(each, document.uri));
}

function lensesOf(
  { location, statistics: { row, calls, names } }: LocatedStatistics,
  uri: vscode.Uri,
): vscode.CodeLens[] {
  const range = rangeOf(location);
  const stats = calls.stats(names);
  const query: CallsQuery = {
    uri: uri.toString(),
    line: location.line,
    column: location.column,
    batch: row.batch,
    tools: [...names],
  };
  const running = row.state === 'ended' ? `$(history)${NBSP}` : `$(loading~spin)${NBSP}`;
  const prefix = names.size > 1 ? `${plural(names.size, 'tool')} · ` : '';
  const statistics = prefix + statsText(stats, calls.shares(names), calls.read);
  return [
    new vscode.CodeLens(range, {
      title: `${running}${row.name}, ${agoText(Date.now() - row.created_at)}`,
      tooltip: `Batch ${row.name} (${row.batch}). Choose another one…`,
      command: LENS_COMMANDS.choose,
      arguments: [query],
    }),
    new vscode.CodeLens(range, {
      title: statistics,
      tooltip: 'Show calls',
      command: LENS_COMMANDS.show,
      arguments: [query],
    }),
    ...(stats.errors === 0
      ? []
      : [
          new vscode.CodeLens(range, {
            title: `$(error)${NBSP}${stats.errors.toLocaleString('en')} failed`,
            tooltip: 'Show the calls that failed',
            command: LENS_COMMANDS.show,
            arguments: [{ ...query, errors: true } satisfies CallsQuery],
          }),
        ]),
  ];
}
