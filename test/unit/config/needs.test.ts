import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { type LoadOptions, loadBatch } from '../../../src/config/load.ts';
import { commandNeed, hasProgram, type Need, needsOf, unmetText } from '../../../src/config/needs.ts';
import { formatProblem } from '../../../src/config/source/problem.ts';
import type { Submission } from '../../../src/config/submission.ts';
import { isInstalled } from '../../../src/executor/local/programs.ts';
import { requireNeeds } from '../../../src/executor/needs.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';
import { FILES } from './sample.ts';

const BATCH = 'batches/nightly.batch.yaml';
const AGENT = 'agents/desk.agent.yaml';

async function problems(
  batch: string,
  agent: (text: string) => string = (text) => text,
  world = '',
  options: LoadOptions = {},
): Promise<string[]> {
  const files = {
    ...FILES,
    [BATCH]: FILES[BATCH]!.replace(/^pods:.*(\n +.*)*\n/m, '').replace('target: local', batch),
    [AGENT]: agent(FILES[AGENT]!),
    'worlds/library.world.yaml': `${FILES['worlds/library.world.yaml']!}${world}`,
  };
  return (await loadBatch(memoryFiles(files), BATCH, options)).problems.map((problem) => formatProblem(problem, '/w'));
}

describe('the requirements of tools', () => {
  it('follow from the command of an MCP server', () => {
    const of = (command: string, ...args: string[]): string | undefined => commandNeed(command, args);
    assert.deepEqual(
      [of('npx', '-y', 'some-server'), of('/usr/local/bin/node', 'x.js'), of('node.exe'), of('${env:HOME}/x')],
      [undefined, undefined, undefined, undefined],
    );
    assert.deepEqual(
      [of('uvx', 'x'), of('python3.12'), of('C:\\\\py\\\\python.exe'), of('docker', 'run'), of('./serve')],
      ['uv', 'python', 'python', 'docker', 'serve'],
    );
    assert.equal(of('npx', '@playwright/mcp'), 'browser');
  });

  it('are satisfied by what pods declare for their image', () => {
    assert.deepEqual(
      [hasProgram(undefined, 'python'), hasProgram({}, 'node'), hasProgram({ provides: ['python3'] }, 'python')],
      ['no', 'yes', 'yes'],
    );
    assert.deepEqual(
      [
        hasProgram({ image: 'i' }, 'python'),
        hasProgram({ image: 'i', provides: [] }, 'python'),
        hasProgram({ image: 'i', provides: ['chromium'] }, 'browser'),
        hasProgram({ image: 'registry.example.org:5000/node:24-slim' }, 'python'),
      ],
      ['unknown', 'no', 'yes', 'no'],
    );
  });

  it('are looked up on the PATH of this machine', () => {
    const env = { PATH: path.dirname(process.execPath) };
    assert.deepEqual(
      [
        isInstalled(path.parse(process.execPath).name, env),
        isInstalled('no-such-program', env),
        isInstalled('browser', {}),
      ],
      [true, false, true],
    );
    assert.equal(isInstalled('chromium', { CHROME_PATH: process.execPath }), true);
    if (process.platform === 'linux') assert.equal(isInstalled('chromium', { PATH: '/nowhere' }), false);
  });
});

