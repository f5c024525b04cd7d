import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { renameFiles } from '../../../src/language/features/fileRenames.ts';
import { findReferences } from '../../../src/language/features/references.ts';
import { prepareRename, rename } from '../../../src/language/features/rename.ts';
import { Lines, lspRange, rangeOf } from '../../../src/language/workspace/text.ts';
import { pathOf } from '../../../src/language/workspace/uris.ts';
import type { Workspace } from '../../../src/language/workspace.ts';
import { at, DESK, edited, workspaceOf } from './workspaceKit.ts';

async function renderRename(workspace: Workspace, file: string, text: string): Promise<string[]> {
  const found = await findReferences(workspace, file, await at(workspace, file, text), { declaration: true });
  const places = found.map(async ({ uri, range }) => {
    const path = pathOf(uri) ?? '';
    const lines = new Lines((await workspace.text(path)) ?? '');
    return `${path}:${range.start.line + 1} ${lines.slice(rangeOf(range))}`;
  });
  return (await Promise.all(places)).sort();
}

/** The changed files, each as it was with one text in place of another. */
function replaced(changes: Readonly<Record<string, readonly [string, string][]>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(changes).map(([file, pairs]) => [
      file,
      pairs.reduce((text, [old, put]) => {
        assert.ok(text.includes(old), `${file} has ${old}`);
        return text.replaceAll(old, put);
      }, DESK[file] ?? ''),
    ]),
  );
}

const TOOL_PLACES = [
  '/w/agents/inline.agent.yaml:5 find_books',
  '/w/prompts/desk.md:3 find_books',
  '/w/tools/books.ts:2 find_books',
  '/w/tools/books.ts:3 find_books',
  '/w/tools/index.ts:1 find_books',
  '/w/worlds/library.ts:2 find_books',
  '/w/worlds/library.world.yaml:6 find_books',
];

test('a tool is found at every place, from any of them', async () => {
  const workspace = workspaceOf();
  for (const [file, text] of [
    ['/w/tools/books.ts', 'find_books = tool'],
    ['/w/prompts/desk.md', 'find_books'],
    ['/w/agents/inline.agent.yaml', 'find_books'],
    ['/w/tools/index.ts', 'find_books'],
  ] as const) {
    assert.deepEqual(await renderRename(workspace, file, text), TOOL_PLACES, file);
  }
});

test('a tool is renamed in code, prompts, and files; equal words are not', async () => {
  const workspace = workspaceOf();
  const edit = await rename(
    workspace,
    '/w/agents/desk.agent.yaml',
    await at(workspace, '/w/agents/desk.agent.yaml', 'submit'),
    'give_answer',
  );
  assert.deepEqual(
    await edited(workspace, edit),
    replaced({
      '/w/agents/desk.agent.yaml': [['tool: submit', 'tool: give_answer']],
      '/w/prompts/desk.md': [['`submit`', '`give_answer`']],
      '/w/tools/submit.ts': [['const submit', 'const give_answer']],
    }),
  );
});

test('an invalid tool name is refused, with a hint', async () => {
  const workspace = workspaceOf();
  const position = await at(workspace, '/w/tools/submit.ts', 'submit = tool');
  await assert.rejects(
    rename(workspace, '/w/tools/submit.ts', position, 'no name'),
    (error) => StudioError.is(error, 'usage') && /letters, digits/.test(error.hint ?? ''),
  );
});

test('a tool cannot take an existing name', async () => {
  const workspace = workspaceOf({
    ...DESK,
    '/w/tools/index.ts': "import { count } from './count.ts';\n" + (DESK['/w/tools/index.ts'] ?? ''),
    '/w/agents/inline.agent.yaml': `${DESK['/w/agents/inline.agent.yaml'] ?? ''}  - builtin: [calculator]\n`,
  });
  const file = '/w/tools/books.ts';
  const position = await at(workspace, file, 'find_books = tool');
  for (const [name, where] of [
    ['all', 'books.ts'], // of its own module
    ['tool', 'books.ts'], // imported there
    ['count', 'index.ts'], // imported where it is passed on
    ['submit', 'desk.agent.yaml'], // another tool of the same agent
    ['calculate', 'inline.agent.yaml'], // a built-in one
  ] as const)
    await assert.rejects(
      rename(workspace, file, position, name),
      (error) =>
        StudioError.is(error, 'usage') &&
        error.message === `${where} already has \`${name}\`.` &&
        error.hint === 'Choose another name.',
      name,
    );
  // A parameter of the same name is not a tool.
  assert.ok((await rename(workspace, file, position, 'args')) !== undefined);
});

