import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Finding, findingText, isBroken, worldHealth } from '../../../src/common/worldHealth.ts';

const WARNING: Finding = {
  kind: 'optional_null',
  severity: 'warning',
  message: '`limit` of list_plots is optional, but refuses null',
  hint: 'Declare it as Optional[int].',
  place: { file: 'gen_envs.jsonl', line: 3, column: 812 },
  source: { part: 'code', line: 140, column: 5 },
  tool: 'list_plots',
};

describe('health of a world', () => {
  it('is broken by errors, not by warnings', () => {
    assert.equal(isBroken({ findings: [WARNING] }), false);
    assert.equal(isBroken({ findings: [WARNING, { ...WARNING, severity: 'error' }] }), true);
  });

  it('has findings with a place and what to do', () => {
    const expected =
      'gen_envs.jsonl:3:812: warning: `limit` of list_plots is optional, but refuses null (code, line 140) — ' +
      'Declare it as Optional[int].';
    assert.equal(findingText(WARNING), expected);
    assert.equal(findingText({ ...WARNING, severity: 'error' }), expected.replace('warning: ', ''));
    assert.match(findingText({ ...WARNING, source: undefined }, 'a/gen_envs.jsonl'), /^a\/gen_envs.*refuses null — /);
  });

  it('survives JSON, and refuses kinds that do not exist', () => {
    const health = {
      folder: 'worlds',
      scenarios: [{ scenario: 'garden', ran: ['static' as const], findings: [WARNING], strength: [] }],
      problems: ['gen_db.jsonl:7: the row names no scenario'],
    };
    assert.deepEqual(worldHealth.parse(JSON.parse(JSON.stringify(health))), health);
    const other = { ...health.scenarios[0], findings: [{ ...WARNING, kind: 'ugly' }] };
    assert.equal(worldHealth.safeParse({ ...health, scenarios: [other] }).success, false);
  });
});
