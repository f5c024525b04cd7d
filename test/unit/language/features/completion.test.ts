// Completions at each place.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { complete } from '../../../../src/language/features/completion.ts';
import { hover } from '../../../../src/language/features/hover.ts';
import { type Facts, NO_FACTS } from '../../../../src/language/workspace/facts.ts';
import { Lines } from '../../../../src/language/workspace/text.ts';
import { DESK, workspaceOf } from '../workspaceKit.ts';

const AGENT = '/w/agents/desk.agent.yaml';
const FACTS: Facts = {
  ...NO_FACTS,
  builtinTools: () => [
    {
      name: 'calculate',
      description: 'Computes.',
      input: { type: 'object', properties: { expression: { type: 'string' } }, required: ['expression'] },
    },
  ],
  envNames: () => ['KEY', 'PATH'],
  models: ({ endpoint }) => (endpoint === 'http://gpu:8000/v1' ? ['Qwen/Qwen3-32B', 'm'] : undefined),
  mcpTools: ({ command }) =>
    command === 'uvx'
      ? [
          {
            name: 'look',
            description: 'Looks.',
            input: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
          },
          { name: 'take' },
        ]
      : undefined,
};

/** `¦` in the text is the cursor. */
async function offered(file: string, text: string, others: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const plain = text.replace('¦', '');
  const list = await complete(
    workspaceOf({ ...DESK, ...others, [file]: plain }, FACTS),
    file,
    new Lines(plain).positionAt(text.indexOf('¦')),
  );
  return (list?.items ?? []).map(({ label }) => label);
}

async function hoverText(file: string, text: string): Promise<string> {
  const plain = text.replace('¦', '');
  const found = await hover(
    workspaceOf({ ...DESK, [file]: plain }, FACTS),
    file,
    new Lines(plain).positionAt(text.indexOf('¦')),
  );
  return found !== undefined && typeof found.contents === 'object' && 'value' in found.contents
    ? found.contents.value
    : '';
}

