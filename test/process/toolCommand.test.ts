// `rollout tool` as a user runs it.
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Bench, root } from '../support/cli.ts';

const bench = new Bench();
const everything = path.join(root, 'node_modules', '@modelcontextprotocol', 'server-everything', 'dist', 'index.js');
const AGENT =
  "version: 1\nname: desk # mine\nmodel: { endpoint: 'http://localhost:1/v1', name: x }\nprompt: hello\ntools:\n " +
  ' - module: words.ts\n';

before(() => {
  mkdirSync(bench.path('w'));
  writeFileSync(bench.path('w', 'package.json'), '{}');
  writeFileSync(bench.path('w', 'desk.agent.yaml'), AGENT);
  writeFileSync(
    bench.path('w', 'words.ts'),
    `import { tool } from 'rollout-studio';
import { z } from 'zod';
export const count = tool({ description: 'Counts words.', input: z.object({ text: z.string() }), effect: 'pure', run: \
({ text }) => text.split(' ').length });
`,
  );
});
after(() => rmSync(bench.folder, { recursive: true, force: true }));
const run = (...args: string[]): ReturnType<Bench['run']> => bench.run(['tool', ...args], { cwd: bench.path('w') });

describe('rollout tool', () => {
  it('list and try print for people and programs, and exit with the outcome', async () => {
    const [listed, tried, wrong, bad] = await Promise.all([
      run('list', 'desk.agent.yaml'),
      run('try', 'words.ts', 'count', '--args', '{"text": "a b"}'),
      run('try', 'words.ts', 'count', '--json'),
      run('try', 'words.ts', 'count', '--args', 'a b'),
    ]);
    assert.match(listed.stdout, /^count \(pure\)\n {2}Counts words\.\n {2}parameters: /);
    assert.deepEqual([listed.code, tried.code, tried.stdout], [0, 0, '2\n']);
    assert.deepEqual(
      [wrong.code, (JSON.parse(wrong.stdout) as { error: { class: string } }).error.class],
      [1, 'invalid_arguments'],
    );
    assert.equal(bad.code, 2);
    assert.match(bad.stderr, /--args is not JSON/);
  });

  it('try calls a tool in the world of a batch, and reports a missing world', async () => {
    cpSync(path.join(root, 'media', 'sample'), bench.path('w', 'desk'), { recursive: true });
    const renew = ['try', 'desk/tools/loans.ts', 'renew_loan', '--args', '{"loan_id": "L-3001"}'];
    const [inWorld, alone, lost] = await Promise.all([
      run(...renew, '--batch', 'desk/batches/desk.batch.yaml', '--task', 'return-one'),
      run(...renew),
      run(...renew, '--task', 'return-one'),
    ]);
    assert.equal(inWorld.code, 0, inWorld.stderr);
    assert.match(inWorld.stdout, /^± update loans L-3001 {2}due: "2026-03-20" → "2026-04-03", renewals: 0 → 1\n\{/);
    assert.match(inWorld.stderr, /in world library of task return-one/);
    assert.deepEqual([alone.code, lost.code], [1, 2]);
    assert.match(alone.stdout, /^✗ tool_error: `state` is undefined because no world is open: /);
    assert.match(alone.stderr, /add --batch BATCH\.yaml/);
    assert.match(lost.stderr, /--task requires --batch/);
  });

  it('add connects to a server once, and writes its entry', async () => {
    writeFileSync(
      bench.path('mcp.json'),
      JSON.stringify({ mcpServers: { all: { command: process.execPath, args: [everything, 'stdio'] } } }),
    );
    const dry = await run('add', 'desk.agent.yaml', '--from', bench.path('mcp.json'), '--dry-run', '--json');
    assert.equal(dry.code, 0, dry.stderr);
    assert.ok((JSON.parse(dry.stdout) as { tools: { name: string }[] }).tools.some(({ name }) => name === 'echo'));
    assert.equal(readFileSync(bench.path('w', 'desk.agent.yaml'), 'utf8'), AGENT);
    const added = await run('add', 'desk.agent.yaml', '--only', 'echo', '--', process.execPath, everything, 'stdio');
    assert.equal(added.code, 0, added.stderr);
    const text = readFileSync(bench.path('w', 'desk.agent.yaml'), 'utf8');
    assert.ok(text.startsWith(AGENT) && text.endsWith('    tools: [echo]\n'), text);
    const gone = await run('add', 'desk.agent.yaml', '--', 'rollout-no-such-program');
    assert.notEqual(gone.code, 0);
    assert.match(gone.stderr, /program not found.*The file was not changed/s);
    assert.equal(readFileSync(bench.path('w', 'desk.agent.yaml'), 'utf8'), text);
  });

  it('openapi writes a module, and never overwrites one', async () => {
    writeFileSync(
      bench.path('w', 'api.yaml'),
      'openapi: 3.1.0\ninfo: { title: Clock }\nservers: [{ url: "http://localhost:1" }]\npaths: { /now: { get: { ' +
        'operationId: now } } }\n',
    );
    const generated = await run('openapi', 'api.yaml', '--out', 'tools/clock.ts');
    assert.deepEqual([generated.code, generated.stdout], [0, 'now (pure)  GET /now\n'], generated.stderr);
    assert.ok(existsSync(bench.path('w', 'tools', 'clock.ts')));
    const [again, tried] = await Promise.all([
      run('openapi', 'api.yaml', '--out', 'tools/clock.ts'),
      run('try', 'tools/clock.ts', 'now', '--json'),
    ]);
    assert.match(again.stderr, /already exists and was not changed/);
    assert.match(tried.stdout, /fetch failed/);
  });
});
