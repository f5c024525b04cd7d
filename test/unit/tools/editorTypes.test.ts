import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { writeEditorTypes } from '../../../src/tools/editorTypes.ts';

let root: string;
before(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'types-'));
});
after(() => rm(root, { recursive: true }));

describe('writeEditorTypes', () => {
  it("shows our types and zod's to TypeScript in a workspace without node_modules", { timeout: 60_000 }, async () => {
    assert.equal(await writeEditorTypes(root), undefined);
    await writeFile(
      path.join(root, 'a.ts'),
      `import { tool } from 'rollout-studio';
import { z } from 'zod';
export const right = tool({ description: '', input: z.object({ n: z.number() }), run: ({ n }, { log }) => { \
log(String(n)); return n + 1; } });
export const wrong = tool({ description: '', input: z.object({ n: z.number() }), run: ({ n }) => n.length });
`,
    );
    const tsc = path.resolve(import.meta.dirname, '../../../node_modules/typescript/bin/tsc');
    const { stdout } = spawnSync(process.execPath, [tsc, '-p', root], { cwd: root, encoding: 'utf8' });
    assert.equal(stdout.trim(), "a.ts(4,100): error TS2339: Property 'length' does not exist on type 'number'.");
  });

  it("writes nothing the second time, and leaves a user's tsconfig alone", async () => {
    const file = path.join(root, '.rollout/tsconfig.json');
    const before = (await stat(file)).mtimeMs;
    assert.equal(await writeEditorTypes(root), undefined);
    assert.equal((await stat(file)).mtimeMs, before);
    await writeFile(path.join(root, 'tsconfig.json'), '{}');
    assert.equal(await writeEditorTypes(root), '"extends": "./.rollout/tsconfig.json"');
    assert.equal(await readFile(path.join(root, 'tsconfig.json'), 'utf8'), '{}');
    assert.equal(await readFile(path.join(root, '.rollout/.gitignore'), 'utf8'), '*\n');
  });
});
