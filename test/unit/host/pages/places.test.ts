/** Places, links, and source paths of the pages, as the extension reads and writes them. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { candidatesOf, scenarioCodeOf } from '../../../../src/client/sourcePaths.ts';
import { argumentPlace, argumentTask } from '../../../../src/host/open/argument.ts';
import { batchIcon } from '../../../../src/host/pages/icon.ts';
import { panelKey, placeFile } from '../../../../src/host/pages/placeName.ts';
import {
  EXTENSION_ID,
  editorUrl,
  linkPlace,
  placeLink,
  placeReference,
  readLink,
} from '../../../../src/protocol/editorLink.ts';
import type { PagePlace } from '../../../../src/protocol/page.ts';
import { OUTCOMES } from '../../../../src/trace/outcome.ts';

test('a link leads back to its place', () => {
  const places: PagePlace[] = [
    { page: 'batch', batch: 'b1' },
    { page: 'batch', batch: 'b1', filter: 'tool == "find & replace" || task == "ä"' },
    { page: 'trajectory', rollout: 'r1', seq: 12, tab: 'world' },
    { page: 'trajectory', rollout: 'r1', seq: 12, check: 1 },
    { page: 'compare', batch: 'b1', task: 'renew/17 & ä:2@3' },
    { page: 'compare', batch: 'b1', task: 't', with: 'b2' },
    { page: 'compare', batch: 'b1', task: 't', rollout: 'r1' },
    { page: 'batches', batch: 'b1', with: 'b2' },
    { page: 'fidelity', batch: 'b1' },
  ];
  for (const place of places) {
    const { path: where, query } = placeLink(place);
    const link = readLink(where, query);
    assert.ok(link !== undefined);
    assert.equal(link.reference, placeReference(place));
    assert.equal(link.compare === true, place.page === 'compare');
    const bare: PagePlace =
      place.page === 'compare'
        ? { page: 'compare', batch: place.batch, task: place.task }
        : place.page === 'batch' || place.page === 'batches' || place.page === 'fidelity'
          ? { page: 'batch', batch: place.batch }
          : { page: 'trajectory', rollout: place.rollout, ...(place.seq === undefined ? {} : { seq: place.seq }) };
    assert.deepEqual(linkPlace(bare, link), place);
    const url = new URL(editorUrl(place));
    assert.deepEqual(
      [url.protocol, url.host, readLink(url.pathname, url.search.slice(1))],
      ['vscode:', EXTENSION_ID, link],
    );
  }
  assert.equal(readLink('/open', ''), undefined);
  assert.equal(readLink('/else', 'ref=b1'), undefined);
});

test('references are those of the command line; a rollout has one panel for all its places', () => {
  assert.equal(placeReference({ page: 'trajectory', rollout: 'r1', seq: 4, step: 2 }), 'r1@4');
  assert.equal(placeReference({ page: 'trajectory', rollout: 'r1', step: 2 }), 'r1:2');
  assert.equal(placeReference({ page: 'trajectory', rollout: 'r1' }), 'r1');
  assert.equal(
    panelKey({ page: 'trajectory', rollout: 'r1', seq: 4 }),
    panelKey({ page: 'trajectory', rollout: 'r1', tab: 'raw' }),
  );
  assert.equal(placeReference({ page: 'compare', batch: 'b1', task: 'a/b' }), 'b1/a/b');
  assert.equal(
    new Set(['t', 'u'].map((task) => panelKey({ page: 'compare', batch: 'b1', task }))).add(
      panelKey({ page: 'batch', batch: 'b1' }),
    ).size,
    3,
  );
  assert.deepEqual(
    [
      placeFile({ page: 'compare', batch: 'b1', task: '../a b' }),
      placeFile({ page: 'trajectory', rollout: 'r1', seq: 3 }),
      placeFile({ page: 'batch', batch: 'b1' }),
    ],
    ['b1-..-a-b.html', 'r1.html', 'b1.html'],
  );
  assert.notEqual(panelKey({ page: 'trajectory', rollout: 'x' }), panelKey({ page: 'batch', batch: 'x' }));
});

test('commands understand rows, tree items, IDs, references, and places', () => {
  assert.equal(argumentPlace('b1/task/2:3'), 'b1/task/2:3');
  assert.deepEqual(argumentPlace({ batch: 'b1', name: 'desk', tasks: 3 }), { page: 'batch', batch: 'b1' });
  assert.deepEqual(argumentPlace({ row: { batch: 'b1' } }), { page: 'batch', batch: 'b1' });
  assert.deepEqual(argumentPlace({ rollout: 'r1', batch: 'b1', task: 't', attempt: 2 }), {
    page: 'trajectory',
    rollout: 'r1',
  });
  assert.equal(argumentPlace({ batch: 'b1', task: 't', attempt: 2 }), 'b1/t/2');
  assert.deepEqual(argumentPlace({ batch: 'b1', task: 't' }), { page: 'batch', batch: 'b1', filter: 't' });
  assert.deepEqual(argumentPlace({ page: 'trajectory', rollout: 'r1', seq: 3 }), {
    page: 'trajectory',
    rollout: 'r1',
    seq: 3,
  });
  assert.equal(argumentPlace(undefined), undefined);
  assert.equal(argumentPlace({ label: 'x' }), undefined);
});

test('attempts are compared for the task of the argument, else a task is picked', () => {
  assert.deepEqual(argumentTask({ kind: 'task', batch: 'b1', task: 't', reference: 'b1/t' }), {
    batch: 'b1',
    task: 't',
  });
  assert.deepEqual(argumentTask({ kind: 'attempt', batch: 'b1', task: 't', rollout: 'r1' }), {
    batch: 'b1',
    task: 't',
    rollout: 'r1',
  });
  assert.deepEqual(argumentTask({ webviewSection: 'rolloutAttempt', batch: 'b1', task: 't', attempt: 2 }), {
    batch: 'b1',
    task: 't',
  });
  assert.deepEqual(argumentTask({ row: { batch: 'b1', task: 't' } }), { batch: 'b1', task: 't' });
  assert.deepEqual(argumentTask({ page: 'trajectory', rollout: 'r1', seq: 3 }), { rollout: 'r1' });
  assert.deepEqual(argumentTask({ page: 'batch', batch: 'b1' }), { batch: 'b1' });
  assert.deepEqual(argumentTask('b1/t'), { reference: 'b1/t' });
  assert.equal(argumentTask({ path: '/some/file' }), undefined);
});

test('a source file is looked for where it was submitted from, then in the workspace', () => {
  const from = path.join(path.sep, 'home', 'me', 'desk');
  const here = path.join(path.sep, 'work', 'desk');
  const modules = [
    { file: 'tools/loans.ts', path: path.join(from, 'tools', 'loans.ts') },
    { file: 'worlds/library.ts' },
  ];
  assert.deepEqual(candidatesOf('tools/loans.ts', modules, [here]), [
    path.join(from, 'tools', 'loans.ts'),
    path.join(here, 'tools', 'loans.ts'),
  ]);
  assert.deepEqual(candidatesOf('worlds/library/desk.ts', modules, [here]), [
    path.join(from, 'worlds', 'library', 'desk.ts'),
    path.join(here, 'worlds', 'library', 'desk.ts'),
  ]);
  assert.deepEqual(candidatesOf('a.ts', [], [here]), [path.join(here, 'a.ts')]);
  assert.deepEqual(candidatesOf(path.join(from, 'a.ts'), modules, [here]), [path.join(from, 'a.ts')]);
});

test('the icon of a batch’s page shows whether it runs', () => {
  assert.deepEqual([batchIcon({ state: 'running' }), batchIcon({ state: 'ended' })], ['running', 'batch']);
});

test('every icon has its file', () => {
  const folder = path.join(import.meta.dirname, '../../../../media/icons/pages');
  assert.deepEqual(
    readdirSync(folder).sort(),
    ['batch', 'try', 'world', ...OUTCOMES].map((icon) => `${icon}.svg`).sort(),
  );
});

test('the code of a scenario is found in the published file that its failures name', () => {
  const at = (...parts: string[]): string => path.join(path.sep, 'worlds', ...parts);
  const environments = at('mix', 'environment_mix');
  for (const [published, from] of [
    [at('awm', 'gen_envs.jsonl'), at('awm')],
    [path.join(environments, 'rooms_step4_checkpoint.json'), at('mix')],
    [path.join(environments, 'rooms', 'rooms_step4_checkpoint.json'), at('mix')],
  ] as const)
    assert.deepEqual(scenarioCodeOf(path.join(published, 'rooms.py')), { from, key: 'rooms', published });
  for (const file of [at('awm', 'gen_envs', 'rooms.py'), at('awm', 'gen_envs.jsonl', 'rooms.ts')])
    assert.equal(scenarioCodeOf(file), undefined);
});
