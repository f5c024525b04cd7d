/** An export that ends early leaves the file that was there, and nothing else. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statfsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { Bench } from '../support/cli.ts';
import { type DemoServer, startDemoServer } from '../support/demoServer.ts';
import { smallDisk } from '../support/smallDisk.ts';
import { Workspace } from '../support/testWorkspace.ts';

const OLD = 'what an earlier export wrote\n';
const MB = 1024 * 1024;
/** Of the small disk: less than the rows need. */
const FREE = 64 * 1024;

let demo: DemoServer;
let workspace: Workspace;
let batch: string;
before(async () => {
  demo = await startDemoServer();
  workspace = new Workspace(new Bench());
  const file = workspace.batch('exported', {
    endpoint: demo.url,
    tasks: [1, 2].map((n) => ({
      id: `t${n}`,
      question: `call calculate {"expression":"${n} + 1"} times 8\nanswer {{last}}`,
      answer: '2',
    })),
    agent: { tools: [{ builtin: ['calculator'] }] },
    model: { capture: { token_ids: true, logprobs: true } },
    batch: { attempts: 16 },
  });
  ({ batch } = await workspace.json<{ batch: string }>('run', file));
});
after(async () => {
  await workspace.close();
  await demo.close();
});

/** Makes a folder with an earlier export, and returns its file. */
function earlier(folder: string): string {
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, 'rows.jsonl');
  writeFileSync(file, OLD);
  writeFileSync(path.join(folder, 'rows.manifest.json'), OLD);
  return file;
}

function assertUntouched(folder: string): void {
  assert.deepEqual(readdirSync(folder).sort(), ['rows.jsonl', 'rows.manifest.json']);
  for (const name of readdirSync(folder)) assert.equal(readFileSync(path.join(folder, name), 'utf8'), OLD);
}

describe('an export that ends early leaves the old file whole, and no other', { timeout: 480_000 }, () => {
  it('at Ctrl-C', { skip: process.platform === 'win32' ? 'Windows has no signals' : false }, async () => {
    const folder = workspace.path('interrupted');
    const file = earlier(folder);
    const child = workspace.bench.start(['export', batch, '--to', 'groups', '--out', file]);
    const closed = once(child, 'close');
    let said = '';
    child.stderr?.on('data', (chunk) => (said += String(chunk)));
    const pid = workspace.bench.serverFile()?.pid ?? assert.fail('no server');
    while (!readdirSync(folder).some((name) => name.endsWith('.part'))) {
      assert.equal(child.exitCode, null, said);
      await new Promise((resolve) => setImmediate(resolve));
    }
    // Its rows do not come now, so that the signal arrives in the middle.
    process.kill(pid, 'SIGSTOP');
    try {
      child.kill('SIGINT');
      assert.deepEqual(await closed, [130, null], said);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    assertUntouched(folder);
  });

  it('on a full disk, and says so', async (t: TestContext) => {
    const disk = smallDisk(workspace.bench, 1);
    if ('why' in disk) {
      t.skip(disk.why);
      return;
    }
    t.after(() => disk.close());
    const root = path.dirname(disk.store);
    const { bsize, blocks, bavail } = statfsSync(root);
    if (bsize * blocks > MB) {
      t.skip('no small disk can be mounted here');
      return;
    }
    const folder = path.join(root, 'out');
    const file = earlier(folder);
    writeFileSync(path.join(root, 'filler'), Buffer.alloc(bsize * bavail - FREE));
    const full = await workspace.run('export', batch, '--to', 'groups', '--out', file);
    assert.equal(full.code, 3, full.stderr);
    assert.match(full.stderr, /Cannot write .*rows\.jsonl: the disk is full\.[\s\S]*Make room, or export less/);
    assertUntouched(folder);
    disk.makeRoom();
    assert.equal((await workspace.run('export', batch, '--to', 'groups', '--out', file)).code, 0);
    assert.equal(readFileSync(file, 'utf8').trimEnd().split('\n').length, 32);
    assert.deepEqual(readdirSync(folder).sort(), ['rows.jsonl', 'rows.manifest.json']);
  });
});
