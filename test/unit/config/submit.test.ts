import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { sha256Hex } from '../../../src/common/hash.ts';
import { envNamesIn, resolveEnv, resolveSubmission, strayPlaceholders } from '../../../src/config/env.ts';
import { type LoadOptions, loadBatch } from '../../../src/config/load.ts';
import { fieldNames, placeholdersOf, taskField } from '../../../src/config/prompt.ts';
import { codeSha, configSha, modulesOf, submission, submissionSha } from '../../../src/config/submission.ts';
import { type BuiltSubmission, buildSubmission, type SubmitPorts } from '../../../src/config/submit.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';
import { NO_SIMULATION } from '../../support/noSimulation.ts';
import { FILES } from './sample.ts';

const ENV: Readonly<Record<string, string>> = { VLLM_URL: 'http://gpu:8000/v1', HOOK: 'https://hook/secret-path' };

async function build(
  changes: Record<string, string | Uint8Array> = {},
  ports: Partial<SubmitPorts> = {},
  options: LoadOptions = {},
): Promise<BuiltSubmission & { bundled: string[] }> {
  const files = memoryFiles({ ...FILES, ...changes });
  const { value, problems } = await loadBatch(files, 'batches/nightly.batch.yaml', { root: '/w', ...options });
  assert.ok(value !== undefined, JSON.stringify(problems));
  const bundled: string[] = [];
  const built = await buildSubmission(value, {
    files,
    bundle: (path) => {
      bundled.push(path);
      const code = new TextEncoder().encode(`bundle of ${path}`);
      const map = new TextEncoder().encode(`map of ${path}`);
      return Promise.resolve({
        file: path.replace('/w/', ''),
        code,
        map,
        bundleSha: sha256Hex(code),
        mapSha: sha256Hex(map),
      });
    },
    env: (name) => ENV[name],
    scenarios: () => Promise.reject(new Error('no code world')),
    simulation: NO_SIMULATION,
    git: () => Promise.resolve({ commit: 'c0ffee', dirty: true }),
    product: 'rollout-studio 1',
    ...ports,
  });
  return { ...built, bundled };
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

describe('buildSubmission', () => {
  it('is self-contained, keeps references, and passes its own schema', async () => {
    const { submission: built, secrets } = await build();
    assert.deepEqual(submission.parse(built), built);
    const module = (path: string): unknown => ({
      file: path,
      path: `/w/${path}`,
      bundle: sha256Hex(`bundle of /w/${path}`),
      map: sha256Hex(`map of /w/${path}`),
    });
    assert.deepEqual(built, {
      version: 1,
      name: 'nightly',
      file: 'batches/nightly.batch.yaml',
      agent: {
        name: 'desk',
        file: 'agents/desk.agent.yaml',
        model: {
          endpoints: ['${env:VLLM_URL}'],
          name: 'Qwen/Qwen3-32B',
          headers: {},
          sampling: { temperature: 1, top_p: 0.95, max_tokens: 4096, extra: { top_k: 20 } },
          capture: { token_ids: true, logprobs: true },
          price: { input: 0.1, output: 0.4 },
          endpoint_wait_seconds: 600,
        },
        prompt: { text: FILES['agents/prompts/desk.md'], file: 'agents/prompts/desk.md' },
        tools: [
          {
            kind: 'module',
            module: module('agents/tools/loans.ts'),
            position: { file: 'agents/desk.agent.yaml', line: 11, column: 5 },
          },
          {
            kind: 'mcp',
            name: 'some-server',
            position: { file: 'agents/desk.agent.yaml', line: 12, column: 5 },
            shared: false,
            server: { command: 'uvx', args: ['some-server'], env: {} },
          },
          ...['terminal', 'code', 'calculator'].map((name) => ({
            kind: 'builtin',
            name,
            position: { file: 'agents/desk.agent.yaml', line: 13, column: 5 },
          })),
        ],
        answer: { kind: 'last_message' },
        context: { reasoning: 'keep', tool_result_tokens: 8000, overflow: 'fail' },
        limits: { steps: 30, seconds: 900, tool_seconds: 120, tokens: 200_000 },
      },
      world: {
        name: 'library',
        file: 'worlds/library.world.yaml',
        kind: 'module',
        module: module('worlds/library.ts'),
        perturb: [],
      },
      scorer: { kind: 'exact' },
      attempts: 32,
      seed: 7,
      stop: { passes_per_task: 8, failures: 0.5, tokens: 50e6 },
      retry: { infrastructure: 3 },
      order: 'breadth',
      priority: 0,
      concurrency: 'auto',
      sandbox: {
        mode: 'on',
        network: 'filtered',
        allow: [],
        read: [],
        write: [],
        hide: ['/w/data/tasks.jsonl'],
        modules: 'shared',
      },
      hold_limit_seconds: 3600,
      notify: { url: '${env:HOOK}' },
      pods: {
        image: 'node:24-slim',
        count: 16,
        requests: { cpu: '1', memory: '2Gi' },
        sidecars: [],
        isolation: 'shared',
      },
      env: { names: ['HOOK', 'VLLM_URL'], shown: ['VLLM_URL'] },
      git: { commit: 'c0ffee', dirty: true },
      product: 'rollout-studio 1',
    });
    assert.deepEqual(secrets, ENV);
    assert.doesNotMatch(JSON.stringify(built), /gpu:8000|secret-path/);
  });

  it('says where each sidecar is written', async () => {
    const batch = FILES['batches/nightly.batch.yaml']!.replace('sidecars: []', 'sidecars: [{ name: b, image: x }]');
    const { submission: built } = await build({ 'batches/nightly.batch.yaml': batch });
    const line = batch.split('\n').findIndex((text) => text.startsWith('pods:')) + 1;
    const column = batch.split('\n')[line - 1]!.indexOf('{ name: b') + 1;
    assert.deepEqual(built.pods?.sidecar_positions, [{ file: 'batches/nightly.batch.yaml', line, column }]);
  });

  it("has the same sha regardless of the environment's values", async () => {
    const one = await build();
    const two = await build({}, { env: () => 'http://other/v1' });
    assert.equal(submissionSha(one.submission), submissionSha(two.submission));
    const three = await build({ 'agents/prompts/desk.md': 'Other {{task.question}}' });
    assert.notEqual(configSha(one.submission), configSha(three.submission));
    assert.equal(codeSha(one.submission), codeSha(three.submission));
  });

  it('reports every unset variable with its places', async () => {
    const changes = {
      'agents/desk.agent.yaml': FILES['agents/desk.agent.yaml']!.replace(
        '  name: Qwen',
        '  api_key: ${env:KEY}\n  name: Qwen',
      ),
    };
    await assert.rejects(build(changes, { env: (name) => (name === 'HOOK' ? '' : undefined) }), (error) => {
      assert.ok(StudioError.is(error, 'config'));
      assert.deepEqual(error.message.split('\n'), [
        'agents/desk.agent.yaml:4:13: the environment variable VLLM_URL is not set — Set VLLM_URL where you ' +
          'submit, for example with `export VLLM_URL=…`.',
        'agents/desk.agent.yaml:5:12: the environment variable KEY is not set — Set KEY where you submit, for ' +
          'example with `export KEY=…`.',
        'batches/nightly.batch.yaml:12:16: the environment variable HOOK is empty — Set HOOK where you submit, for ' +
          'example with `export HOOK=…`.',
      ]);
      return true;
    });
  });

  it('checks endpoints once their value is known, without repeating it', async () => {
    await assert.rejects(build({}, { env: () => 'gpu:8000' }), (error) => {
      assert.ok(StudioError.is(error, 'config'));
      assert.equal(
        error.message,
        'agents/desk.agent.yaml:4:13: the value of VLLM_URL does not result in a valid endpoint URL — For example, ' +
          'set it to http://localhost:8000/v1.',
      );
      return true;
    });
  });

  it('also redacts a variable that is used for other purposes', async () => {
    const changes = {
      'agents/desk.agent.yaml': FILES['agents/desk.agent.yaml']!.replace(
        '  name: Qwen',
        '  headers: { X: "${env:VLLM_URL}" }\n  name: Qwen',
      ),
    };
    assert.deepEqual((await build(changes)).submission.env, { names: ['HOOK', 'VLLM_URL'], shown: [] });
  });

  it('shows a variable in the address of an endpoint, and hides one in its user, path, or query', async () => {
    const shown = async (endpoint: string, value: string): Promise<readonly string[]> => {
      const agent = FILES['agents/desk.agent.yaml']!.replace('${env:VLLM_URL}', endpoint);
      const { submission: sent } = await build({ 'agents/desk.agent.yaml': agent }, { env: () => value });
      return sent.env.shown;
    };
    for (const address of ['${env:X}/v1', 'http://${env:X}:80/v1', 'http://user@${env:X}/v1'])
      assert.deepEqual(await shown(address, address.startsWith('$') ? 'http://host' : 'host'), ['X'], address);
    for (const secret of ['http://user:${env:X}@host/v1', 'http://host/${env:X}/v1', 'http://host/v1?key=${env:X}'])
      assert.deepEqual(await shown(secret, 'key-4711-a'), [], secret);
  });

  it('names the values that cannot be hidden, and never shows them', async () => {
    const values = ['ab1', '54321', '48151623', 'long-enough'];
    const warnings = await Promise.all(
      values.map(
        async (value) => (await build({}, { env: (name) => (name === 'HOOK' ? value : 'http://a/v1') })).warnings,
      ),
    );
    assert.deepEqual(
      warnings.map((list) => list.map(({ message, severity, variable }) => [severity, variable, message])),
      [
        [['warning', 'HOOK', 'the value of HOOK is too short to hide: records show it']],
        [['warning', 'HOOK', 'the value of HOOK is too common to hide: records show it']],
        [
          [
            'warning',
            'HOOK',
            'the value of HOOK is a number: it is hidden in texts, but records show it where JSON has a number',
          ],
        ],
        [],
      ],
    );
  });

  it('never replaces a variable in a prompt', async () => {
    const { submission: built } = await build({
      'agents/desk.agent.yaml': FILES['agents/desk.agent.yaml']!.replace(
        'prompts/desk.md',
        'Never print ${env:SECRET}',
      ),
    });
    assert.deepEqual(built.env.names, ['HOOK', 'VLLM_URL']);
    assert.equal(resolveSubmission(built, ENV).agent.prompt.text, 'Never print ${env:SECRET}');
  });

  it('bundles a module once, however many files name it', async () => {
    const changes = {
      'batches/nightly.batch.yaml': FILES['batches/nightly.batch.yaml']!.replace(
        '{ kind: exact }',
        '{ kind: module, module: ../worlds/library.ts }',
      ),
      'agents/desk.agent.yaml': FILES['agents/desk.agent.yaml']!.replace('tools/loans.ts', '../worlds/library.ts'),
    };
    const { submission: built, bundled, blobs } = await build(changes);
    assert.deepEqual(bundled, ['/w/worlds/library.ts']);
    assert.equal(modulesOf(built).length, 3);
    assert.deepEqual(built.scorer, { kind: 'module', module: modulesOf(built)[0], export: 'score' });
    assert.equal((await all(blobs)).length, 2);
  });

  it('writes every form of tools, answers, scorers, and worlds', async () => {
    const model =
      'model: { endpoint: [http://a/v1, http://b/v1], name: m, api_key: "${env:HOOK}", endpoint_wait: 1 min }';
    const { submission: built, secrets } = await build({
      'agents/desk.agent.yaml': `version: 1
name: x
${model}
prompt: Answer in <a>.
tools:
  - mcp: { url: "http://mcp:3000/x", headers: { A: "\${env:HOOK}" } }
    shared: true
    tools: [one]
  - mcp: { command: node, args: [s.js], env: { K: "\${env:HOOK}" }, cwd: ../tools }
    name: mine
answer: { tag: a }
`,
      'batches/nightly.batch.yaml': `version: 1
agent: ../agents/desk.agent.yaml
world: ../worlds/library.world.yaml
dataset: { file: ../data/tasks.jsonl }
scorer: { kind: judge, ${model}, rubric: rubric.md, pass: 0.7, parts: [tone], scale: [0, 9], seconds: 1 min }
`,
      'batches/rubric.md': 'Be strict.',
      'worlds/library.world.yaml':
        `${FILES['worlds/library.world.yaml']!}user: { ${model}, prompt: "You are ` + `{{task.meta.city}}" }\n`,
    });
    const sent = {
      endpoints: ['http://a/v1', 'http://b/v1'],
      name: 'm',
      api_key: '${env:HOOK}',
      headers: {},
      sampling: {},
      capture: { token_ids: false, logprobs: false },
      endpoint_wait_seconds: 60,
    };
    assert.deepEqual(
      built.agent.tools.map((tools) =>
        tools.kind === 'mcp' ? [tools.name, tools.shared, tools.tools, tools.server] : tools,
      ),
      [
        ['mcp:3000', true, ['one'], { url: 'http://mcp:3000/x', headers: { A: '${env:HOOK}' } }],
        ['mine', false, undefined, { command: 'node', args: ['s.js'], env: { K: '${env:HOOK}' }, cwd: '/w/tools' }],
      ],
    );
    assert.deepEqual(built.agent.answer, { kind: 'tag', tag: 'a' });
    assert.deepEqual(built.agent.prompt, { text: 'Answer in <a>.' });
    assert.deepEqual(built.scorer, {
      kind: 'judge',
      model: sent,
      rubric: 'Be strict.',
      pass: 0.7,
      parts: { tone: '' },
      scale: [0, 9],
      seconds: 60,
    });
    assert.deepEqual(built.world?.user, { model: sent, prompt: 'You are {{task.meta.city}}' });
    const ready = resolveSubmission(built, secrets);
    assert.equal(ready.agent.model.api_key, ENV['HOOK']);
    assert.equal(ready.world?.user?.model.api_key, ENV['HOOK']);
    assert.equal(ready.scorer.kind === 'judge' && ready.scorer.model.api_key, ENV['HOOK']);
    assert.doesNotMatch(JSON.stringify(ready), /\$\{env:/);
  });
});

describe('tasks and blobs', () => {
  const data = {
    'data/tasks.jsonl':
      '{"id":"a","question":"q","answer":1,"city":"x","files":["f/one.txt","two.bin"]}\n' +
      '{"id":"b","question":"r","city":"y","files":"f/copy.txt"}\n' +
      '{"id":"c","question":"s","city":"z"}\n',
    'data/f/one.txt': 'same',
    'data/f/copy.txt': 'same',
    'data/two.bin': new Uint8Array([0, 255]),
  };
  it('name attachments by their content, each sent once', async () => {
    const { tasks, blobs } = await build(data);
    const same = sha256Hex('same');
    const binary = sha256Hex(new Uint8Array([0, 255]));
    const expected = [
      {
        id: 'a',
        question: 'q',
        answer: 1,
        meta: { city: 'x' },
        files: [
          { name: 'f/one.txt', sha: same, bytes: 4 },
          { name: 'two.bin', sha: binary, bytes: 2 },
        ],
      },
      { id: 'b', question: 'r', meta: { city: 'y' }, files: [{ name: 'f/copy.txt', sha: same, bytes: 4 }] },
      { id: 'c', question: 's', meta: { city: 'z' } },
    ];
    assert.deepEqual(await all(tasks), expected);
    const sent = await all(blobs);
    assert.deepEqual(
      sent.map((blob) => ('path' in blob ? [blob.sha, blob.path] : sha256Hex(blob.bytes) === blob.sha)),
      [true, true, true, true, [same, '/w/data/f/one.txt'], [binary, '/w/data/two.bin']],
    );
    assert.deepEqual(await all(tasks), expected, 'again');
  });
  it('follow limit and IDs', async () => {
    assert.deepEqual(
      (await all((await build(data, {}, { limit: 1 })).tasks)).map((task) => task.id),
      ['a'],
    );
    assert.deepEqual(
      (await all((await build(data, {}, { tasks: ['c', 'a'] })).tasks)).map((task) => task.id),
      ['a', 'c'],
    );
  });
  it('end at an invalid record that was not checked before', async () => {
    const { tasks } = await build(
      { 'data/tasks.jsonl': `${FILES['data/tasks.jsonl']!}{"id":"one","question":"again"}\n` },
      {},
      { records: 2 },
    );
    await assert.rejects(all(tasks), {
      code: 'config',
      message: 'data/tasks.jsonl:3:1: the id `one` is already used in line 1 — Use a unique id for every task.',
    });
  });
});

describe('environment references', () => {
  it('are resolved in texts at any depth and nowhere else', () => {
    assert.deepEqual(
      resolveEnv(
        { a: ['${env:A}/${env:B}', 1, null], '${env:A}': true, b: { c: '${HOME} ${env:}' } },
        { A: 'x', B: '$&' },
      ),
      { a: ['x/$&', 1, null], '${env:A}': true, b: { c: '${HOME} ${env:}' } },
    );
  });
  it('throw for a missing value, including names that objects inherit', () => {
    assert.throws(() => resolveEnv('${env:NOPE}', {}), { name: 'StudioError', code: 'config', message: /NOPE/ });
    assert.throws(() => resolveEnv('${env:toString}', {}), { code: 'config' });
  });
  it('list names and malformed references', () => {
    assert.deepEqual(envNamesIn('${env:A_1} ${env:b}${env:1x}'), ['A_1', 'b']);
    assert.deepEqual(strayPlaceholders('${env:A} ${B} ${env:} ${open'), ['${B}', '${env:}', '${open']);
  });
});

describe('placeholders', () => {
  it('name fields of a task by path', () => {
    const task = {
      id: 'i',
      question: 'q',
      level: 2,
      world: { seed: 1, state: { a: [5] } },
      files: [{ name: 'x' }, { name: 'y' }],
      meta: { city: 'Rome', deep: { list: [1, { b: null }] } },
    };
    const values = [
      'id',
      'level',
      'files',
      'world.state.a.0',
      'meta.city',
      'meta.deep.list.1.b',
      'answer',
      'city',
      'meta.toString',
      'files.0',
      'id.length',
      '',
    ].map((path) => taskField(task, path));
    assert.deepEqual(values, [
      'i',
      2,
      'x, y',
      5,
      'Rome',
      null,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    assert.deepEqual(fieldNames(task), ['id', 'question', 'level', 'world.state', 'files', 'meta.city', 'meta.deep']);
  });
  it('are found with their places', () => {
    assert.deepEqual(placeholdersOf('a {{task.id}} {{ task.meta.x }} {{x}} {{task.}}'), [
      { path: 'id', offset: 2, length: 11 },
      { path: 'meta.x', offset: 14, length: 17 },
      { path: '', offset: 38, length: 9 },
    ]);
  });
});
