/** Batches whose attempts are lost to infrastructure: what `run` prints, when the batch stops, and its exit code. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { connect } from '../../src/client/connect.ts';
import { parseDocument, type Report, WorkspaceBench } from '../support/workspace.ts';

describe('a batch whose worlds and tools do not open', () => {
  let bench: WorkspaceBench;
  before(() => {
    bench = new WorkspaceBench();
  });
  after(() => bench.close());

  const server = (name: string): string => {
    bench.write(`${name}.mjs`, 'console.error("a warning"); console.error("no license"); process.exit(4);');
    const script = JSON.stringify(bench.path('work', `${name}.mjs`));
    return `[{ mcp: { command: ${JSON.stringify(process.execPath)}, args: [${script}] }, name: licensed }]`;
  };

  it('is lost if its world does not open because the machine has too few open files', async () => {
    bench.write(
      'files.world.ts',
      `let tries = 0;
export function open() {
  tries += 1;
  const cause = Object.assign(new Error('open'), { code: 'EMFILE' });
  if (tries === 1) throw new Error('EMFILE: too many open files', { cause });
  return { tools: {}, close() {} };
}
`,
    );
    bench.write('files.world.yaml', 'version: 1\nname: files\nkind: module\nmodule: files.world.ts\n');
    const file = bench.batch('files', { batch: 'world: files.world.yaml\nretry: { infrastructure: 0 }\n' });
    const { code, report, stderr } = await bench.runBatch(file);
    assert.deepEqual([code, report.infrastructure, report.unscored], [3, 1, 0], stderr);
  });

  it('is lost if its scorer fails because the machine has too little of something', async () => {
    for (const code of ['EMFILE', 'ENOMEM', 'EAGAIN']) {
      bench.write(
        `${code}.ts`,
        `let tries = 0;
export function score() {
  tries += 1;
  if (tries === 1) throw Object.assign(new Error('${code}: too few'), { code: '${code}' });
  return { value: 1, passed: true };
}
`,
      );
      const scorer = `{ kind: module, module: ${code}.ts }`;
      const file = bench.batch(`scored-${code}`, { scorer, batch: 'retry: { infrastructure: 0 }\n' });
      const { code: exit, report, stderr } = await bench.runBatch(file);
      assert.deepEqual([exit, report.infrastructure, report.unscored, report.passed], [3, 1, 0, 0], stderr);
      assert.match(stderr, new RegExp(`Scoring failed: .*${code}: too few`));
    }
  });

  it('says so in one line with its position and last words, and stops itself', async () => {
    const file = bench.batch('doomed', {
      tools: server('doomed'),
      batch: 'attempts: 40\nconcurrency: 4\n',
      tasks: { one: 'answer 42' },
    });
    const { code, stdout, stderr } = await bench.rollout(['run', file, '--json']);
    const report = parseDocument<Report>(stdout, stderr);
    assert.equal(code, 3, stderr);
    const lines = stderr.split('\n');
    const first = lines.filter((line) => line.startsWith('An attempt was lost to infrastructure: '));
    assert.equal(first.length, 1, stderr);
    assert.match(
      first[0] ?? '',
      /doomed\.agent\.yaml:5:\d+: the MCP server "licensed" exited with code 4\..*\| no license/,
    );
    assert.ok(
      lines.some((line) => line.startsWith('The first 10 rollouts were all lost to infrastructure. ')),
      stderr,
    );
    const { api } = await connect({ store: bench.store });
    const { reason = '', counts } = await api.batch(report.batch);
    assert.match(reason, /^The first 10 rollouts were all lost to infrastructure\. .*no license/);
    // Those that run when it stops are cancelled.
    assert.equal(counts.infrastructure + counts.cancelled, 40);
    assert.ok(counts.infrastructure >= 36, JSON.stringify(counts));
    const events = (await Array.fromAsync(api.allEvents(report.batch))).flat();
    const infra = events.filter((event) => event.kind === 'infra').map(({ data }) => data.what);
    assert.deepEqual(infra, ['attempt', 'attempts']);
    assert.ok(events.some(({ kind }) => kind === 'batch.end'));
  });
});
