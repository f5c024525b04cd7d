import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { exportRedaction } from '../../../src/common/redaction/exported.ts';

const GITHUB = `ghp_${'a1B2c3'.repeat(6)}`;

describe('redaction of exports', () => {
  it('hides keys by their form, in values and keys of JSON, and counts them', () => {
    const redaction = exportRedaction([], {});
    assert.deepEqual(redaction.json({ a: [`Use ${GITHUB}.`, 3], [GITHUB]: null }), {
      a: ['Use [redacted].', 3],
      '[redacted]': null,
    });
    assert.deepEqual(redaction.counts, { keys: 2 });
    const same = { text: 'the skeleton key sk-1 opens it', ids: [1, 2] };
    assert.equal(redaction.json(same), same);
    assert.equal(redaction.findings([GITHUB, GITHUB]), 2);
    assert.deepEqual(redaction.counts, { keys: 2 }, 'findings are not counted');
  });

  it('hides private keys, also in JSON', () => {
    const key = '-----BEGIN PRIVATE KEY-----\nMIIEvQ+/=\nabc\n-----END PRIVATE KEY-----';
    const redaction = exportRedaction([], {});
    assert.equal(redaction.json(`a ${key} b`), 'a [redacted] b');
    assert.equal(redaction.json(JSON.stringify(key)), '"[redacted]"');
  });

  it('hides the names of home folders, values of variables, and patterns', () => {
    const redaction = exportRedaction(['paths', 'env:PIN', 'pattern:C-\\d+'], { PIN: 'hunter2-x' });
    assert.equal(
      redaction.json('/home/ada/x, /Users/bob, C:\\Users\\cy\\y, hunter2-x, aHVudGVyMi14, C-17'),
      '/home/[redacted]/x, /Users/[redacted], C:\\Users\\[redacted]\\y, [redacted], [redacted], [redacted]',
    );
    assert.deepEqual(redaction.counts, { keys: 0, paths: 3, 'env:PIN': 2, 'pattern:C-\\d+': 1 });
  });

  it('hides nothing with none, and refuses rules that cannot work', () => {
    assert.equal(exportRedaction(['none'], {}).json(GITHUB), GITHUB);
    for (const [rules, env] of [
      [['none', 'paths'], {}],
      [['all'], {}],
      [['env:X'], {}],
      [['env:X'], { X: 'true' }],
      [['pattern:('], {}],
      [['pattern:a*'], {}],
    ] as const)
      assert.throws(() => exportRedaction(rules, env), { code: 'usage' });
  });
});
