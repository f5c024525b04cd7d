/** `models:` of tools, worlds, and scorers: what their code may ask, by name. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sha256Hex } from '../../../src/common/hash.ts';
import { contactsOf } from '../../../src/config/contacts.ts';
import { resolveSubmission } from '../../../src/config/env.ts';
import { loadBatch } from '../../../src/config/load.ts';
import { formatProblem } from '../../../src/config/source/problem.ts';
import { type Submission, sideModelsOf } from '../../../src/config/submission.ts';
import { buildSubmission } from '../../../src/config/submit.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';
import { NO_SIMULATION } from '../../support/noSimulation.ts';
import { FILES } from './sample.ts';

const model = (name: string): string =>
  `{ ${name}: { endpoint: "\${env:URL}", name: ${name}-model, api_key: "\${env:KEY}" } }`;

function filesWith(models: { tool?: string; world?: string; scorer?: string; entry?: string }): Record<string, string> {
  return {
    ...FILES,
    'agents/desk.agent.yaml': [
      'version: 1\nname: desk\nmodel: { endpoint: "http://x/v1", name: m }\nprompt: p\ntools:',
      models.entry ?? '  - module: tools/loans.ts',
      models.tool === undefined ? '' : `    models: ${models.tool}`,
    ].join('\n'),
    'worlds/library.world.yaml':
      FILES['worlds/library.world.yaml']! + (models.world === undefined ? '' : `models: ${models.world}\n`),
    'batches/score.ts': 'export const score = 1;',
    'batches/nightly.batch.yaml': `version: 1
agent: ../agents/desk.agent.yaml
world: ../worlds/library.world.yaml
dataset: { file: ../data/tasks.jsonl }
scorer: { kind: module, module: score.ts${models.scorer === undefined ? '' : `, models: ${models.scorer}`} }
`,
  };
}

async function problems(models: Parameters<typeof filesWith>[0]): Promise<string[]> {
  const loaded = await loadBatch(memoryFiles(filesWith(models)), 'batches/nightly.batch.yaml');
  return loaded.problems.map((problem) => formatProblem(problem, '/w'));
}

async function built(): Promise<{ submission: Submission; secrets: Readonly<Record<string, string>> }> {
  const files = memoryFiles(filesWith({ tool: model('judge'), world: model('critic'), scorer: model('grader') }));
  const { value, problems: found } = await loadBatch(files, 'batches/nightly.batch.yaml', { root: '/w' });
  assert.ok(value !== undefined, JSON.stringify(found));
  return buildSubmission(value, {
    files,
    bundle: (path) => {
      const code = new TextEncoder().encode(path);
      const sha = sha256Hex(code);
      return Promise.resolve({ file: path.replace('/w/', ''), code, map: code, bundleSha: sha, mapSha: sha });
    },
    scenarios: () => assert.fail('no scenario is read'),
    env: (name) => (name === 'URL' ? 'http://gpu/v1' : 'long-secret'),
    simulation: NO_SIMULATION,
    git: () => Promise.resolve(undefined),
    product: 'rollout-studio 1',
  });
}

describe('models that code may ask', () => {
  it('are submitted by name, with their secrets apart, and contacted', async () => {
    const { submission, secrets } = await built();
    assert.deepEqual(
      sideModelsOf(submission).map((one) => [one.side, one.model.name, one.model.api_key]),
      [
        ['critic', 'critic-model', '${env:KEY}'],
        ['judge', 'judge-model', '${env:KEY}'],
        ['grader', 'grader-model', '${env:KEY}'],
      ],
    );
    assert.deepEqual(submission.env, { names: ['KEY', 'URL'], shown: ['URL'] });
    const resolved = resolveSubmission(submission, secrets);
    assert.deepEqual(
      sideModelsOf(resolved).map((one) => [one.model.endpoints[0], one.model.api_key]),
      Array.from({ length: 3 }, () => ['http://gpu/v1', 'long-secret']),
    );
    assert.ok(contactsOf(resolved).workers.includes('http://gpu/v1'));
    assert.ok(contactsOf(resolved).server.includes('http://gpu/v1'));
  });

  it('have names of their own, valid endpoints, and a module that asks', async () => {
    const one = '{ endpoint: "http://x/v1", name: m }';
    assert.deepEqual(await problems({ tool: `{ judge: ${one} }`, world: `{ judge: ${one} }` }), []);
    assert.deepEqual(await problems({ world: `{ user: ${one}, "a b": ${one} }` }), [
      'worlds/library.world.yaml:5:17: `user` is already the name of another side model — Choose another name, e.g. ' +
        '`judge`.',
      'worlds/library.world.yaml:5:62: `a b` is not a valid name of a model — Use letters, digits, `_`, and `-`, at ' +
        'most 64, starting with a letter.',
    ]);
    assert.deepEqual(await problems({ entry: '  - builtin: [calculator]', tool: `{ judge: ${one} }` }), [
      'agents/desk.agent.yaml:7:13: `models` requires `module` — Remove it: only the tools of modules can ask models.',
    ]);
    assert.match(
      (await problems({ world: '{ judge: { endpoint: x, name: m } }' })).join('\n'),
      /`models\.judge\.endpoint` must be a URL/,
    );
    assert.match((await problems({ scorer: '[judge]' })).join('\n'), /`scorer\.models` must be models by name/);
    assert.match(
      (await problems({ world: '{ judge: { name: m } }' })).join('\n'),
      /`models\.judge\.endpoint` is missing/,
    );
  });
});
