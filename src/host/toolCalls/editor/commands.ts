/** Implements the commands for a tool in the editor: show its calls, and choose the batch for its statistics. */

import * as vscode from 'vscode';
import { StudioError } from '../../../common/errors.ts';
import { plural } from '../../../common/text.ts';
import { agoText, passRateText } from '../../views/batches/batchNodes.ts';
import { toolFileKind } from '../state/spots.ts';
import type { Figures } from '../state/toolFigures.ts';
import type { FiguredSpot, Lookup } from './lookup.ts';
import { type CallDocuments, type CallsOf, showCalls } from './showCalls.ts';

/** Shows the calls of the tool at the cursor. */
export async function showCallsHere(figures: Figures, lookup: Lookup, documents: CallDocuments): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const figured =
    editor === undefined ? undefined : spotAt(await lookup.figured(editor.document), editor.selection.active.line + 1);
  if (editor === undefined || figured === undefined)
    throw new StudioError('usage', 'There are no calls for a tool at the cursor.', {
      hint: 'Place the cursor on a tool that a batch has used.',
    });
  const {
    spot,
    figures: { row, names },
  } = figured;
  await showCalls(figures, documents, {
    uri: editor.document.uri.toString(),
    line: spot.line,
    column: spot.column,
    batch: row.batch,
    tools: [...names],
  });
}

/** Asks which batch to use for the statistics in a file. */
export async function chooseBatch(figures: Figures, lookup: Lookup, target: CallsOf | undefined): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const uri = target === undefined ? editor?.document.uri : vscode.Uri.parse(target.uri, true);
  const kind = uri === undefined ? undefined : toolFileKind(uri.path);
  if (uri === undefined || kind === undefined)
    throw new StudioError('usage', 'This file has no tools.', {
      hint: 'Open one that exports tools, or an agent file.',
    });
  const document = await vscode.workspace.openTextDocument(uri);
  const names = target?.tools ?? (await lookup.spots(document)).flatMap((spot) => spot.names ?? []);
  const rows = await figures.candidates(kind, uri.fsPath, names);
  const chosen = figures.chosen(uri.fsPath);
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
    detail: `${plural(row.tasks * row.attempts, 'attempt')} · ${row.batch}`,
    batch: row.batch,
  }));
  const picked = await vscode.window.showQuickPick([newest, ...items], {
    title: 'Batch for Tool Statistics',
    placeHolder: 'Select a batch',
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (picked !== undefined) await figures.choose(uri.fsPath, picked.batch);
}

/** Returns the tool at a line. A tool extends to the next one. */
function spotAt(spots: readonly FiguredSpot[], line: number): FiguredSpot | undefined {
  return spots.filter(({ spot }) => spot.line <= line).sort((a, b) => b.spot.line - a.spot.line)[0];
}
