// `rollout check` loads the modules that files name, as a rollout would.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, it } from 'node:test';
import { checkDisk } from '../../src/client/commands/checkDisk.ts';
import { modulesLoader } from '../../src/rerun/loadModules.ts';

const FILES: Readonly<Record<string, string>> = {
  'package.json': '{}',
  'desk.batch.yaml':
    'version: 1\nagent: desk.agent.yaml\nworld: desk.world.yaml\ndataset: { file: tasks.jsonl }\n' +
    'scorer: { kind: module, module: code/score.ts, export: grade }\n',
  'desk.agent.yaml':
    "version: 1\nname: desk\nmodel: { endpoint: 'http://localhost:1/v1', name: x }\nprompt: hello\n" +
    'tools:\n  - module: code/tools.ts\n  - module: code/none.ts\n  - module: code/fine.ts\n',
  'desk.world.yaml': 'version: 1\nname: desk\nkind: module\nmodule: code/world.ts\n',
  'tasks.jsonl': '{"id": "a", "question": "?"}\n',
  'code/tools.ts': 'const settings: { port?: { at: number } } = {};\n\nexport const at = settings.port!.at;\n',
  'code/none.ts': 'export const tool = 1;\n',
  'code/fine.ts':
    "import { tool } from 'rollout-studio';\nimport { z } from 'zod';\n" +
    "export const fine = tool({ description: 'Is fine.', input: z.object({}), run: () => 1 });\n",
  'code/world.ts': "export const open = () => ({ tools: {} });\nthrow new Error('no library');\n",
  'code/score.ts': 'export const score = () => ({ value: 1, passed: true });\n',
};

let folder: string;
before(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'check-'));
  await mkdir(path.join(folder, 'code'));
  for (const [file, text] of Object.entries(FILES)) await writeFile(path.join(folder, file), text);
});
after(() => rm(folder, { recursive: true, force: true }));

async function problems(files: readonly string[]): Promise<string[]> {
  const checked = await checkDisk(folder, files, modulesLoader(new AbortController().signal), {});
  return checked.problems.map(
    ({ file, line, column, message, hint }) => `${path.relative(folder, file)}:${line}:${column}: ${message} — ${hint}`,
  );
}

const MUST_LOAD = 'The module must load before a rollout can use it.';

it('reports which modules of a batch cannot be used, and where', { timeout: 60_000 }, async () => {
  assert.deepEqual(await problems(['desk.batch.yaml']), [
    'code/none.ts:1:1: the module exports no tools; add `export const name = tool({ … })` with `tool` from ' +
      `rollout-studio — ${MUST_LOAD}`,
    'code/score.ts:1:1: the module does not export "grade" — It exports score.',
    "code/tools.ts:3:34: cannot load the module: Cannot read properties of undefined (reading 'at') — " + MUST_LOAD,
    `code/world.ts:2:7: cannot load the module: no library — ${MUST_LOAD}`,
  ]);
});

it('reports each module once when several files name it', { timeout: 60_000 }, async () => {
  assert.equal((await problems(['desk.batch.yaml', 'desk.agent.yaml', 'desk.world.yaml'])).length, 4);
});
