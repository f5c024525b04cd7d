/** Code actions: what fixes a problem, and what turns one thing into another. */

import { type CodeAction, CodeActionKind, type Range } from 'vscode-languageserver-types';
import { fileKind } from '../../common/fileKinds.ts';
import type { Problem } from '../../config/source/problem.ts';
import { lspRange } from '../workspace/text.ts';
import type { Workspace } from '../workspace.ts';
import { quickFixes } from './actions/quickFixes.ts';
import { refactorings } from './actions/refactorings.ts';

export interface ActionOptions {
  /** All problems of the file. */
  readonly problems: readonly Problem[];
  /** Whether the editor can make files. */
  readonly mayCreate: boolean;
  /** Kinds that are asked for; absent: all. */
  readonly only?: readonly string[];
}

export async function codeActions(
  workspace: Workspace,
  path: string,
  range: Range,
  { problems, mayCreate, only }: ActionOptions,
): Promise<CodeAction[]> {
  const wanted = (kind: string): boolean =>
    only === undefined || only.some((asked) => kind === asked || kind.startsWith(`${asked}.`));
  const actions: CodeAction[] = [];
  if (wanted(CodeActionKind.QuickFix)) {
    for (const problem of problems)
      if (meet(lspRange(problem), range)) actions.push(...(await quickFixes(workspace, problem)));
  }
  if (fileKind(path) !== undefined)
    actions.push(...(await refactorings(workspace, path, range)).filter(({ kind = '' }) => wanted(kind)));
  return mayCreate
    ? actions
    : actions.filter(({ edit }) => edit?.documentChanges?.every((change) => 'textDocument' in change) ?? true);
}

/** Whether two ranges touch. */
function meet(a: Range, b: Range): boolean {
  const before = (one: Range['start'], other: Range['start']): boolean =>
    one.line < other.line || (one.line === other.line && one.character <= other.character);
  return before(a.start, b.end) && before(b.start, a.end);
}