test('a column is renamed in the dataset, in prompts, and in code; the fields of a task keep their names', async () => {
  const workspace = workspaceOf();
  const edit = await rename(
    workspace,
    '/w/prompts/desk.md',
    await at(workspace, '/w/prompts/desk.md', 'meta.city'),
    'town',
  );
  assert.deepEqual(
    await edited(workspace, edit),
    replaced({
      '/w/data/tasks.jsonl': [['"city"', '"town"']],
      '/w/prompts/desk.md': [['meta.city', 'meta.town']],
      '/w/agents/inline.agent.yaml': [['meta.city', 'meta.town']],
      '/w/tools/books.ts': [['meta.city', 'meta.town']],
    }),
  );
  const answer = await rename(
    workspace,
    '/w/batches/one.batch.yaml',
    await at(workspace, '/w/batches/one.batch.yaml', 'solution'),
    'truth',
  );
  assert.deepEqual(Object.keys(await edited(workspace, answer)).sort(), [
    '/w/batches/one.batch.yaml',
    '/w/batches/two.batch.yaml',
    '/w/data/tasks.jsonl',
  ]);
});

test('a column that is read by its default name, and an existing new name, are refused', async () => {
  const workspace = workspaceOf();
  await assert.rejects(
    prepareRename(workspace, '/w/prompts/desk.md', await at(workspace, '/w/prompts/desk.md', 'task.question')),
    (error) => StudioError.is(error, 'usage') && /question: question/.test(error.hint ?? ''),
  );
  await assert.rejects(
    rename(workspace, '/w/data/tasks.jsonl', await at(workspace, '/w/data/tasks.jsonl', 'city'), 'solution'),
    /already/,
  );
});

test('a file is renamed with every path that names it', async () => {
  const workspace = workspaceOf();
  const batch = '/w/batches/one.batch.yaml';
  const edit = await rename(workspace, batch, await at(workspace, batch, 'desk.agent.yaml'), 'front.agent.yaml');
  assert.deepEqual(await edited(workspace, edit), {
    ...replaced({ [batch]: [['desk.agent.yaml', 'front.agent.yaml']] }),
    '/w/agents/front.agent.yaml': DESK['/w/agents/desk.agent.yaml'],
  });
  const agent = '/w/agents/inline.agent.yaml';
  const module = await rename(workspace, agent, await at(workspace, agent, 'books.ts'), 'shelf.ts');
  assert.deepEqual(await edited(workspace, module), {
    ...replaced({ [agent]: [['books.ts', 'shelf.ts']], '/w/tools/index.ts': [['./books.ts', './shelf.ts']] }),
    '/w/tools/shelf.ts': DESK['/w/tools/books.ts'],
  });
  const agentName = await at(workspace, batch, 'desk.agent.yaml');
  await assert.rejects(rename(workspace, batch, agentName, 'front.yaml'), /different extension/);
  await assert.rejects(
    rename(workspace, batch, await at(workspace, batch, 'desk.agent.yaml'), 'inline.agent.yaml'),
    /already/,
  );
});

test('only the name itself is marked for a rename, and nothing elsewhere', async () => {
  const workspace = workspaceOf();
  const agent = '/w/agents/desk.agent.yaml';
  const lines = new Lines(DESK[agent] ?? '');
  const found = await prepareRename(workspace, agent, await at(workspace, agent, '../prompts/desk.md'));
  assert.equal(found?.placeholder, 'desk.md');
  assert.deepEqual(found.range, lspRange(lines.range(lines.text.indexOf('desk.md'), 'desk.md'.length)));
  assert.equal((await prepareRename(workspace, agent, await at(workspace, agent, 'KEY')))?.placeholder, 'KEY');
  assert.equal(await prepareRename(workspace, agent, await at(workspace, agent, 'version')), undefined);
  assert.equal(
    await prepareRename(workspace, '/w/tools/books.ts', await at(workspace, '/w/tools/books.ts', 'description')),
    undefined,
  );
});

test('an environment variable is found in all files', async () => {
  assert.deepEqual(await renderRename(workspaceOf(), '/w/agents/desk.agent.yaml', 'KEY'), [
    '/w/agents/desk.agent.yaml:3 KEY',
    '/w/agents/inline.agent.yaml:3 KEY',
  ]);
});

test('a file that was moved in the explorer has its references, and those to it, updated', async () => {
  const workspace = workspaceOf();
  const folder = await renameFiles(workspace, [{ from: '/w/tools', to: '/w/desk/code' }]);
  assert.deepEqual(
    await edited(workspace, folder),
    replaced({
      '/w/agents/desk.agent.yaml': [['../tools/index.ts', '../desk/code/index.ts']],
      '/w/agents/inline.agent.yaml': [['../tools/books.ts', '../desk/code/books.ts']],
    }),
  );
  const agent = await renameFiles(workspace, [{ from: '/w/agents/desk.agent.yaml', to: '/w/main.agent.yaml' }]);
  assert.deepEqual(
    await edited(workspace, agent),
    replaced({
      '/w/agents/desk.agent.yaml': [
        ['../tools/index.ts', 'tools/index.ts'],
        ['../prompts/desk.md', 'prompts/desk.md'],
      ],
      '/w/batches/one.batch.yaml': [['../agents/desk.agent.yaml', '../main.agent.yaml']],
    }),
  );
});
