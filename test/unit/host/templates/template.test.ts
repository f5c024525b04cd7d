import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { checkFiles } from '../../../../src/config/checkFiles.ts';
import { toolsIn } from '../../../../src/config/tools/toolSource.ts';
import { fill, nameProblem, type TemplateKind, templateSet } from '../../../../src/host/templates/template.ts';
import { memoryFiles } from '../../../support/memoryFiles.ts';

const folder = path.resolve(import.meta.dirname, '../../../../media/templates');
const template = (name: string): string => readFileSync(path.join(folder, name), 'utf8').replaceAll('\r\n', '\n');

/** The files that a command writes, by path. */
function written(kind: TemplateKind, name: string, more: Record<string, string> = {}): Record<string, string> {
  const { main, references } = templateSet(kind, name);
  return Object.fromEntries(
    [main, ...references].map((file) => [
      file.path,
      fill(template(file.template), { NAME: name, AGENT: '../agents/clerk.agent.yaml', ...more }).text,
    ]),
  );
}

describe('the templates', () => {
  it('create an agent and a batch without problems', async () => {
    const files = memoryFiles({ ...written('agent', 'clerk'), ...written('batch', 'first') });
    assert.deepEqual(await checkFiles(files, ['agents/clerk.agent.yaml', 'batches/first.batch.yaml']), []);
  });
  it('create worlds without problems', async () => {
    const published = {
      'awm/gen_scenario.jsonl': '{"name": "library", "description": "Books."}\n',
      ...written('codeWorld', 'shelves', { FORMAT: 'awm', FROM: '"../awm"' }),
    };
    const files = memoryFiles({ ...written('world', 'notes'), ...published });
    assert.deepEqual(await checkFiles(files, ['worlds/notes.world.yaml', 'worlds/shelves.world.yaml']), []);
    assert.match(written('world', 'notes')['worlds/notes.ts'] ?? '', /^export const open: OpenWorld<State> = /m);
  });
  it('create a tool with the requested name', () => {
    const text = written('tool', 'count_words')['tools/count_words.ts'] ?? '';
    assert.deepEqual(
      toolsIn(text).map(({ name, description }) => [name, description]),
      [['count_words', 'Counts the words in a text.']],
    );
  });
  it('create a Python tool with the requested name', () => {
    const text = written('pythonTool', 'count_words')['tools/count_words.py'] ?? '';
    assert.match(text, /^def count_words\(text\):$/m);
    assert.match(text, /args: \[count_words\.py\], cwd: \.\.\/tools/);
    assert.deepEqual(
      [nameProblem('pythonTool', 'lambda'), nameProblem('pythonTool', 'void')],
      ['lambda is a reserved word in Python.', undefined],
    );
  });
  it('leave no placeholder behind, and put the cursor at the first thing to change', () => {
    for (const [kind, begin] of [
      ['agent', 'http://'],
      ['tool', 'Counts'],
      ['pythonTool', 'Counts'],
      ['world', 'x.ts'],
      ['codeWorld', 'Tasks'],
      ['batch', '../data/'],
    ] as const) {
      const { text, cursor } = fill(template(templateSet(kind, 'x').main.template), {
        ...{ NAME: 'x', AGENT: 'a', FORMAT: 'awm', FROM: 'y' },
      });
      assert.doesNotMatch(text, /__[A-Z]+__/);
      assert.ok(text.split('\n')[cursor.line]?.slice(cursor.column).startsWith(begin), kind);
    }
    assert.deepEqual(fill('a __OTHER__', {}), { text: 'a __OTHER__', cursor: { line: 0, column: 0 } });
  });
});

describe('the name of a new file', () => {
  it('is valid for files and models', () => {
    assert.equal(nameProblem('agent', 'my-agent_2'), undefined);
    assert.equal(nameProblem('tool', 'count_words'), undefined);
    for (const name of ['', '-x', '../x', 'a b', 'a/b', 'x'.repeat(65)])
      assert.notEqual(nameProblem('batch', name), undefined, name);
    for (const name of ['', '2x', 'a-b', 'delete', 'tool', 'ä'])
      assert.notEqual(nameProblem('tool', name), undefined, name);
  });
});
