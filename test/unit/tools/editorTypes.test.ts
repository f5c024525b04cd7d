import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { testCase } from '../../../src/client/toolCalls/testCase.ts';
import { writeEditorTypes } from '../../../src/tools/editorTypes.ts';

let root: string;
before(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'types-'));
});
after(() => rm(root, { recursive: true }));

/** Returns what TypeScript reports about a workspace. */
function diagnosticsOf(folder: string): string {
  const tsc = path.resolve(import.meta.dirname, '../../../node_modules/typescript/bin/tsc');
  return spawnSync(process.execPath, [tsc, '-p', folder], { cwd: folder, encoding: 'utf8' }).stdout.trim();
}

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
    assert.equal(diagnosticsOf(root), "a.ts(4,100): error TS2339: Property 'length' does not exist on type 'number'.");
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

  it('leaves no red squiggle in a saved test case, in the sample workspace', { timeout: 60_000 }, async () => {
    const folder = path.join(root, 'sample');
    await cp(path.resolve(import.meta.dirname, '../../../media/sample'), folder, { recursive: true });
    await writeEditorTypes(folder);
    await mkdir(path.join(folder, 'tests'));
    await writeFile(
      path.join(folder, 'tools', 'add.ts'),
      `import { tool } from 'rollout-studio';
import { z } from 'zod';
export const add = tool({ description: '', input: z.object({ loan_id: z.string() }), run: (args) => args });
`,
    );
    const call = {
      name: 'renew_loan',
      arguments: { loan_id: 'L-3001' },
      seed: 7,
      recorded: 'task renew-one, step 4 (r1@12)',
      command: 'rollout test tests/renew_loan.test.ts',
    };
    const world = {
      seed: 7,
      task: { id: 'renew-one', question: 'Renew it.', files: [{ name: 'a.txt', sha: 'x', bytes: 1 }], meta: { n: 1 } },
      before: [{ name: 'find_member', arguments: { query: 'Ana' } }],
    };
    const error = { class: 'tool_error', message: 'The loan is on hold.' };
    const tool = { ...call, name: 'add', module: '../tools/add.ts' };
    const ofWorld = { ...call, module: '../worlds/library.ts', world };
    const tests = [
      testCase({ ...tool, result: { due: '2026-04-03' }, error: undefined }),
      testCase({ ...tool, result: undefined, error }),
      testCase({ ...ofWorld, result: { due: '2026-04-03' }, error: undefined }),
      testCase({ ...ofWorld, result: undefined, error }),
    ];
    for (const [n, text] of tests.entries()) await writeFile(path.join(folder, 'tests', `renew-${n}.test.ts`), text);
    assert.equal(diagnosticsOf(folder), '');
  });
});
