import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lastText, usedByText } from '../../../../src/host/codelens/lensText.ts';
import { batchRow } from '../rows.ts';

describe('texts of lenses', () => {
  it('show the progress, then the outcome', () => {
    assert.equal(lastText(batchRow({ counts: { passed: 10, queued: 86 } }), 0), '$(loading~spin)\u00a0Running: 10/96');
    assert.equal(
      lastText(batchRow({ state: 'paused', counts: { passed: 10, held: 2, queued: 84 } }), 0),
      '$(debug-pause)\u00a0Paused: 10/96',
    );
    assert.equal(
      lastText(batchRow({ state: 'ended', counts: { passed: 24, failed: 72 } }), 7_200_000),
      'Last: pass@1 0.25, 2 h ago',
    );
    assert.equal(
      lastText(batchRow({ state: 'ended', counts: { cancelled: 96 } }), 0),
      'Last: nothing scored, just now',
    );
    assert.deepEqual([1, 3].map(usedByText), [
      '$(play)\u00a0Used by 1 batch: Launch…',
      '$(play)\u00a0Used by 3 batches: Launch…',
    ]);
  });
});
