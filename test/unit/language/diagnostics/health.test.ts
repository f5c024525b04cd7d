// What the lint of worlds finds, in the editor.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Problem } from '../../../../src/config/source/problem.ts';
import { healthProblems } from '../../../../src/language/diagnostics/health.ts';
import { trackReads } from '../../../../src/language/workspace/cachedFiles.ts';
import { NO_FACTS } from '../../../../src/language/workspace/facts.ts';
import { workspaceOf } from '../workspaceKit.ts';

const WORLD = '/w/garden.world.yaml';
const FILES = {
  [WORLD]: 'version: 1\nname: garden\nkind: code\nformat: awm\nfrom: published\nscenario: garden\n',
  '/w/published/gen_envs.jsonl': '{}\n',
  '/w/published/gen_envs/garden.py': 'import os\n',
  '/w/rooms.world.yaml':
    'version: 1\nname: rooms\nkind: code\nformat: agent-world\nfrom: rooms\nscenario: study_rooms\n',
  '/w/rooms/environment_mix/study_rooms/bookings.json': '[{"room": "R-9"}]',
  '/w/rooms/environment_mix/study_rooms_step4_checkpoint.json': '{}',
  '/w/rooms/environment_mix/other/bookings.json': '[]',
  '/w/library.world.yaml': 'version: 1\nname: library\nkind: module\nmodule: library.ts\n',
};

const problem = (file: string): Problem => ({
  ...{ file, line: 3, column: 7, endLine: 3, endColumn: 8, message: 'garden: two tools are named water' },
  ...{ hint: 'Rename one.', severity: 'error', code: 'world' },
});

it('problems are at the name of the scenario, and those in files with code where they are', async () => {
  const asked: string[] = [];
  const workspace = workspaceOf(FILES, {
    ...NO_FACTS,
    worldProblems: (file, stamp) => {
      asked.push(stamp);
      assert.equal(file, WORLD);
      return [problem('/w/published/gen_envs.jsonl'), problem('/w/published/gen_envs/garden.py')];
    },
  });
  const dependencies = new Set<string>();
  const files = trackReads(workspace.files, dependencies, (path, text) => workspace.parse(path, text));
  const found = await healthProblems(workspace, files, WORLD);
  assert.deepEqual(
    found.map(({ file, line, column, message }) => `${file}:${line}:${column} ${message}`),
    [
      `${WORLD}:6:11 garden: two tools are named water (gen_envs.jsonl:3:7)`,
      '/w/published/gen_envs/garden.py:3:7 garden: two tools are named water',
    ],
  );
  // Changes of the published files lead to another lint.
  assert.ok(dependencies.has('/w/published/gen_envs.jsonl') && dependencies.has('/w/published/gen_envs/garden.py'));
  workspace.edit('/w/published/gen_envs/garden.py', 'import os\n', 1);
  workspace.edit('/w/published/gen_envs/garden.py', 'import sys\n', 2);
  await healthProblems(workspace, files, WORLD);
  assert.equal(new Set(asked).size, 1, 'the lint reads what is saved');
  workspace.files.save('/w/published/gen_envs/garden.py');
  await healthProblems(workspace, files, WORLD);
  assert.equal(new Set(asked).size, 2);
  // While it is edited, nothing is linted.
  workspace.edit(WORLD, FILES[WORLD], 1);
  workspace.edit(WORLD, `${FILES[WORLD]}lint: warn\n`, 2);
  assert.deepEqual(await healthProblems(workspace, files, WORLD), []);
  assert.deepEqual(await healthProblems(workspace, files, '/w/library.world.yaml'), []);
});

it('problems of an Agent-World environment are in its files, and saving one leads to another lint', async () => {
  const world = '/w/rooms.world.yaml';
  const bookings = '/w/rooms/environment_mix/study_rooms/bookings.json';
  const stamps: string[] = [];
  const workspace = workspaceOf(FILES, {
    ...NO_FACTS,
    worldProblems: (_file, stamp) => {
      stamps.push(stamp);
      return [problem(bookings)];
    },
  });
  const dependencies = new Set<string>();
  const files = trackReads(workspace.files, dependencies, (path, text) => workspace.parse(path, text));
  const found = await healthProblems(workspace, files, world);
  assert.deepEqual(
    found.map(({ file, line }) => [file, line]),
    [[bookings, 3]],
  );
  workspace.edit(bookings, '[{"room": "R-2"}]', 1); // opened, with the text on disk
  await healthProblems(workspace, files, world);
  assert.equal(new Set(stamps).size, 2, 'also when its size stays');
  assert.ok(dependencies.has('/w/rooms/environment_mix/study_rooms_step4_checkpoint.json'));
  assert.ok(!dependencies.has('/w/rooms/environment_mix/other/bookings.json'));
});
