/** Commands at a tool in the editor: its calls, and of which batch its figures are. */

import * as vscode from 'vscode';
import { StudioError } from '../../../common/errors.ts';
import { plural } from '../../../common/text.ts';
import { agoText, passRateText } from '../../views/batches/batchNodes.ts';
import { toolFileKind } from '../state/spots.ts';
import type { Figures } from '../state/toolFigures.ts';
import type { FiguredSpot, Lookup } from './lookup.ts';
import { type CallDocuments, type CallsOf, showCalls } from './showCalls.ts';

/** Calls of the tool that the cursor is in. */
export async function showCallsHere(figures: Figures, lookup: Lookup, documents: CallDocuments): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const found =
    editor === undefined ? undefined : spotAt(await lookup.figured(editor.document), editor.selection.active.line + 1);
  if (editor === undefined || found === undefined)
    throw new StudioError('usage', 'There is no tool with calls here.', {
      hint: 'Put the cursor on a tool that a batch has used.',
    });
  const {
    spot,
    figures: { row, names },
  } = found;
  await showCalls(figures, documents, {
    uri: editor.document.uri.toString(),
    line: spot.line,
    column: spot.column,
    batch: row.batch,
    tools: [...names],
  });
}

/** Asks of which batch the figures in a file are. */
export async function chooseBatch(figures: Figures, lookup: Lookup, asked: CallsOf | undefined): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const uri = asked === undefined ? editor?.document.uri : vscode.Uri.parse(asked.uri, true);
  const kind = uri === undefined ? undefined : toolFileKind(uri.path);
  if (uri === undefined || kind === undefined)
    throw new StudioError('usage', 'This file has no tools.', {
      hint: 'Open one that exports tools, or an agent file.',
    });
  const document = await vscode.workspace.openTextDocument(uri);
  const names = asked?.tools ?? (await lookup.spots(document)).flatMap((spot) => spot.names ?? []);
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
    title: 'Figures of Tools',
    placeHolder: 'Select a batch',
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (picked !== undefined) await figures.choose(uri.fsPath, picked.batch);
}

/** A tool reaches to the next one. */
function spotAt(spots: readonly FiguredSpot[], line: number): FiguredSpot | undefined {
  return spots.filter(({ spot }) => spot.line <= line).sort((a, b) => b.spot.line - a.spot.line)[0];
}
