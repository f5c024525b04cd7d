/** Worlds that name other world files: what is checked, and that everything that must see all worlds does. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { resolveSubmission } from '../../../src/config/env.ts';
import { loadBatch, loadWorld } from '../../../src/config/load.ts';
import { needsOf } from '../../../src/config/needs.ts';
import { revisionDifferences } from '../../../src/config/revisions.ts';
import { formatProblem } from '../../../src/config/source/problem.ts';
import { codeSha, configSha, modulesOf, scenariosOf, sideModelsOf, worldsOf } from '../../../src/config/submission.ts';
import { buildSubmission } from '../../../src/config/submit.ts';
import { checkFile } from '../../../src/language/diagnostics/check.ts';
import { datasetsFor, worldsUnder } from '../../../src/language/workspace/relations.ts';
import { Workspace } from '../../../src/language/workspace.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';
import { NO_SIMULATION } from '../../support/noSimulation.ts';

const BATCH = 'desk.batch.yaml';
const OUTER = 'version: 1\nname: sim\nkind: simulated\nmodel: { endpoint: "demo:", name: demo }\n';
const TOOLS = 'tools: [{ file: tools.json }]\n';
const FILES: Record<string, string> = {
  [BATCH]:
    'version: 1\nagent: a.agent.yaml\nworld: sim.world.yaml\n' +
    'dataset: { file: tasks.jsonl }\nscorer: { kind: exact }\n',
  'a.agent.yaml': 'version: 1\nname: a\nmodel: { endpoint: "demo:", name: demo }\nprompt: Do it.\n',
  'tasks.jsonl': '{"id":"t1","question":"q","answer":"1","scenario":"shop"}\n',
  'tools.json': '[{ "name": "find" }]',
  'desk.ts': 'export function open() {}',
  'sim.world.yaml': `${OUTER}${TOOLS}real: { world: real/desk.world.yaml }\n`,
  'real/desk.world.yaml':
    'version: 1\nname: desk\nkind: module\nmodule: ../desk.ts\nneeds: [git]\n' +
    'models: { judge: { endpoint: "http://${env:HOST}:8000/v1", name: judge } }\n',
};
const ADDED = {
  user: 'user: { model: { endpoint: "http://${env:USER_HOST}:8000/v1", name: user }, prompt: Ask. }\n',
  perturb: 'perturb: [{ name: slow, effect: empty }]\n',
};

async function problemsOf(changes: Record<string, string>, path = 'sim.world.yaml'): Promise<string[]> {
  const { problems } = await loadWorld(memoryFiles({ ...FILES, ...changes }), path);
  return problems.map((problem) => formatProblem(problem, '/w'));
}

async function build(changes: Record<string, string> = {}) {
  const files = memoryFiles({ ...FILES, ...changes });
  const { value, problems } = await loadBatch(files, BATCH, { root: '/w' });
  assert.ok(value !== undefined, problems.map(({ message }) => message).join('\n'));
  const blob = (sha: string) => ({ sha: sha.repeat(64), media: 'text/plain', bytes: new Uint8Array() });
  return buildSubmission(value, {
    files,
    bundle: async (path) => {
      const code = new TextEncoder().encode(await files.readText(path));
      const sha = String(code.length % 10).repeat(64);
      return { file: path.slice('/w/'.length), code, map: code, bundleSha: sha, mapSha: sha };
    },
    scenarios: (_worlds, names) =>
      Promise.resolve(
        new Map(
          names.map((name) => [
            name,
            {
              code: blob('a'),
              template: blob('b'),
              verifiers: blob('c'),
              place: { file: '/w/awm/gen_envs.jsonl', line: 1 },
              problems: [],
            },
          ]),
        ),
      ),
    env: (name) => (name === 'HOST' ? 'gpu-1' : undefined),
    simulation: NO_SIMULATION,
    git: () => Promise.resolve(undefined),
    product: 'rollout-studio 1',
  });
}

describe('a world that contains another one', () => {
  it('is sent with it: its code, models, programs, and values of variables', async () => {
    const { submission, secrets } = await build();
    assert.deepEqual(
      worldsOf(submission).map(({ name, file, kind }) => [name, file, kind]),
      [
        ['sim', 'sim.world.yaml', 'simulated'],
        ['desk', 'real/desk.world.yaml', 'module'],
      ],
    );
    assert.deepEqual(
      modulesOf(submission).map(({ file }) => file),
      ['desk.ts'],
    );
    assert.deepEqual(
      needsOf(submission).map(({ name, of, at }) => [name, of, at]),
      [['git', 'the world desk', 'real/desk.world.yaml:5:8']],
    );
    assert.deepEqual(submission.env, { names: ['HOST'], shown: ['HOST'] });
    assert.deepEqual(
      sideModelsOf(resolveSubmission(submission, secrets)).map(({ side, model }) => [side, ...model.endpoints]),
      [
        ['world', 'demo:'],
        ['judge', 'http://gpu-1:8000/v1'],
      ],
    );
  });

  it('applies without the rules and the user of the inner one, which its check says', async () => {
    const inner = { 'real/desk.world.yaml': `${FILES['real/desk.world.yaml']}${ADDED.user}${ADDED.perturb}` };
    assert.deepEqual(await problemsOf(inner), [
      'sim.world.yaml:6:16: warning: the rules (`perturb`) of desk.world.yaml do not apply here — Add `perturb` to ' +
        'this file if you need them.',
      'sim.world.yaml:6:16: warning: the simulated user (`user`) of desk.world.yaml does not apply here — Add `user` ' +
        'to this file if you need one.',
    ]);
    const { submission } = await build(inner); // USER_HOST is not asked for
    const [, desk] = worldsOf(submission);
    assert.deepEqual([desk?.user, desk?.perturb], [undefined, []]);
    assert.ok(!sideModelsOf(submission).some(({ side }) => side === 'user'));
  });

  it('needs no definitions of its tools, which the inner one has, and is sent with its routes', async () => {
    const { submission } = await build({
      'sim.world.yaml': `${OUTER}real: { world: real/desk.world.yaml }\nroute: [{ tools: ["find_*"], by: overlay }]\n`,
    });
    assert.ok(submission.world?.kind === 'simulated');
    assert.deepEqual(submission.world.definitions, []);
    assert.deepEqual(submission.world.route, [{ tools: ['find_*'], by: 'overlay' }]);
  });

  it('is no world whose final state a verifier can see, unless all writes are real', async () => {
    const scorer = { [BATCH]: FILES[BATCH]!.replace('exact', 'world') };
    const problems = async (changes: Record<string, string>): Promise<string[]> => {
      const loaded = await loadBatch(memoryFiles({ ...FILES, ...scorer, ...changes }), BATCH, { root: '/w' });
      return loaded.problems.map((problem) => formatProblem(problem, '/w'));
    };
    assert.deepEqual(await problems({}), [
      'desk.batch.yaml:5:17: warning: the verifier of desk sees only its real state, so attempts that change ' +
        'something by a simulated tool get no score — Route all tools that write to `real`, or choose another ' +
        'scorer, such as judge.',
    ]);
    assert.deepEqual(await problems({ 'sim.world.yaml': `${OUTER}${TOOLS}` }), [
      'desk.batch.yaml:5:17: the world sim is played by a model and has no final state to verify — Choose a scorer ' +
        'that judges the answer or the conversation, such as exact, module, or judge.',
    ]);
  });

  it('has another configuration if the inner one has, and other code if its module has', async () => {
    const [was, code, settings] = await Promise.all([
      build(),
      build({ 'desk.ts': 'export function open() { return {}; }' }),
      build({ 'real/desk.world.yaml': FILES['real/desk.world.yaml']!.replace('[git]', '[uv]') }),
    ]);
    assert.deepEqual(revisionDifferences(was.submission, code.submission), ['code of desk.ts changed']);
    assert.notEqual(codeSha(was.submission), codeSha(code.submission));
    assert.deepEqual(revisionDifferences(was.submission, settings.submission), ['world.real.needs: ["git"] → ["uv"]']);
    assert.notEqual(configSha(was.submission), configSha(settings.submission));
  });

  it('sends the scenarios of an inner world that tasks name', async () => {
    const { submission, tasks } = await build({
      'awm/gen_scenario.jsonl': '{"name":"shop"}\n',
      'real/desk.world.yaml': 'version: 1\nname: awm\nkind: code\nformat: awm\nfrom: ../awm/\nscenario: shop\n',
    });
    assert.deepEqual(Object.keys(scenariosOf(submission)), ['shop']);
    const [task] = await Array.fromAsync(tasks);
    assert.deepEqual(task?.world, { scenario: 'shop' });
  });

  const cases: readonly (readonly [name: string, changes: Record<string, string>, problems: readonly string[]])[] = [
    [
      'a file that is not there',
      { 'sim.world.yaml': `${OUTER}${TOOLS}real: { world: real/dsk.world.yaml }\n` },
      ['sim.world.yaml:6:16: file real/dsk.world.yaml not found — Did you mean `real/desk.world.yaml`?'],
    ],
    [
      'itself',
      { 'sim.world.yaml': `${OUTER}${TOOLS}real: { world: sim.world.yaml }\n` },
      ['sim.world.yaml:6:16: the world contains itself: sim.world.yaml → sim.world.yaml — Name another world file.'],
    ],
    [
      'one that contains it',
      { 'real/desk.world.yaml': `${OUTER}tools: [{ file: ../tools.json }]\nreal: { world: ../sim.world.yaml }\n` },
      [
        'real/desk.world.yaml:6:16: the world contains itself: sim.world.yaml → desk.world.yaml → sim.world.yaml — ' +
          'Name another world file.',
      ],
    ],
    [
      'a simulated one as the real one',
      { 'real/desk.world.yaml': `${OUTER}tools: [{ file: ../tools.json }]\n` },
      ['sim.world.yaml:6:16: the real world, sim, is simulated itself — Name a world whose tools exist.'],
    ],
    [
      'one that hides its tools',
      {
        'awm/gen_scenario.jsonl': '{"name":"shop"}\n',
        'real/desk.world.yaml':
          'version: 1\nname: awm\nkind: code\nformat: awm\nfrom: ../awm/\nscenario: shop\nexpose: meta\n',
      },
      [
        'sim.world.yaml:6:16: awm hides its tools behind two others (`expose: meta`) — Use `expose: tools` there: ' +
          'the model needs the definitions of the tools that it simulates.',
      ],
    ],
    [
      'none for its routes, or two routes for a tool',
      {
        'sim.world.yaml':
          `${OUTER}${TOOLS}route:\n  - { tools: [find, "l*"], by: real }\n` + '  - { tools: [find], by: overlay }\n',
      },
      [
        'sim.world.yaml:7:3: `route` needs `real`: without a real world, the model simulates all tools — Add ' +
          '`real: { world: library.world.yaml }`, or `real: { tools: […] }`, or remove `route`.',
        'sim.world.yaml:8:15: `find` is already in an earlier route, which applies — Remove one of them.',
      ],
    ],
    [
      'one with an error, in its file',
      { 'real/desk.world.yaml': 'version: 1\nname: desk\nkind: module\n' },
      ['real/desk.world.yaml:1:1: `module` is missing — Add `module: library.ts`, where the module exports `open`.'],
    ],
  ];
  for (const [name, changes, expected] of cases)
    it(`is refused if it names ${name}`, async () => {
      assert.deepEqual(await problemsOf(changes), expected);
      const { value } = await loadBatch(memoryFiles({ ...FILES, ...changes }), BATCH, { root: '/w' });
      assert.equal(value, undefined);
    });

  it('is known to the language server as the inner one changes', async () => {
    const workspace = new Workspace(memoryFiles(FILES), ['/w']);
    assert.deepEqual(await worldsUnder(workspace, '/w/desk.batch.yaml'), [
      '/w/sim.world.yaml',
      '/w/real/desk.world.yaml',
    ]);
    assert.deepEqual(
      (await datasetsFor(workspace, '/w/real/desk.world.yaml')).map(({ path }) => path),
      ['/w/tasks.jsonl'],
    );
    const { dependencies } = await checkFile(workspace, '/w/desk.batch.yaml');
    assert.ok(dependencies.has('/w/real/desk.world.yaml'));
  });
});
