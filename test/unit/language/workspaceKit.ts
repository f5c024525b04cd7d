/** A small in-memory workspace, places in it by their text, and applied edits. */
import type { Position, WorkspaceEdit } from 'vscode-languageserver-types';
import { type Facts, NO_FACTS } from '../../../src/language/workspace/facts.ts';
import { Lines } from '../../../src/language/workspace/text.ts';
import { pathOf } from '../../../src/language/workspace/uris.ts';
import { Workspace } from '../../../src/language/workspace.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';

export const DESK: Readonly<Record<string, string>> = {
  '/w/agents/desk.agent.yaml': `version: 1
name: desk
model: { endpoint: 'http://gpu:8000/v1', name: m, api_key: '\${env:KEY}' }
prompt: "../prompts/desk.md"
tools:
  - module: ../tools/index.ts
answer: { tool: submit }
`,
  '/w/agents/inline.agent.yaml': `version: 1
name: inline
model: { endpoint: 'http://gpu:8000/v1', name: m, api_key: '\${env:KEY}' }
prompt: |
  Find a book in {{task.meta.city}} with find_books, then submit it.
tools:
  - module: ../tools/books.ts
`,
  '/w/prompts/desk.md':
    'Books of {{task.meta.city}}: {{ task.question }}\n\nUse find_books once, and `submit` the answer. One may ' +
    'submit once.\n',
  '/w/tools/index.ts': "export { find_books } from './books.ts';\nexport * from './submit.js';\n",
  '/w/tools/books.ts':
    "import { tool } from 'rollout-studio';\nexport const find_books = tool({ description: 'find_books finds', " +
    'run: (args, { task }) => task.meta.city });\nexport const all = [find_books];\n',
  '/w/tools/submit.ts':
    "import { tool } from 'rollout-studio';\nexport const submit = tool({ description: 'The answer' });\n",
  '/w/worlds/library.ts':
    "import * as tools from '../tools/index.ts';\nexport const open = () => ({ tools: { find_books: " +
    'tools.find_books } });\n',
  '/w/worlds/library.world.yaml':
    "version: 1\nname: library\nkind: module\nmodule: library.ts\nperturb:\n  - { when: 'tool.name == " +
    '"find_books"\', p: 0.1, effect: error }\n',
  '/w/batches/one.batch.yaml':
    'version: 1\nagent: ../agents/desk.agent.yaml\nworld: ../worlds/library.world.yaml\ndataset: { file: ' +
    '../data/tasks.jsonl, answer: solution }\nscorer: { kind: exact }\n',
  '/w/batches/two.batch.yaml':
    'version: 1\nagent: ../agents/inline.agent.yaml\ndataset:\n  file: ../data/tasks.jsonl\n  answer: ' +
    'solution\nscorer: { kind: exact }\n',
  '/w/data/tasks.jsonl':
    '{"id": "a", "question": "Which?", "solution": "x", "city": "Oslo"}\n{"id": "b", "question": "What?", ' +
    '"solution": "y", "city": "Rome"}\n',
};

export function workspaceOf(files: Readonly<Record<string, string>> = DESK, facts: Facts = NO_FACTS): Workspace {
  return new Workspace(memoryFiles(files), ['/w'], facts);
}

/** The position in the middle of a text in the file. */
export async function at(workspace: Workspace, file: string, text: string): Promise<Position> {
  const lines = await workspace.lines(file);
  const offset = lines?.text.indexOf(text) ?? -1;
  if (lines === undefined || offset === -1) throw new Error(`${file} has no ${text}`);
  return lines.positionAt(offset + Math.floor(text.length / 2));
}

/** The files after an edit: those that changed, by their new names. */
export async function edited(workspace: Workspace, edit: WorkspaceEdit | undefined): Promise<Record<string, string>> {
  const result = new Map<string, string>();
  const lists =
    edit?.changes === undefined
      ? (edit?.documentChanges ?? [])
      : Object.entries(edit.changes).map(([uri, edits]) => ({ textDocument: { uri, version: null }, edits }));
  for (const change of lists) {
    if ('kind' in change) {
      if (change.kind !== 'rename') throw new Error(`no ${change.kind} is expected`);
      const old = pathOf(change.oldUri) ?? '';
      result.set(pathOf(change.newUri) ?? '', result.get(old) ?? (await workspace.text(old)) ?? '');
      result.delete(old);
      continue;
    }
    const path = pathOf(change.textDocument.uri) ?? '';
    const lines = new Lines((await workspace.text(path)) ?? '');
    const places = change.edits
      .flatMap((one) =>
        'newText' in one
          ? [{ start: lines.offsetAt(one.range.start), end: lines.offsetAt(one.range.end), text: one.newText }]
          : [],
      )
      .sort((a, b) => b.start - a.start);
    result.set(
      path,
      places.reduce((text, { start, end, text: put }) => text.slice(0, start) + put + text.slice(end), lines.text),
    );
  }
  return Object.fromEntries(result);
}
