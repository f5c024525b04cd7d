import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PagePlace } from '../../../src/protocol/page.ts';
import { placeFromParams, viewUrl } from '../../../src/protocol/viewLink.ts';

const ADDRESS = { url: 'http://127.0.0.1:4711', token: 'abc' };

describe('the URL of a page', () => {
  const places: PagePlace[] = [
    { page: 'batch', batch: 'b1' },
    { page: 'batch', batch: 'b1', filter: 'tool:"a & b" #1=2+3' },
    { page: 'trajectory', rollout: 'r1' },
    { page: 'trajectory', rollout: 'r1', seq: 12, tab: 'call' },
    { page: 'trajectory', rollout: 'r1', seq: 12, check: 0 },
    { page: 'trajectory', rollout: 'r1', step: 0 },
    { page: 'trajectory', rollout: 'r1', seq: 12, fork: true },
    { page: 'compare', batch: 'b1', task: 'a/b & #2' },
    { page: 'compare', batch: 'b1', task: 'a/b & #2', rollout: 'r1', with: 'b2' },
    { page: 'batches', batch: 'b1', with: 'b2' },
  ];
  for (const place of places) {
    it(`restores ${JSON.stringify(place)}, with its token only in the fragment`, () => {
      const url = new URL(viewUrl(ADDRESS, place, true));
      assert.deepEqual([url.origin, url.pathname, url.search], [ADDRESS.url, '/view/', '']);
      const values = new URLSearchParams(url.hash.slice(1));
      assert.deepEqual([values.get('token'), values.get('edit')], ['abc', '1']);
      assert.deepEqual(placeFromParams(values), place);
    });
  }

  it('omits editing when the token may only read', () => {
    assert.equal(
      viewUrl(ADDRESS, { page: 'batch', batch: 'b1' }, false),
      'http://127.0.0.1:4711/view/#token=abc&batch=b1',
    );
  });

  it('returns no place for other URLs, and no number for other texts', () => {
    assert.equal(placeFromParams(new URLSearchParams('token=1')), undefined);
    assert.deepEqual(placeFromParams(new URLSearchParams('rollout=r1&seq=-1&step=1e3')), {
      page: 'trajectory',
      rollout: 'r1',
    });
  });
});
