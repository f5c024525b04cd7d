/** Provides CodeLenses on tools: the batch, its statistics, and failed calls. */
import * as vscode from 'vscode';
import { plural } from '../../../common/text.ts';
import { statsText } from '../../../trace/toolCalls/text.ts';
import { NBSP } from '../../codelens/lensText.ts';
import { agoText } from '../../views/batches/batchNodes.ts';
import { COMMANDS_OF_LENSES } from '../lensCommands.ts';
import { type FiguredSpot, type Lookup, rangeOf } from './lookup.ts';
import type { CallsOf } from './showCalls.ts';

export async function toolLenses(lookup: Lookup, document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
  return (await lookup.figured(document)).flatMap((each) => lensesOf(each, document.uri));
}

function lensesOf({ spot, figures: { row, calls, names } }: FiguredSpot, uri: vscode.Uri): vscode.CodeLens[] {
  const range = rangeOf(spot);
  const stats = calls.stats(names);
  const query: CallsOf = {
    uri: uri.toString(),
    line: spot.line,
    column: spot.column,
    batch: row.batch,
    tools: [...names],
  };
  const running = row.state === 'ended' ? `$(history)${NBSP}` : `$(loading~spin)${NBSP}`;
  const prefix = names.size > 1 ? `${plural(names.size, 'tool')} · ` : '';
  const figures = prefix + statsText(stats, calls.shares(names), calls.read);
  return [
    new vscode.CodeLens(range, {
      title: `${running}${row.name}, ${agoText(Date.now() - row.created_at)}`,
      tooltip: `Batch ${row.name} (${row.batch}). Choose another one…`,
      command: COMMANDS_OF_LENSES.choose,
      arguments: [query],
    }),
    new vscode.CodeLens(range, {
      title: figures,
      tooltip: 'Show calls',
      command: COMMANDS_OF_LENSES.show,
      arguments: [query],
    }),
    ...(stats.errors === 0
      ? []
      : [
          new vscode.CodeLens(range, {
            title: `$(error)${NBSP}${stats.errors.toLocaleString('en')} failed`,
            tooltip: 'Show the calls that failed',
            command: COMMANDS_OF_LENSES.show,
            arguments: [{ ...query, errors: true } satisfies CallsOf],
          }),
        ]),
  ];
}
