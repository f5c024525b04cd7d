import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeProblem } from '../../../src/common/nodeVersion.ts';

test('a Node without SQLite is refused in one sentence', () => {
  for (const version of ['22.13.0', '22.19.1', '23.0.0', '24.4.1']) assert.equal(nodeProblem(version), undefined);
  for (const version of ['18.20.4', '20.19.2', '22.12.0'])
    assert.equal(nodeProblem(version), `Rollout Studio needs Node 22.13 or newer, but this is Node ${version}.`);
});
