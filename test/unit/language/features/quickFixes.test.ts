// Each applied fix leaves a file without its problem.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TextDocumentEdit } from 'vscode-languageserver-types';
import { checkFile } from '../../../../src/language/diagnostics/check.ts';
import { codeActions } from '../../../../src/language/features/codeActions.ts';
import { Lines, lspRange } from '../../../../src/language/workspace/text.ts';
import { pathOf } from '../../../../src/language/workspace/uris.ts';
import { workspaceOf } from '../workspaceKit.ts';

const OK = "version: 1\nname: desk\nmodel: { endpoint: 'demo:', name: demo }\nprompt: Go on.\n";
const BATCH = 'version: 1\nagent: a.agent.yaml\ndataset: { file: t.jsonl }\nscorer: { kind: exact }\n';
const TASKS = '{"id":"a","Frage":"Wer?","answer":"x"}\n';

/** Applies the first fix with a matching title to the first problem of the code, and returns the files after it. */
async function fixed(
  files: Readonly<Record<string, string>>,
  file: string,
  code: string,
  title: RegExp,
): Promise<{ files: Record<string, string>; titles: string[] }> {
  const workspace = workspaceOf(files);
  const { problems } = await checkFile(workspace, file);
  const problem = problems.find((found) => found.code === code);
  assert.ok(problem, `a problem ${code} in ${JSON.stringify(problems)}`);
  const actions = await codeActions(workspace, problem.file, lspRange(problem), {
    problems,
    mayCreate: true,
    only: ['quickfix'],
  });
  const titles = actions.map((action) => action.title);
  const chosen = actions.find((action) => title.test(action.title));
  assert.ok(chosen, `${String(title)} in ${titles.join(' | ')}`);
  const after = { ...files };
  for (const change of chosen.edit?.documentChanges ?? []) {
    if ('kind' in change) after[pathOf((change as { uri: string }).uri) ?? ''] = '';
    else apply(after, change);
  }
  return { files: after, titles };
}

function apply(files: Record<string, string>, { textDocument, edits }: TextDocumentEdit): void {
  const path = pathOf(textDocument.uri) ?? '';
  let text = files[path] ?? '';
  const lines = new Lines(text);
  for (const edit of [...edits].reverse()) {
    assert.ok('newText' in edit);
    text = text.slice(0, lines.offsetAt(edit.range.start)) + edit.newText + text.slice(lines.offsetAt(edit.range.end));
  }
  files[path] = text;
}

async function codesIn(files: Readonly<Record<string, string>>, file: string): Promise<string[]> {
  return (await checkFile(workspaceOf(files), file)).problems.map(({ code }) => code);
}

const agent = (text: string, more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  '/w/a.agent.yaml': text,
  ...more,
});

