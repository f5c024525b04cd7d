import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { groupOptions, groupsOf } from '../../../src/cli/groupOptions.ts';
import { StudioError } from '../../../src/common/errors.ts';

const given = (options: Record<string, string>) => groupOptions({ words: [], options });
const isUsage = (text: RegExp) => (error: unknown) => StudioError.is(error, 'usage') && text.test(error.message);

describe('options of groups', () => {
  it('override the batch file, which --groups file takes as it is', () => {
    const section = { size: 8, extra: 2, filter: 'spread > 0' };
    assert.deepEqual(groupsOf(given({ groups: 'file' }), section), { group: section });
    assert.deepEqual(groupsOf(given({ groups: '4', filter: 'size > 1' }), section), {
      group: { size: 4, extra: 2, filter: 'size > 1' },
    });
    assert.deepEqual(groupsOf(given({ groups: '4' }), undefined), { group: { size: 4 } });
    assert.deepEqual(groupsOf(given({}), section), {}, 'the batch runs as any other');
  });

  it('are refused without groups, without a size, and with a filter that does not compile', () => {
    assert.throws(() => given({ filter: 'spread > 0' }), isUsage(/--filter need --groups/));
    assert.throws(() => groupsOf(given({ groups: 'file' }), { extra: 2 }), isUsage(/does not say how large/));
    assert.throws(() => given({ groups: '4', filter: 'spred > 0' }), isUsage(/no variable "spred"/));
  });
});
