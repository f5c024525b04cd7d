/** Provides quick fixes based on a problem's code and data, never its message. */
import { type CodeAction, CodeActionKind, type TextEdit } from 'vscode-languageserver-types';
import { fileKind } from '../../../common/fileKinds.ts';
import { dirname, relative } from '../../../config/paths.ts';
import type { Path } from '../../../config/source/parse.ts';
import type { Fix, Problem } from '../../../config/source/problem.ts';
import { pathText } from '../../../config/source/validate.ts';
import { diagnosticOf } from '../../diagnostics/diagnostic.ts';
import type { Workspace } from '../../workspace.ts';
import { change, create, edit, insertion, removal, replacement } from './edits.ts';
import { newTool } from './newTool.ts';
import { moduleText, promptText } from './templates.ts';

/** Problems that are fixed by removing their subject. */
const REMOVABLE: readonly Problem['code'][] = ['unknown_key', 'conflict', 'not_yet'];

export async function quickFixes(workspace: Workspace, problem: Problem): Promise<CodeAction[]> {
  const fixes = [...(problem.fixes ?? []), ...(await removalFixes(workspace, problem))];
  const actions: CodeAction[] = [];
  for (const [index, fix] of fixes.entries()) {
    const action = await actionFor(workspace, problem, fix);
    if (action !== undefined)
      actions.push({
        ...action,
        kind: CodeActionKind.QuickFix,
        diagnostics: [diagnosticOf(problem)],
        ...(index === 0 && (problem.fixes?.length ?? 0) === 1 ? { isPreferred: true } : {}),
      });
  }
  if (problem.code === 'unknown_tool')
    actions.push(
      ...(await newTool(workspace, problem)).map((action) => ({ ...action, diagnostics: [diagnosticOf(problem)] })),
    );
  return actions;
}

async function removalFixes(workspace: Workspace, problem: Problem): Promise<Fix[]> {
  if (!REMOVABLE.includes(problem.code) || fileKind(problem.file) === undefined) return [];
  const place = (await workspace.parsed(problem.file))?.at(problem.line, problem.column);
  return place === undefined ? [] : [{ do: 'remove', path: entryOf(place.path) }];
}

/** For `tools[1].module`, returns the whole entry, which requires the module. */
function entryOf(path: Path): Path {
  const [top, index, key] = path;
  return top === 'tools' && typeof index === 'number' && key === 'module' ? [top, index] : path;
}

async function actionFor(
  workspace: Workspace,
  problem: Problem,
  fix: Fix,
): Promise<Pick<CodeAction, 'title' | 'edit'> | undefined> {
  const { file } = problem;
  const parsed = await workspace.parsed(file);
  const editFile = (title: string, changed: TextEdit | undefined): Pick<CodeAction, 'title' | 'edit'> | undefined =>
    changed === undefined ? undefined : { title, edit: edit(change(file, [changed])) };
  switch (fix.do) {
    case 'replace':
      return editFile(
        fix.text === ''
          ? 'Remove'
          : problem.code === 'secret'
            ? `Replace with ${fix.text}`
            : `Change to \`${fix.text}\``,
        replacement(problem, fix.text),
      );
    case 'remove':
      return parsed === undefined ? undefined : editFile(`Remove \`${pathText(fix.path)}\``, removal(parsed, fix.path));
    case 'insert':
      return parsed === undefined
        ? undefined
        : editFile(`Add \`${fix.key}: ${fix.value}\``, insertion(parsed, fix.path, fix.key, fix.value));
    case 'create': {
      if (fix.role === 'file') return undefined;
      const title = `Create ${relative(dirname(file), fix.file)}`;
      return {
        title,
        edit: edit(...create(fix.file, fix.role === 'prompt' ? promptText() : moduleText(file, fix.file))),
      };
    }
  }
}