describe('a batch file for a cluster', () => {
  it("is invalid when nothing satisfies a tool's requirement, which is reported at the tool", async () => {
    assert.deepEqual(await problems('target: local'), []);
    assert.deepEqual(await problems('target: gpu'), [
      'agents/desk.agent.yaml:12:21: the MCP server some-server needs uv, which the image of the pods does not have ' +
        '— Use an image that has it (`pods.image` with `pods.provides: [uv]`), or run the tool as a sidecar that ' +
        'serves MCP ' +
        'over HTTP and set its `url`.',
      'agents/desk.agent.yaml:13:25: the built-in code needs python, which the image of the pods does not have — ' +
        'Use an image that has it (`pods.image` with `pods.provides: [python]`), or run the tool as a sidecar that ' +
        'serves ' +
        'MCP over HTTP and set its `url`, or add `code: { languages: [javascript] }` next to `builtin: [code]`.',
    ]);
    assert.deepEqual(await problems('target: gpu\npods: { image: x, provides: [uv, python] }'), []);
    const scripts = (text: string): string =>
      text.replace(/- builtin: .*/, (line) => `${line}\n    code: { languages: [javascript] }`);
    assert.deepEqual(await problems('target: gpu\npods: { image: x, provides: [uv] }', scripts), []);
    assert.deepEqual(await problems('target: gpu', undefined, '', { target: 'local' }), [], 'it runs elsewhere');
    const [warning, ...others] = await problems('target: gpu\npods: { image: x }', scripts);
    assert.match(
      warning ?? '',
      new RegExp(
        '^agents/desk\\.agent\\.yaml:12:21: warning: the MCP server some-server needs uv; ' +
          'it is unknown whether the image x has it — If it does, add `pods\\.provides: \\[uv\\]`\\.$',
      ),
    );
    assert.deepEqual(others, []);
  });

  it('is searched for the requirements in its files', async () => {
    const agent = (text: string): string =>
      text
        .replace('- module: tools/loans.ts', '- { module: tools/loans.ts, needs: [git, node] }')
        .replace('command: uvx, args: [some-server]', 'command: npx, args: [some-server]')
        .replace('- mcp:', '- mcp: e2b\n  - mcp:');
    const found = await problems('target: gpu', agent, 'needs:\n  - ffmpeg\n');
    assert.deepEqual(
      found.map((text) => text.replace(/, which the image.*| — .*/, '')),
      [
        'agents/desk.agent.yaml:11:39: the module tools/loans.ts needs git',
        'agents/desk.agent.yaml:12:10: the MCP server e2b needs uv',
        'agents/desk.agent.yaml:14:25: the built-in code needs python',
        'worlds/library.world.yaml:6:5: the world library needs ffmpeg',
      ],
    );
    const elsewhere = await problems('target: gpu', (text) =>
      text.replace(
        '- mcp: { command: uvx, args: [some-server] }',
        '- mcp: { url: "http://localhost/mcp" }\n    needs: [python]',
      ),
    );
    assert.match(
      elsewhere[0] ?? '',
      /^agents\/desk\.agent\.yaml:13:\d+: `needs` has no effect with `url`: that server runs elsewhere — Remove it\.$/,
    );
  });
});

describe('a submission', () => {
  const submission = {
    agent: {
      file: 'a.agent.yaml',
      tools: [
        {
          kind: 'mcp',
          name: 'search',
          position: { file: 'a.agent.yaml', line: 7, column: 5 },
          shared: false,
          server: { command: 'uvx', args: ['x'], env: {} },
        },
        { kind: 'builtin', name: 'terminal', needs: ['git'] },
        { kind: 'builtin', name: 'code' },
        { kind: 'builtin', name: 'code', settings: { code: { languages: ['javascript'] } } },
      ],
    },
    world: {
      name: 'w',
      file: 'w.world.yaml',
      needs: ['ffmpeg'],
      position: { file: 'w.world.yaml', line: 3, column: 8 },
    },
  } as unknown as Submission;

  it('is refused with a line for each unsatisfied requirement', () => {
    assert.deepEqual(
      needsOf(submission).map(({ name, declared, at }) => [name, declared, at]),
      [
        ['uv', false, 'a.agent.yaml:7:5'],
        ['git', true, 'a.agent.yaml'],
        ['python', true, 'a.agent.yaml'],
        ['ffmpeg', true, 'w.world.yaml:3:8'],
      ],
    );
    const unmet = (need: Need) => (need.name === 'git' || need.name === 'python' ? undefined : unmetText(need));
    assert.throws(
      () => requireNeeds(submission, unmet),
      (error) =>
        StudioError.is(error, 'config') &&
        /^a\.agent\.yaml:7:5: the MCP server search needs uv, .*\nw\.world\.yaml:3:8: the world w needs ffmpeg, /.test(
          error.message,
        ),
    );
    requireNeeds(submission, () => undefined);
  });
});
