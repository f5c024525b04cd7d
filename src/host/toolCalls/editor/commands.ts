/** Implements the commands for a tool in the editor: show its calls, and choose the batch for its statistics. */

import * as vscode from 'vscode';
import { StudioError } from '../../../common/errors.ts';
import { plural } from '../../../common/text.ts';
import { attemptCount } from '../../../trace/outcome.ts';
import { agoText, passRateText } from '../../views/batches/batchNodes.ts';
import { toolFileKind } from '../state/toolLocations.ts';
import type { ToolStatistics } from '../state/toolStatistics.ts';
import type { LocatedStatistics, ToolLookup } from './lookup.ts';
import { type CallDocuments, type CallsQuery, showCalls } from './showCalls.ts';

/** Shows the calls of the tool at the cursor. */
export async function showCallsHere(
  statistics: ToolStatistics,
  lookup: ToolLookup,
  documents: CallDocuments,
): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const found =
    editor === undefined
      ? undefined
      : statisticsAt(await lookup.statistics(editor.document), editor.selection.active.line + 1);
  if (editor === undefined || found === undefined)
    throw new StudioError('usage', 'There are no calls for a tool at the cursor.', {
      hint: 'Place the cursor on a tool that a batch has used.',
    });
  const {
    location,
    statistics: { row, names },
  } = found;
  await showCalls(statistics, documents, {
    uri: editor.document.uri.toString(),
    line: location.line,
    column: location.column,
    batch: row.batch,
    tools: [...names],
  });
}

/** Asks which batch to use for the statistics in a file. */
export async function chooseBatch(
  statistics: ToolStatistics,
  lookup: ToolLookup,
  target: CallsQuery | undefined,
): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const uri = target === undefined ? editor?.document.uri : vscode.Uri.parse(target.uri, true);
  const kind = uri === undefined ? undefined : toolFileKind(uri.path);
  if (uri === undefined || kind === undefined)
    throw new StudioError('usage', 'This file has no tools.', {
      hint: 'Open one that exports tools, or an agent file.',
    });
  const document = await vscode.workspace.openTextDocument(uri);
  const names = target?.tools ?? (await lookup.locations(document)).flatMap((location) => location.names ?? []);
  const rows = await statistics.candidates(kind, uri.fsPath, names);
  const chosen = statistics.chosenBatch(uri.fsPath);
  const newest = {
    label: '$(history) Newest',
    description: 'that used the tool',
    batch: undefined,
    picked: chosen === undefined,
  };
  const items = rows.map((row) => ({
    label: row.name,
    description: [row.batch === chosen ? 'chosen' : '', agoText(Date.now() - row.created_at), passRateText(row)]
      .filter((part) => part !== '')
      .join(' · '),
    detail: `${plural(attemptCount(row), 'attempt')} · ${row.batch}`,
    batch: row.batch,
  }));
  const picked = await vscode.window.showQuickPick([newest, ...items], {
    title: 'Batch for Tool Statistics',
    placeHolder: 'Select a batch',
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (picked !== undefined) await statistics.choose(uri.fsPath, picked.batch);
}

/** Returns the tool at a line. A tool extends to the next one. */
function statisticsAt(locations: readonly LocatedStatistics[], line: number): LocatedStatistics | undefined {
  return locations.filter(({ location }) => location.line <= line).sort((a, b) => b.location.line - a.location.line)[0];
}
