/** Implements "Create the tool": defines it in a module of the agent, or in a new one. */
import { type CodeAction, CodeActionKind } from 'vscode-languageserver-types';
import { fileKind } from '../../../common/fileKinds.ts';
import { dirname, joinPath, relative } from '../../../config/paths.ts';
import type { Problem } from '../../../config/source/problem.ts';
import { Lines } from '../../workspace/text.ts';
import type { Workspace } from '../../workspace.ts';
import { change, create, edit, insertion } from './edits.ts';
import { importText, moduleText, toolText } from './templates.ts';

/** Offers the action for an `answer: { tool }` that is not a tool of the agent. */
export async function newTool(workspace: Workspace, { file, line, column }: Problem): Promise<CodeAction[]> {
  if (fileKind(file) !== 'agent') return [];
  const answerTool = (await workspace.references(file)).find(
    (reference) => reference.kind === 'tool' && reference.range.line === line && reference.range.column === column,
  );
  if (answerTool?.path[0] !== 'answer' || !/^[A-Za-z_]\w*$/.test(answerTool.text)) return [];
  const actions: CodeAction[] = [];
  const modules = (await workspace.references(file)).flatMap((reference) =>
    reference.kind === 'module' && reference.file !== undefined ? [reference.file] : [],
  );
  for (const module of modules) {
    const text = await workspace.text(module);
    if (text === undefined) continue;
    const end = new Lines(text).positionAt(text.length);
    const changes = [
      {
        range: { start: end, end },
        newText: `${text.endsWith('\n') || text === '' ? '' : '\n'}\n${toolText(answerTool.text)}`,
      },
    ];
    const start = { line: 0, character: 0 };
    const missing = [
      ['tool', 'rollout-studio'],
      ['z', 'zod'],
    ]
      .filter(([name = '']) => !new RegExp(`^import\\b[^;]*\\b${name}\\b`, 'm').test(text))
      .map(([name = '', from = '']) => importText(name, from));
    if (missing.length > 0) changes.unshift({ range: { start, end: start }, newText: missing.join('') });
    actions.push({
      title: `Create the tool \`${answerTool.text}\` in ${relative(dirname(file), module)}`,
      kind: CodeActionKind.QuickFix,
      edit: edit(change(module, changes)),
    });
  }
  const parsed = await workspace.parsed(file);
  const module = joinPath(dirname(file), `../tools/${answerTool.text}.ts`);
  const entry = parsed === undefined ? undefined : newEntry(parsed, relative(dirname(file), module));
  if (entry !== undefined && (await workspace.files.stat(module)) === undefined) {
    actions.push({
      title: `Create the tool \`${answerTool.text}\` in the new module ${relative(dirname(file), module)}`,
      kind: CodeActionKind.QuickFix,
      edit: edit(...create(module, moduleText(file, module)), change(file, [entry])),
    });
  }
  return actions;
}

/** Inserts an entry at the top of `tools:`. */
function newEntry(
  parsed: NonNullable<Awaited<ReturnType<Workspace['parsed']>>>,
  module: string,
): ReturnType<typeof insertion> {
  const first = parsed.has(['tools', 0]) ? parsed.wholeRange(['tools', 0]) : undefined;
  if (first === undefined)
    return parsed.has(['tools']) ? undefined : insertion(parsed, [], 'tools', `[{ module: ${module} }]`);
  const before = new Lines(parsed.text).line(first.line - 1).slice(0, first.column - 1);
  if (!/^\s*- $/.test(before)) return undefined;
  const at = { line: first.line - 1, character: 0 };
  return { range: { start: at, end: at }, newText: `${before}module: ${module}\n` };
}
