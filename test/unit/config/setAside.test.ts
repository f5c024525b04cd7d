import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withSetAside } from '../../../src/config/setAside.ts';

const FILE = 'worlds/awm.world.yaml';
const WORLD = '# ours\nversion: 1\nname: awm # short\nkind: code\nformat:   awm\nfrom: awm/\n';

describe('the tasks that a world file sets aside', () => {
  it('are added, changed, and removed, and nothing else changes', () => {
    const one = withSetAside(FILE, WORLD, ['library-2']);
    assert.equal(one, `${WORLD}set_aside: [library-2]\n`);
    assert.equal(
      withSetAside(FILE, one, ['library-2', 'town hall-0', '7']),
      `${WORLD}set_aside: [library-2, "town hall-0", "7"]\n`,
    );
    assert.equal(withSetAside(FILE, one, []), WORLD);
    assert.equal(withSetAside(FILE, WORLD.trimEnd(), ['a-0']), `${WORLD}set_aside: [a-0]\n`);
  });

  it('may be in a list of lines, in the middle of the file', () => {
    const lines = 'kind: code\nset_aside:\n  - a-0 # slow\n  - a-1\n# then\nfrom: awm/\n';
    assert.equal(withSetAside(FILE, lines, ['b-0']), 'kind: code\nset_aside: [b-0]\n# then\nfrom: awm/\n');
    assert.equal(withSetAside(FILE, 'set_aside: [\n  a-0,\n]\nkind: code\n', []), 'kind: code\n');
    assert.equal(
      withSetAside(FILE, 'kind: code\nset_aside: # none yet\nfrom: a\n', ['b-0']),
      'kind: code\nset_aside: [b-0]\nfrom: a\n',
    );
  });

  it('may be in JSON', () => {
    const json = withSetAside('a.world.json', '{"kind": "code"}', ['a-0']);
    assert.deepEqual(JSON.parse(json), { kind: 'code', set_aside: ['a-0'] });
    assert.deepEqual(JSON.parse(withSetAside('a.world.json', json, [])), { kind: 'code' });
  });

  it('are not written into a file that cannot be read', () => {
    assert.throws(() => withSetAside(FILE, 'kind: [', ['a-0']), /worlds\/awm\.world\.yaml: /);
    assert.throws(() => withSetAside(FILE, '- a', ['a-0']), /is not a world file/);
  });
});
