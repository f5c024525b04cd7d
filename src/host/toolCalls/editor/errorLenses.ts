/** Provides CodeLenses over the lines of an extracted scenario's code where calls failed. */
import * as vscode from 'vscode';
import { plural } from '../../../common/text.ts';
import { NBSP } from '../../codelens/lensText.ts';
import { agoText } from '../../views/batches/batchNodes.ts';
import { LENS_COMMANDS } from '../ids.ts';
import type { ToolStatistics } from '../state/toolStatistics.ts';
import { errorsIn } from './documentErrors.ts';
import type { CallsQuery } from './showCalls.ts';

export async function errorLenses(
  statistics: ToolStatistics,
  document: vscode.TextDocument,
): Promise<vscode.CodeLens[]> {
  const errors = await errorsIn(statistics, document);
  if (errors === undefined) return [];
  const { batch, file, lines } = errors;
  const { row, calls } = batch;
  return lines.map(({ error: { line, count, messages }, range }) => {
    const query: CallsQuery = {
      uri: document.uri.toString(),
      line: range.start.line + 1,
      column: range.start.character + 1,
      batch: row.batch,
      tools: [...calls.tools],
      errors: true,
      at: { file, line },
    };
    return new vscode.CodeLens(range, {
      title: `$(error)${NBSP}${plural(count, 'call')} failed here`,
      tooltip: `${messages[0]?.text ?? ''}\n${row.name}, ${agoText(Date.now() - row.created_at)}: show the calls`,
      command: LENS_COMMANDS.show,
      arguments: [query],
    });
  });
}
