import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { StoreHealth } from '../../../src/server/storeHealth.ts';

test('store health is reported when it changes, not when small writes succeed between large ones', (context) => {
  const clock = { now: 0 };
  context.mock.method(performance, 'now', () => clock.now);
  const reports: string[] = [];
  const logged: string[] = [];
  const health = new StoreHealth((text) => logged.push(text));
  const stop = health.watch((text) => reports.push(text));
  health.succeeded();
  health.failed(new Error('no affair of the store'));
  health.failed(new StudioError('conflict', 'nor this'));
  assert.equal(health.trouble, undefined);
  health.failed(new StudioError('storage', 'The disk is full.', { hint: 'Make room.' }));
  clock.now = 1_000;
  health.succeeded();
  health.refused('The disk is full. Make room.');
  clock.now = 3_500;
  health.succeeded();
  assert.equal(health.trouble, 'The disk is full. Make room.');
  clock.now = 4_100;
  health.succeeded();
  assert.equal(health.trouble, undefined);
  assert.deepEqual(reports, ['The disk is full. Make room.', 'The store accepts writes again.']);
  stop();
  health.outage(undefined);
  health.refused('again');
  assert.deepEqual([reports.length, logged.length], [2, 3]);
});

test('an unavailable database is reported once, and immediately when it is back', () => {
  const reports: string[] = [];
  const health = new StoreHealth(() => undefined);
  health.watch((text) => reports.push(text));
  health.outage(new StudioError('storage', 'The database d does not answer.', { hint: 'Check that it runs.' }));
  // Failures for that reason in the meantime, and a write that succeeded before.
  health.failed(new StudioError('storage', 'The database d does not answer: read ECONNRESET.'));
  health.succeeded();
  assert.match(health.trouble ?? '', /^Waiting for the store\./);
  health.outage(undefined);
  assert.equal(health.trouble, undefined);
  assert.deepEqual(reports, [
    'Waiting for the store. The database d does not answer. Check that it runs.',
    'The store is available again.',
  ]);
});
