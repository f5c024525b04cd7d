/** Models of a submission that are on the target: found by their name, wherever they are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installedNames, withInstalled } from '../../../src/config/submission/installed.ts';
import { locate } from '../../../src/model/endpoint.ts';

const submission = {
  agent: {
    name: 'desk',
    model: { endpoints: ['target:'], name: 'small', headers: {} },
    team: { members: [{ name: 'm', agent: { model: { endpoints: ['target:', 'http://other/v1'], name: 'large' } } }] },
  },
  scorer: { models: { judge: { endpoints: ['target:'], name: 'gone' } } },
  world: { user: { model: { endpoints: ['http://other/v1'], name: 'small' } } },
  prompt: 'endpoint: target:',
};

test('models at target: are at the address of the installed model of their name', () => {
  assert.deepEqual(installedNames(submission), ['small', 'large', 'gone']);
  const located = withInstalled(submission, { small: 'http://a/v1', large: 'http://b/v1' });
  assert.deepEqual(located.agent.model.endpoints, ['http://a/v1']);
  assert.deepEqual(located.agent.team.members[0]?.agent.model.endpoints, ['http://b/v1', 'http://other/v1']);
  // What is not installed stays, and so do other endpoints.
  assert.deepEqual(
    [located.scorer, located.world, located.prompt],
    [submission.scorer, submission.world, submission.prompt],
  );
  assert.deepEqual(submission.agent.model.endpoints, ['target:'], 'a copy');
  assert.throws(() => locate('target:', () => ''), /no model of this name is installed on the target/);
});