describe('completion', () => {
  it('offers missing keys, the required ones first', async () => {
    const keys = await offered(AGENT, 'version: 1\n¦\nmodel: { endpoint: x, name: y }\n');
    assert.ok(keys.includes('name') && keys.includes('limits') && !keys.includes('model') && !keys.includes('version'));
    assert.deepEqual(await offered(AGENT, 'model:\n  sampling:\n    temperature: 1\n    ¦'), [
      'top_p',
      'max_tokens',
      'stop',
      'extra',
    ]);
    assert.ok((await offered(AGENT, 'tools:\n  ¦')).includes('- module'));
  });
  it('offers keys of the selected kind', async () => {
    const text = 'scorer: { kind: number, ¦ }';
    assert.deepEqual(await offered('/w/x.batch.yaml', text), ['abs', 'rel', 'name', 'seconds']);
  });
  it('offers enum values', async () => {
    assert.deepEqual(await offered(AGENT, 'context: { overflow: ¦ }'), ['fail', 'drop_oldest', 'summarize']);
    assert.ok((await offered(AGENT, 'tools:\n  - builtin: [terminal, ¦]')).includes('calculator'));
    assert.ok((await offered(AGENT, 'answer: ¦')).includes('last_message'));
  });
  it('offers files by their roles, with paths relative to the document', async () => {
    assert.deepEqual(await offered(AGENT, 'prompt: ¦'), ['../prompts/desk.md']);
    assert.deepEqual(await offered('/w/batches/x.batch.yaml', 'mix:\n  - { share: 25%, prompt: ¦ }'), [
      '../prompts/desk.md',
    ]);
    assert.ok((await offered(AGENT, 'tools:\n  - module: ../to¦')).includes('../tools/books.ts'));
    assert.deepEqual(await offered('/w/batches/x.batch.yaml', 'agent: ¦'), [
      '../agents/desk.agent.yaml',
      '../agents/inline.agent.yaml',
    ]);
    assert.deepEqual(await offered('/w/batches/x.batch.yaml', 'dataset: { file: ¦ }'), ['../data/tasks.jsonl']);
  });
  it('offers folders with published worlds, and their scenarios', async () => {
    const worlds = {
      '/w/data/awm/gen_scenario.jsonl':
        '{"name": "Town Library", "description": ""}\n{"name": "harbor", "description": ""}\n',
    };
    const from = (file: string, text: string): Promise<string[]> => offered(file, text, worlds);
    assert.deepEqual(await from('/w/worlds/s.world.yaml', 'kind: code\nformat: awm\nfrom: ¦'), ['../data/awm/']);
    assert.deepEqual(await from('/w/worlds/s.world.yaml', 'kind: code\nformat: awm\nfrom: ../data/awm\nscenario: ¦'), [
      'town_library',
      'harbor',
    ]);
    assert.deepEqual(
      await from('/w/batches/x.batch.yaml', 'dataset: { file: ../data/awm/, format: awm, scenarios: [harbor, ¦] }'),
      ['town_library', 'harbor'],
    );
    assert.ok((await from('/w/batches/x.batch.yaml', 'dataset: { file: ¦ }')).includes('../data/awm/'));
    assert.deepEqual(
      await from('/w/worlds/s.world.yaml', 'kind: code\nformat: awm\nfrom: ../nowhere\nscenario: ¦'),
      [],
    );
  });
  it('offers files that may be recordings to a recorded world', async () => {
    const files = { '/w/results/tau.json': '[]', '/w/results/tau.csv': 'a\n' };
    assert.deepEqual(await offered('/w/worlds/r.world.yaml', 'kind: recorded\nfrom: [b1, ¦]', files), [
      '../results/tau.json',
    ]);
  });
  it('offers the scenarios of the world to the tasks of a dataset', async () => {
    const worlds = {
      '/w/data/awm/gen_scenario.jsonl':
        '{"name": "Town Library", "description": ""}\n{"name": "harbor", "description": ""}\n',
      '/w/worlds/s.world.yaml': 'version: 1\nname: s\nkind: code\nformat: awm\nfrom: ../data/awm\n',
      '/w/batches/s.batch.yaml':
        'version: 1\nagent: ../agents/desk.agent.yaml\nworld: ../worlds/s.world.yaml\n' +
        'dataset: { file: ../data/own.jsonl }\n',
    };
    const line = (world: string): string => `{"id": "a", "question": "Which?", "world": ${world}}\n`;
    const at = (text: string): Promise<string[]> => offered('/w/data/own.jsonl', text, worlds);
    assert.deepEqual(await at(line('{"seed": 1, "scenario": "to¦wn"}')), ['town_library', 'harbor']);
    assert.deepEqual(await at(line('{"scenario": "¦')), ['town_library', 'harbor']);
    assert.deepEqual(await at(line('{"scenario": "harbor"}, "answer": "¦"')), []);
  });
  it('offers tools of modules and servers, models, columns, variables', async () => {
    assert.deepEqual(await offered(AGENT, 'tools:\n  - module: ../tools/index.ts\nanswer: { tool: ¦ }'), [
      'find_books',
      'submit',
    ]);
    assert.deepEqual(await offered(AGENT, 'tools:\n  - mcp: { command: uvx }\n    tools: [look, ¦]'), ['take']);
    assert.deepEqual(await offered(AGENT, 'model:\n  endpoint: http://gpu:8000/v1\n  name: ¦'), [
      'Qwen/Qwen3-32B',
      'm',
    ]);
    assert.deepEqual(
      await offered(AGENT, 'tools:\n  - builtin: [audio]\n    audio: { endpoint: "http://gpu:8000/v1", model: ¦ }'),
      ['Qwen/Qwen3-32B', 'm'],
    );
    assert.deepEqual(await offered('/w/batches/x.batch.yaml', 'dataset: { file: ../data/tasks.jsonl, answer: ¦ }'), [
      'id',
      'question',
      'solution',
      'city',
    ]);
    assert.deepEqual(await offered(AGENT, 'model: { api_key: "${env:¦" }'), ['KEY', 'PATH']);
    assert.ok((await offered('/w/prompts/desk.md', 'In {{task.¦}}')).includes('meta.city'));
    assert.deepEqual(await offered('/w/other.md', 'In {{task.¦}}'), [], 'no prompt of anybody');
  });
  it('offers nothing within a text', async () => assert.deepEqual(await offered(AGENT, 'prompt: |\n  Say na¦'), []));
});

describe('hover', () => {
  it("shows a key's meaning, its allowed values, and what a value resolves to", async () => {
    assert.match(
      await hoverText(AGENT, 'context: { over¦flow: fail }'),
      /no longer fits[^]*One of `fail`, `drop_oldest`, `summarize`[^]*Default: `fail`/,
    );
    assert.match(await hoverText(AGENT, 'limits: { seconds: 15 m¦in }'), /= 900 seconds$/);
    assert.match(await hoverText(AGENT, 'limits: { nothing: 1, tokens: 2¦00k }'), /= 200,000$/);
    assert.match(await hoverText('/w/batches/x.batch.yaml', 'stop: { failures: 5¦0% }'), /= 0\.5$/);
  });
  it('shows the target of a name', async () => {
    assert.match(
      await hoverText(AGENT, 'tools:\n  - mcp: { command: uvx }\n    tools: [lo¦ok]'),
      /look\(at: string\)[^]*Looks\.[^]*From an MCP server/,
    );
    assert.match(
      await hoverText(AGENT, 'tools:\n  - module: ../tools/index.ts\nanswer: { tool: sub¦mit }'),
      /submit = tool\([^]*The answer[^]*submit\.ts:2/,
    );
    assert.match(
      await hoverText(AGENT, 'tools:\n  - builtin: [calcul¦ator]'),
      /Built-in `calculator`[^]*- `calculate\(expression: string\)`: Computes\./,
    );
    assert.match(
      await hoverText('/w/batches/x.batch.yaml', 'agent: ../agents/de¦sk.agent.yaml'),
      /\*\*desk\*\*[^]*`find_books`/,
    );
    assert.match(await hoverText('/w/prompts/desk.md', 'In {{task.meta.ci¦ty}}'), /For task `a`:[^]*Oslo/);
    assert.match(await hoverText(AGENT, 'model: { api_key: "${env:K¦EY}" }'), /`KEY` is set in/);
  });
});
