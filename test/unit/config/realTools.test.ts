/** Real tools of a simulated world: what is checked, and that everything that must see them does. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { contactsOf } from '../../../src/config/contacts.ts';
import { resolveSubmission } from '../../../src/config/env.ts';
import { loadBatch } from '../../../src/config/load.ts';
import { needsOf } from '../../../src/config/needs.ts';
import { revisionDifferences } from '../../../src/config/revisions.ts';
import { formatProblem } from '../../../src/config/source/problem.ts';
import { codeSha, configSha, modulesOf, sideModelsOf, toolsOf } from '../../../src/config/submission.ts';
import { buildSubmission } from '../../../src/config/submit.ts';
import { sandboxWarnings } from '../../../src/executor/sandboxWarnings.ts';
import { toolsOf as toolsOfFile } from '../../../src/language/workspace/tools.ts';
import { Workspace } from '../../../src/language/workspace.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';
import { NO_SIMULATION } from '../../support/noSimulation.ts';

const BATCH = 'desk.batch.yaml';
const WORLD = 'practice.world.yaml';
const HEAD = 'version: 1\nname: practice\nkind: simulated\nmodel: { endpoint: "demo:", name: demo }\n';
const REAL = `real:
  tools:
    - module: tools/loans.ts
      secrets: { key: "\${env:KEY}" }
      models: { critic: { endpoint: "http://gpu-2:8000/v1", name: critic } }
    - mcp: { command: uvx, args: [desk-server], env: { TOKEN: "\${env:TOKEN}" } }
      tools: [find_book]
    - mcp: { url: "http://desk:9000/mcp" }
    - builtin: [terminal, code]
`;
const FILES: Record<string, string> = {
  [BATCH]:
    'version: 1\nagent: a.agent.yaml\nworld: practice.world.yaml\ndataset: { file: t.jsonl }\n' +
    'scorer: { kind: exact }\n',
  'a.agent.yaml': 'version: 1\nname: a\nmodel: { endpoint: "demo:", name: demo }\nprompt: Do it.\n',
  't.jsonl': '{"id":"t1","question":"q","answer":"1"}\n',
  'tools/loans.ts': "import { tool } from 'rollout-studio';\nexport const renew_loan = tool({ description: '' });\n",
  [WORLD]: `${HEAD}${REAL}`,
};

async function problemsOf(changes: Record<string, string>): Promise<string[]> {
  const { problems } = await loadBatch(memoryFiles({ ...FILES, ...changes }), BATCH, { root: '/w' });
  return problems.map((problem) => formatProblem(problem, '/w'));
}

async function build(changes: Record<string, string> = {}) {
  const files = memoryFiles({ ...FILES, ...changes });
  const { value, problems } = await loadBatch(files, BATCH, { root: '/w' });
  assert.ok(value !== undefined, problems.map(({ message }) => message).join('\n'));
  return buildSubmission(value, {
    files,
    bundle: async (path) => {
      const code = new TextEncoder().encode(await files.readText(path));
      const sha = String(code.length % 10).repeat(64);
      return { file: path.slice('/w/'.length), code, map: code, bundleSha: sha, mapSha: sha };
    },
    scenarios: () => Promise.resolve(new Map()),
    env: (name) => (name === 'KEY' || name === 'TOKEN' ? `value of ${name}` : undefined),
    simulation: NO_SIMULATION,
    git: () => Promise.resolve(undefined),
    product: 'rollout-studio 1',
  });
}

describe('real tools of a simulated world', () => {
  it('are sent, with their code, models, programs, addresses, and values of variables', async () => {
    const { submission, secrets, code } = await build();
    assert.deepEqual(
      toolsOf(submission).map((tools) => [tools.kind, tools.kind === 'module' ? tools.module.file : tools.name]),
      [
        ['module', 'tools/loans.ts'],
        ['mcp', 'desk-server'],
        ['mcp', 'desk:9000'],
        ['builtin', 'terminal'],
        ['builtin', 'code'],
      ],
    );
    assert.deepEqual(
      modulesOf(submission).map(({ file }) => file),
      ['tools/loans.ts'],
    );
    assert.equal((await Array.fromAsync(code)).length, 2, 'the bundle and its map are sent');
    assert.deepEqual(
      needsOf(submission).map(({ name, of, at }) => [name, of, at]),
      [
        ['uvx', 'the MCP server desk-server', 'practice.world.yaml:10:7'],
        ['python', 'the built-in code', 'practice.world.yaml:13:7'],
      ].map(([name, ...rest]) => [name === 'uvx' ? 'uv' : name, ...rest]),
    );
    assert.ok(contactsOf(submission).workers.includes('http://desk:9000/mcp'));
    assert.deepEqual(
      sideModelsOf(submission).map(({ side }) => side),
      ['world', 'critic'],
    );
    assert.deepEqual(submission.env, { names: ['KEY', 'TOKEN'], shown: [] });
    const resolved = toolsOf(resolveSubmission(submission, secrets));
    assert.ok(resolved[0]?.kind === 'module' && resolved[0].secrets?.['key'] === 'value of KEY');
    assert.ok(resolved[1]?.kind === 'mcp' && 'env' in resolved[1].server);
    assert.equal(resolved[1].server.env['TOKEN'], 'value of TOKEN');
    const warnings = await sandboxWarnings(submission, () => Promise.resolve('none here'));
    assert.deepEqual(
      warnings.map(({ what }) => what),
      ['no_sandbox'],
    );
  });

  it('count as code and as configuration, but where their file is does not', async () => {
    const [was, code, moved, other] = await Promise.all([
      build(),
      build({ 'tools/loans.ts': `${FILES['tools/loans.ts']} ` }),
      build({ [WORLD]: `# moved\n${FILES[WORLD]}` }),
      build({ [WORLD]: FILES[WORLD]!.replace('desk-server]', 'desk-server, --fast]') }),
    ]);
    assert.deepEqual(revisionDifferences(was.submission, code.submission), ['code of tools/loans.ts changed']);
    assert.notEqual(codeSha(was.submission), codeSha(code.submission));
    assert.deepEqual(revisionDifferences(was.submission, moved.submission), []);
    assert.deepEqual(revisionDifferences(was.submission, other.submission), [
      'world.tools desk-server.server.args: ["desk-server"] → ["desk-server","--fast"]',
    ]);
    assert.notEqual(configSha(was.submission), configSha(other.submission));
  });

  const cases: readonly (readonly [name: string, world: string, problems: readonly string[]])[] = [
    [
      'neither a world nor tools',
      'real: {}\n',
      [
        'practice.world.yaml:5:7: `real` needs `world` or `tools` — Add `world: library.world.yaml`, or `tools` as ' +
          'in an agent file.',
      ],
    ],
    [
      'both',
      'real: { world: library.world.yaml, tools: [{ builtin: [files] }] }\n',
      ['practice.world.yaml:5:7: `real` has either `world` or `tools`, not both — Remove one of them.'],
    ],
    [
      'an empty list',
      'real: { tools: [] }\n',
      [
        'practice.world.yaml:5:16: `real.tools` must be at least one entry, not a list — For example, ' +
          'write `tools: [{ mcp: { command: uvx, args: [some-server] } }]`.',
      ],
    ],
    [
      'an entry of an unknown kind',
      'real: { tools: [{ file: tools.json }] }\n',
      [
        'practice.world.yaml:5:17: an entry of `tools` needs one of `module`, `mcp`, `builtin` — For example, ' +
          'write `- module: tools/loans.ts`.',
        'practice.world.yaml:5:19: unknown key `file` in `real.tools[0]` — It belongs under `state`.',
      ],
    ],
    [
      'a module that is not there, a bad URL, and an entry twice',
      'real:\n  tools:\n    - module: tools/lons.ts\n    - mcp: { url: "desk:9000" }\n    - builtin: [files, files]\n',
      [
        'practice.world.yaml:7:15: file tools/lons.ts not found — Did you mean `tools/loans.ts`?',
        'practice.world.yaml:8:19: `real.tools[1].mcp.url` must be a URL, not the text "desk:9000" — For example, ' +
          'write `http://localhost:3000/mcp`.',
        'practice.world.yaml:9:24: the built-in `files` is listed twice in `real.tools` — Remove one of them.',
      ],
    ],
  ];
  for (const [name, world, expected] of cases)
    it(`are refused with ${name}`, async () => {
      assert.deepEqual(await problemsOf({ [WORLD]: `${HEAD}${world}` }), expected);
    });

  it('are checked in routes before an attempt starts, wherever their names are known', async () => {
    const route = 'route: [{ tools: ["find_*", lst_books], by: overlay }]\n';
    const listed = `${HEAD}real: { tools: [{ mcp: { command: uvx }, tools: [find_book, list_books] }] }\n${route}`;
    const problem = (severity = ''): string =>
      `practice.world.yaml:6:29: ${severity}\`lst_books\` names none of the tools of this world: no attempt could ` +
      'start — Did you mean `list_books`?';
    assert.deepEqual(await problemsOf({ [WORLD]: listed }), [problem()]);
    const { value } = await loadBatch(memoryFiles({ ...FILES, [WORLD]: listed }), BATCH, { root: '/w' });
    assert.equal(value, undefined, 'it cannot be submitted');
    // Code may create more tools when it runs; a server that lists its tools itself has any.
    const module = "import { tool } from 'rollout-studio';\nexport const list_books = tool({ description: '' });\n";
    const fromCode = `${HEAD}real: { tools: [{ module: tools/loans.ts }] }\n${route.replace('"find_*"', '"list_*"')}`;
    assert.deepEqual(await problemsOf({ 'tools/loans.ts': module, [WORLD]: fromCode }), [problem('warning: ')]);
    assert.deepEqual(await problemsOf({ [WORLD]: listed.replace(', tools: [find_book, list_books]', '') }), []);
    const defined = 'tools: [{ file: tools.json }]\n';
    assert.deepEqual(
      await problemsOf({ 'tools.json': '[{ "name": "lst_books" }]', [WORLD]: `${listed}${defined}` }),
      [],
    );
  });

  it('must be in the image of pods', async () => {
    const pods = { [BATCH]: `${FILES[BATCH]}target: lab\npods: { image: "node:24-slim" }\n` };
    const text = (await problemsOf(pods)).join('\n');
    assert.match(text, /practice\.world\.yaml:10:23: the MCP server desk-server needs uv, which the image of the pods/);
    assert.match(text, /practice\.world\.yaml:13:27: the built-in code needs python, which the image/);
  });

  it('have no verifier, and must not be reached by predictions', async () => {
    assert.match(
      (await problemsOf({ [BATCH]: FILES[BATCH]!.replace('exact', 'world') })).join('\n'),
      /the world practice is played by a model and has no final state to verify/,
    );
    const outer = {
      'outer.world.yaml':
        'version: 1\nname: o\nkind: module\nmodule: tools/loans.ts\nshadow: { world: practice.world.yaml }\n',
    };
    assert.match(
      (await problemsOf({ ...outer, [BATCH]: FILES[BATCH]!.replace(WORLD, 'outer.world.yaml') })).join('\n'),
      /outer\.world\.yaml:5:18: the world practice makes real calls/,
    );
  });

  it('are known to the language server', async () => {
    const workspace = new Workspace(memoryFiles(FILES), ['/w']);
    assert.deepEqual(
      (await toolsOfFile(workspace, `/w/${WORLD}`)).tools.map(({ name }) => name),
      ['renew_loan', 'find_book', 'execute_command', 'run_code'],
    );
    const references = await workspace.references(`/w/${WORLD}`);
    assert.deepEqual(
      references.filter(({ kind }) => kind !== 'env').map(({ kind, text }) => [kind, text]),
      [
        ['module', 'tools/loans.ts'],
        ['tool', 'find_book'],
        ['builtin', 'terminal'],
        ['builtin', 'code'],
      ],
    );
  });
});
