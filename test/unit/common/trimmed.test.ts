import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { trimmedError, trimmedText } from '../../../src/common/trimmed.ts';

const at = new Date(2026, 10, 2, 12).getTime();

describe('the text about trimmed trajectories', () => {
  it('says when and why, with the year if it is another one', () => {
    const now = new Date(2026, 11, 24).getTime();
    const rule = 'rule 2: ended more than 30 d ago';
    assert.equal(trimmedText({ at }, now), 'Trajectories were trimmed on Nov 2.');
    assert.equal(trimmedText({ at, by: 'ada' }, now), 'Trajectories were trimmed on Nov 2 by ada.');
    assert.equal(
      trimmedText({ at, rule }, now),
      'Trajectories were trimmed on Nov 2 by the retention rules (rule 2: ended more than 30 d ago).',
    );
    assert.equal(trimmedText({ at }, new Date(2027, 0, 1).getTime()), 'Trajectories were trimmed on Nov 2, 2026.');
  });

  it('is an error for what needs them', () => {
    const { code, message, hint } = trimmedError('b1', { at: Date.UTC(2026, 10, 2), by: 'ada' });
    assert.deepEqual([code, message], ['gone', 'The trajectories of batch b1 were trimmed on 2026-11-02 by ada.']);
    assert.match(hint ?? '', /^The results stay/);
  });
});
