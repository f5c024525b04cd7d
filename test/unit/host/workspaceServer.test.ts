import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ServerSetting, type SettingValues, WorkspaceServer } from '../../../src/host/server/workspaceServer.ts';
import { TestMemory } from '../../support/testMemory.ts';

interface Scopes {
  readonly own?: string;
  readonly workspace?: string;
}

function serverOf(
  memory: TestMemory,
  scopes: Partial<Record<ServerSetting, Scopes>>,
  workspace = '/w',
): WorkspaceServer {
  const read = (setting: ServerSetting): SettingValues => {
    const { own = '', workspace: shipped } = scopes[setting] ?? {};
    return { used: shipped ?? own, own, workspace: shipped };
  };
  return new WorkspaceServer({ memory, read, workspace: () => workspace });
}

test('a value of the workspace counts only after the user allowed it', async () => {
  const memory = new TestMemory();
  const scopes = { store: { own: '/mine', workspace: './shipped' }, target: { workspace: 'gpus' } };
  const server = serverOf(memory, scopes);
  assert.deepEqual([server.value('store'), server.value('target')], ['/mine', '']);
  const [target, store] = server.undecided;
  assert.deepEqual([target?.value, store?.value], ['gpus', './shipped']);
  assert.ok(target !== undefined && store !== undefined);
  await server.decide([target, store], [store]);
  assert.deepEqual([server.value('store'), server.value('target')], ['./shipped', '']);

  // In the next window, decisions are kept for this workspace and this content.
  const next = serverOf(memory, scopes);
  assert.deepEqual([next.undecided, next.named.length, next.value('store')], [[], 2, './shipped']);
  const changed = serverOf(memory, { store: { own: '/mine', workspace: './changed' } });
  assert.deepEqual([changed.undecided.length, changed.value('store')], [1, '/mine']);
  const elsewhere = serverOf(memory, scopes, '/v');
  assert.deepEqual([elsewhere.undecided.length, elsewhere.value('store')], [2, '/mine']);
});

test('nothing is asked for the user’s own values and for targets that were selected in the window', async () => {
  const memory = new TestMemory();
  const own = serverOf(memory, { store: { own: '/mine' }, target: { own: 'gpus', workspace: ' gpus ' } });
  assert.deepEqual([own.named, own.value('store'), own.value('target').trim()], [[], '/mine', 'gpus']);
  const selected = serverOf(memory, { target: { own: 'gpus', workspace: 'cpus' } });
  assert.equal(selected.value('target'), 'gpus');
  await selected.allow('target', 'cpus');
  assert.deepEqual([selected.undecided, selected.value('target')], [[], 'cpus']);
});
