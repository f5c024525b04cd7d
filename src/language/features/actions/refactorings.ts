/** Provides refactorings: extract an inline prompt to a file, and add an agent to a batch. */
import { type CodeAction, CodeActionKind, type Range } from 'vscode-languageserver-types';
import { fileKind } from '../../../common/fileKinds.ts';
import { basename, dirname, joinPath, relative } from '../../../config/paths.ts';
import { isPromptPath } from '../../../config/prompt.ts';
import { MAX_PARTS, PART_NAME } from '../../../config/schema/mixSection.ts';
import type { Path } from '../../../config/source/parse.ts';
import { lspRange } from '../../workspace/text.ts';
import { valueAt } from '../../workspace/valueAt.ts';
import type { Workspace } from '../../workspace.ts';
import { change, create, edit } from './edits.ts';

const PROMPTS: readonly Path[] = [
  ['prompt'],
  ['user', 'prompt'],
  ['scorer', 'rubric'],
  ...Array.from({ length: MAX_PARTS }, (_, part): Path => ['mix', part, 'prompt']),
];

export async function refactorings(workspace: Workspace, path: string, range: Range): Promise<CodeAction[]> {
  return [...(await extractPrompt(workspace, path, range)), ...(await addToBatch(workspace, path, range))];
}

/** Extracts the prompt at the cursor to a file. */
async function extractPrompt(workspace: Workspace, path: string, { start }: Range): Promise<CodeAction[]> {
  const parsed = await workspace.parsed(path);
  if (parsed === undefined) return [];
  for (const at of PROMPTS) {
    const text = valueAt(parsed.value, at);
    const [key, whole] = [parsed.keyRange(at), parsed.wholeRange(at)];
    if (
      typeof text !== 'string' ||
      text.trim() === '' ||
      isPromptPath(text) ||
      key === undefined ||
      whole === undefined
    )
      continue;
    const keyStart = lspRange(key).start;
    const place = lspRange(whole);
    if (start.line < keyStart.line || start.line > place.end.line) continue;
    const name = `${basename(path).replace(/\.\w+\.\w+$/, '')}${endingOf(at, parsed.value)}`;
    const file = await unusedPath(workspace, joinPath(dirname(path), `../prompts/${name}`), '.md');
    const written = relative(dirname(path), file);
    return [
      {
        title: `Extract the ${String(at.at(-1))} to ${written}`,
        kind: CodeActionKind.RefactorExtract,
        edit: edit(
          ...create(file, text.endsWith('\n') ? text : `${text}\n`),
          change(path, [{ range: place, newText: written }]),
        ),
      },
    ];
  }
  return [];
}

/** Returns how the name of a prompt's file ends, to tell it from others of the same YAML file. */
function endingOf(at: Path, value: unknown): string {
  const [root, index] = at;
  if (root === 'prompt') return '';
  if (root !== 'mix' || typeof index !== 'number') return root === 'scorer' ? '-rubric' : '-user';
  const name = valueAt(value, ['mix', index, 'name']);
  return `-${typeof name === 'string' && PART_NAME.test(name) ? name : `part-${index + 1}`}`;
}

/** Adds the agent to a new batch, or replaces the agent of an existing one. */
async function addToBatch(workspace: Workspace, path: string, { start }: Range): Promise<CodeAction[]> {
  if (fileKind(path) !== 'agent') return [];
  const parsed = await workspace.parsed(path);
  // Offered only on the first keys of the file, to avoid noise elsewhere.
  const place = parsed?.at(start.line + 1, start.character + 1);
  if (place === undefined || (place.path[0] !== 'name' && place.path[0] !== 'version')) return [];
  const batches = (await workspace.configFiles()).filter((other) => fileKind(other) === 'batch');
  const users = new Set((await workspace.mentionsOf(path)).map(({ file }) => file));
  const replacements = (
    await Promise.all(batches.filter((batch) => !users.has(batch)).map((batch) => replaceAgent(workspace, batch, path)))
  ).flat();
  return batches.some((batch) => users.has(batch))
    ? replacements
    : [await newBatch(workspace, path, batches), ...replacements];
}

async function newBatch(workspace: Workspace, path: string, batches: readonly string[]): Promise<CodeAction> {
  const name = basename(path).replace(/\.agent\.\w+$/, '');
  const file = await unusedPath(workspace, joinPath(dirname(path), `../batches/${name}`), '.batch.yaml');
  const [dataset] = (await Promise.all(batches.map((batch) => workspace.references(batch))))
    .flat()
    .filter(({ kind }) => kind === 'dataset');
  const data = dataset?.file ?? joinPath(dirname(file), `../data/${name}.jsonl`);
  const text = [
    'version: 1',
    `agent: ${relative(dirname(file), path)}`,
    `dataset: { file: ${relative(dirname(file), data)} }`,
    'attempts: 4',
    'scorer: { kind: exact }',
    '',
  ].join('\n');
  const changes = create(file, text);
  if ((await workspace.files.stat(data)) === undefined)
    changes.push(...create(data, `${JSON.stringify({ id: 'first', question: 'What is 2 + 2?', answer: '4' })}\n`));
  return { title: `Add to the new batch ${relative(dirname(path), file)}`, kind: 'source', edit: edit(...changes) };
}

/** Replaces the agent of a batch, which has only one. */
async function replaceAgent(workspace: Workspace, batch: string, agent: string): Promise<CodeAction[]> {
  const written = (await workspace.parsed(batch))?.wholeRange(['agent']);
  if (written === undefined) return [];
  return [
    {
      title: `Replace the agent of ${relative(dirname(agent), batch)}`,
      kind: 'source',
      edit: edit(change(batch, [{ range: lspRange(written), newText: relative(dirname(batch), agent) }])),
    },
  ];
}

/** Returns an unused path: `desk.md`, `desk-2.md`, … */
async function unusedPath(workspace: Workspace, base: string, extension: string): Promise<string> {
  for (let number = 1; ; number++) {
    const path = `${base}${number === 1 ? '' : `-${number}`}${extension}`;
    if ((await workspace.files.stat(path)) === undefined) return path;
  }
}
