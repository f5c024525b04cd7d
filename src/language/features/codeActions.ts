/** Provides code actions: quick fixes and refactorings. */
import { type CodeAction, CodeActionKind, type Range } from 'vscode-languageserver-types';
import { fileKind } from '../../common/fileKinds.ts';
import type { Problem } from '../../config/source/problem.ts';
import { lspRange } from '../workspace/text.ts';
import type { Workspace } from '../workspace.ts';
import { quickFixes } from './actions/quickFixes.ts';
import { refactorings } from './actions/refactorings.ts';

interface ActionOptions {
  /** All problems of the file. */
  readonly problems: readonly Problem[];
  /** Whether the editor supports creating files. */
  readonly mayCreate: boolean;
  /** Requested kinds; undefined for all. */
  readonly only?: readonly string[];
}

export async function codeActions(
  workspace: Workspace,
  path: string,
  range: Range,
  { problems, mayCreate, only }: ActionOptions,
): Promise<CodeAction[]> {
  const isRequested = (kind: string): boolean =>
    only === undefined || only.some((requested) => kind === requested || kind.startsWith(`${requested}.`));
  const actions: CodeAction[] = [];
  if (isRequested(CodeActionKind.QuickFix)) {
    for (const problem of problems)
      if (rangesTouch(lspRange(problem), range)) actions.push(...(await quickFixes(workspace, problem)));
  }
  if (fileKind(path) !== undefined)
    actions.push(...(await refactorings(workspace, path, range)).filter(({ kind = '' }) => isRequested(kind)));
  return mayCreate
    ? actions
    : actions.filter(({ edit }) => edit?.documentChanges?.every((change) => 'textDocument' in change) ?? true);
}

/** Returns whether two ranges touch. */
function rangesTouch(a: Range, b: Range): boolean {
  const before = (one: Range['start'], other: Range['start']): boolean =>
    one.line < other.line || (one.line === other.line && one.character <= other.character);
  return before(a.start, b.end) && before(b.start, a.end);
}
