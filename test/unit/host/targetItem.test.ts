import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type TargetItemInput, targetItem } from '../../../src/host/targets/targetItem.ts';
import { batchRow } from './rows.ts';

const LAB = { name: 'lab', kind: 'cluster', place: 'context gpu, namespace team' } as const;
const seen = (changes: Partial<TargetItemInput> = {}): TargetItemInput => ({
  targets: [LAB],
  current: 'lab',
  state: { state: 'ok' },
  product: 'rollout-studio 1.2.3',
  batches: [],
  ...changes,
});

describe('the target in the status bar', () => {
  it('is hidden when there is nothing to choose', () => {
    assert.equal(targetItem(seen({ targets: [], current: 'local' })), undefined);
    assert.equal(targetItem(seen({ current: 'local', product: undefined }))?.text, '$(vm) local');
  });

  it('names the target, the version of its server, and what runs there', () => {
    const running = batchRow({ name: 'desk', counts: { passed: 8, failed: 4, running: 2, queued: 82 } });
    const item = targetItem(seen({ batches: [running, batchRow({ state: 'ended' })] }));
    assert.ok(item !== undefined);
    assert.equal(item.text, '$(server-environment) lab');
    assert.deepEqual(item.tooltip.split('\n'), [
      'Target lab: context gpu, namespace team',
      'rollout-studio 1.2.3',
      'desk: running 12/96',
      'Click to select another target.',
    ]);
    assert.match(item.label, /^Rollout target lab, 1 running/);
    assert.match(targetItem(seen({ batches: Array.from({ length: 12 }, () => running) }))?.tooltip ?? '', /and 2 more/);
    assert.match(targetItem(seen())?.tooltip ?? '', /No batches are running/);
  });

  it('has one quiet mark for a connection that drops again and again', () => {
    const item = targetItem(seen({ unstable: 'Unstable connection: 5 drops in the last minute' }));
    assert.ok(item !== undefined);
    assert.equal(item.text, '$(server-environment) lab $(pulse)');
    assert.equal(item.tooltip.split('\n')[2], 'Unstable connection: 5 drops in the last minute');
    assert.match(item.label, /unstable connection: 5 drops/);
  });

  it('shows a missing connection, and an unknown target', () => {
    const lost = targetItem(seen({ state: { state: 'lost', text: 'The target lab does not answer. Trying again…' } }));
    assert.match(lost?.tooltip ?? '', /^The target lab does not answer/m);
    assert.match(lost?.label ?? '', /not connected/);
    assert.deepEqual(
      [targetItem(seen({ current: 'gone' }))?.text, targetItem(seen({ targets: [{ ...LAB, kind: 'url' }] }))?.text],
      ['$(warning) gone', '$(globe) lab'],
    );
  });
});
