// The sample workspace as `init` creates it, without `node_modules`: editors see its types, and it is valid.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Bench, root } from '../support/cli.ts';

const tsc = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const sample = path.join(root, 'media', 'sample');

describe('a fresh workspace', { timeout: 480_000 }, () => {
  const bench = new Bench();
  const workspace = bench.path('desk');
  let written: string[];
  before(async () => {
    const created = await bench.json<{ folder: string; files: string[] }>(['init', 'desk']);
    assert.equal(created.folder, workspace);
    written = created.files;
  });
  after(() => bench.close());

  const compile = (): { status: number | null; stdout: string } =>
    spawnSync(process.execPath, [tsc, '-p', workspace], { encoding: 'utf8' });

  it('has every file of the sample, the ignore file under its real name', () => {
    assert.deepEqual(
      written.toSorted(),
      filesOf(sample)
        .map((file) => (file === 'gitignore' ? '.gitignore' : file))
        .toSorted(),
    );
    for (const file of written)
      assert.deepEqual(
        readFileSync(path.join(workspace, file)),
        readFileSync(path.join(sample, file === '.gitignore' ? 'gitignore' : file)),
        file,
      );
    assert.match(readFileSync(path.join(workspace, '.gitignore'), 'utf8'), /^\.env$/m);
    // Files that point to this machine's installation are not committed.
    assert.equal(readFileSync(path.join(workspace, '.rollout', '.gitignore'), 'utf8'), '*\n');
    assert.equal(
      filesOf(workspace).some((file) => file.includes('node_modules')),
      false,
    );
  });

  it('type-checks as editors see it, and shows a mistake', () => {
    const clean = compile();
    assert.equal(clean.stdout, '');
    assert.equal(clean.status, 0);
    const file = path.join(workspace, 'tools', 'wrong.ts');
    writeFileSync(
      file,
      "import { tool } from 'rollout-studio';\nimport { z } from 'zod';\nexport const wrong = tool({ " +
        "description: '', input: z.object({ n: z.number() }), run: ({ n }) => n.length });\n",
    );
    const { status, stdout } = compile();
    assert.notEqual(status, 0);
    assert.match(stdout, /wrong\.ts[^\n]*Property 'length' does not exist on type 'number'/);
    rmSync(file);
  });

  it('checks clean, and its first batch runs', async () => {
    const checked = await bench.run(['check'], { cwd: workspace });
    assert.equal(checked.code, 0, checked.stdout + checked.stderr);
    assert.match(checked.stdout, /^No problems in \d+ files\.$/m);
    assert.deepEqual((await bench.json<{ problems: unknown[] }>(['check'], { cwd: workspace })).problems, []);
    const report = await bench.json<{ attempts: number; scored: number }>(
      ['run', path.join('batches', 'first.batch.yaml')],
      { cwd: workspace },
    );
    assert.deepEqual([report.attempts, report.scored], [1, 1]);
  });

  it('is created at the requested path, and init prints how to run it from here', async () => {
    const here = bench.path('deep', 'er');
    mkdirSync(here, { recursive: true });
    const outputOf = async (...args: string[]): Promise<string> =>
      /^Run it: {2}rollout run (.*)$/m.exec((await bench.run(['init', ...args], { cwd: here })).stdout)?.[1] ?? '';
    const first = path.join('batches', 'desk.batch.yaml');
    assert.equal(await outputOf(), first);
    assert.equal(await outputOf('below'), path.join('below', first));
    assert.equal(await outputOf('..below'), path.join('..below', first), 'a name, not a parent folder');
    // Nothing counts the steps up.
    for (const up of [path.join('..', 'sibling'), path.join('..', '..', 'far')])
      assert.equal(await outputOf(up), path.join(realpathSync(here), up, first));
  });

  it('is never overwritten', async () => {
    const again = await bench.run(['init', 'desk']);
    assert.equal(again.code, 2);
    assert.match(again.stderr, /already contains .*No files were written/);
    // One existing file is enough, and then nothing at all is written.
    const other = bench.path('other');
    mkdirSync(other);
    writeFileSync(path.join(other, 'README.md'), 'mine');
    const one = await bench.run(['init'], { cwd: other });
    assert.equal(one.code, 2);
    assert.match(one.stderr, /already contains README\.md/);
    assert.deepEqual(readdirSync(other), ['README.md']);
    assert.equal(readFileSync(path.join(other, 'README.md'), 'utf8'), 'mine');
    // Files that are not in the sample do not matter.
    rmSync(path.join(other, 'README.md'));
    writeFileSync(path.join(other, 'notes.txt'), 'mine');
    assert.equal((await bench.run(['init'], { cwd: other })).code, 0);
    assert.ok(existsSync(path.join(other, 'notes.txt')) && existsSync(path.join(other, 'agents', 'desk.agent.yaml')));
  });
});

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));
}
