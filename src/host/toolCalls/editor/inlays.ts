/** Provides inlay hints after the parameters of a tool's `run`: the arguments and result of its last call. */
import * as vscode from 'vscode';
import { argumentsLine, cut, resultLine } from '../../../trace/toolCalls/text.ts';
import type { ToolLookup } from './lookup.ts';

const WIDTH = 60;

export async function toolInlays(
  lookup: ToolLookup,
  document: vscode.TextDocument,
  range: vscode.Range,
): Promise<vscode.InlayHint[]> {
  const hints: vscode.InlayHint[] = [];
  for (const {
    location,
    statistics: { calls, names, row },
  } of await lookup.statistics(document)) {
    const last = calls.calls(names).find(({ values }) => values !== undefined);
    if (location.parameters === undefined || last === undefined) continue;
    const at = new vscode.Position(location.parameters.line - 1, location.parameters.column - 1);
    if (!range.contains(at)) continue;
    const hint = new vscode.InlayHint(at, `${cut(argumentsLine(last), WIDTH)} ${cut(resultLine(last), WIDTH)}`);
    hint.paddingLeft = true;
    hint.tooltip = `The last call in ${row.name}`;
    hints.push(hint);
  }
  return hints;
}