describe('quick fixes of an agent file', () => {
  for (const [what, text, code, title, expected] of [
    [
      'a misspelt key',
      `${OK}limts: { steps: 3 }\n`,
      'unknown_key',
      /^Change to `limits`/,
      `${OK}limits: { steps: 3 }\n`,
    ],
    [
      'an unknown key is removed with its lines',
      `${OK}colour:\n  a: 1\n  b: 2\nlimits: { steps: 3 }\n`,
      'unknown_key',
      /^Remove `colour`/,
      `${OK}limits: { steps: 3 }\n`,
    ],
    [
      'an unknown key within brackets',
      `${OK}limits: { steps: 3, colour: 4 }\n`,
      'unknown_key',
      /^Remove/,
      `${OK}limits: { steps: 3 }\n`,
    ],
    [
      'a missing key',
      OK.replace('name: desk\n', ''),
      'missing',
      /^Add `name: desk`/,
      "version: 1\nname: desk\nmodel: { endpoint: 'demo:', name: demo }\nprompt: Go on.\n",
    ],
    [
      'a missing key within brackets',
      OK.replace(', name: demo', ''),
      'missing',
      /^Add `name:/,
      "version: 1\nname: desk\nmodel: { endpoint: 'demo:', name: Qwen/Qwen3-32B }\nprompt: Go on.\n",
    ],
    [
      'a missing key of a group on lines',
      OK.replace("{ endpoint: 'demo:', name: demo }", "\n  endpoint: 'demo:'"),
      'missing',
      /^Add `name:/,
      "version: 1\nname: desk\nmodel: \n  endpoint: 'demo:'\n  name: Qwen/Qwen3-32B\nprompt: Go on.\n",
    ],
    [
      'a choice',
      `${OK}context: { overflow: fial }\n`,
      'value',
      /^Change to `fail`/,
      `${OK}context: { overflow: fail }\n`,
    ],
    [
      'two conflicting settings',
      `${OK}tools:\n  - mcp: { url: "http://a:1/mcp", cwd: . }\n`,
      'conflict',
      /^Remove `tools\[0\].mcp.cwd`/,
      `${OK}tools:\n  - mcp: { url: "http://a:1/mcp" }\n`,
    ],
    [
      'a module named twice',
      `${OK}tools:\n  - module: t.ts\n  - module: t.ts\n`,
      'conflict',
      /^Remove `tools\[1\]`/,
      `${OK}tools:\n  - module: t.ts\n`,
    ],
    [
      'a secret',
      OK.replace("'demo:'", 'http://a:1/v1').replace('name: demo', 'name: demo, api_key: sk-abcdefghijklmnop1234'),
      'secret',
      /^Replace with/,
      OK.replace("'demo:'", 'http://a:1/v1').replace('name: demo', 'name: demo, api_key: "${env:API_KEY}"'),
    ],
    [
      'a URL without its scheme',
      OK.replace("'demo:'", 'gpu:8000'),
      'value',
      /^Change to `http/,
      OK.replace("'demo:'", 'http://gpu:8000'),
    ],
  ] as const) {
    it(what, async () => {
      const before = agent(text, { '/w/t.ts': 'export const t = tool({});\n' });
      const { files } = await fixed(before, '/w/a.agent.yaml', code, title);
      assert.equal(files['/w/a.agent.yaml'], expected);
      assert.deepEqual(await codesIn(files, '/w/a.agent.yaml'), []);
    });
  }

  it('create a prompt and a module that are named and missing', async () => {
    const { files } = await fixed(
      agent(OK.replace('Go on.', 'prompts/new.md')),
      '/w/a.agent.yaml',
      'file',
      /^Create prompts\/new.md/,
    );
    assert.deepEqual(await codesIn(files, '/w/a.agent.yaml'), []);
    const result = await fixed(
      agent(`${OK}tools:\n  - module: tools/find.ts\nanswer: { tool: find }\n`),
      '/w/a.agent.yaml',
      'file',
      /^Create tools\/find.ts/,
    );
    assert.match(result.files['/w/tools/find.ts'] ?? '', /export const find = tool\(/);
    assert.deepEqual(await codesIn(result.files, '/w/a.agent.yaml'), []);
  });

  it('create the tool that ends a rollout, in a module of the agent or a new one', async () => {
    const before = agent(`${OK}tools:\n  - module: t.ts\nanswer: { tool: submit }\n`, {
      '/w/t.ts': "import { tool } from 'rollout-studio';\n\nexport const look = tool({});\n",
    });
    const here = await fixed(before, '/w/a.agent.yaml', 'unknown_tool', /in t\.ts$/);
    assert.match(
      here.files['/w/t.ts'] ?? '',
      /^import \{ z \} from 'zod';\nimport \{ tool \}[^]*export const submit = tool\(/,
    );
    const apart = await fixed(before, '/w/a.agent.yaml', 'unknown_tool', /in the new module /);
    for (const files of [here.files, apart.files]) assert.deepEqual(await codesIn(files, '/w/a.agent.yaml'), []);
  });
});

describe('quick fixes of a batch', () => {
  const files = (batch: string, prompt = 'Go on.'): Record<string, string> => ({
    '/w/b.batch.yaml': batch,
    '/w/a.agent.yaml': OK.replace('Go on.', prompt),
    '/w/t.jsonl': TASKS,
  });
  it('name the column of the question', async () => {
    const done = await fixed(files(BATCH), '/w/b.batch.yaml', 'value', /^Add `question: Frage`/);
    assert.equal(done.files['/w/b.batch.yaml'], BATCH.replace('t.jsonl }', 't.jsonl, question: Frage }'));
    assert.deepEqual(await codesIn(done.files, '/w/b.batch.yaml'), []);
  });
  it('change a placeholder in the file of the prompt, and within the agent', async () => {
    const batch = BATCH.replace('t.jsonl', 't.jsonl, question: Frage');
    const apart = await fixed(
      { ...files(batch, 'p.md'), '/w/p.md': 'First {{task.id}}, then {{task.qestion}}.\n' },
      '/w/b.batch.yaml',
      'placeholder',
      /question/,
    );
    assert.equal(apart.files['/w/p.md'], 'First {{task.id}}, then {{task.question}}.\n');
    const inline = await fixed(
      files(batch, '|\n  First {{task.id}},\n  then {{task.qestion}}.'),
      '/w/b.batch.yaml',
      'placeholder',
      /question/,
    );
    assert.equal(
      inline.files['/w/a.agent.yaml'],
      OK.replace('Go on.', '|\n  First {{task.id}},\n  then {{task.question}}.'),
    );
  });
});
