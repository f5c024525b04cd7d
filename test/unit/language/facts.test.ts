// What the language server knows about the world outside the files.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { LiveFacts } from '../../../src/language/facts/liveFacts.ts';

function facts(asked: string[] = []): LiveFacts {
  return new LiveFacts({
    env: { PATH: '/bin' },
    listTools: () => Promise.reject(new Error('no server is asked')),
    builtinTools: (set) => {
      asked.push(set);
      return Promise.resolve([{ name: 'calculate' }]);
    },
  });
}

it(
  'variables are those of the environment and those the editor keeps; in Restricted Mode they are never ' + 'revealed',
  () => {
    const known = facts();
    known.configure({ trusted: true, askEndpoints: true, keptNames: ['KEY', 'PATH'] });
    assert.deepEqual(known.envNames(), ['KEY', 'PATH']);
    known.configure({ trusted: false, askEndpoints: true, keptNames: ['KEY'] });
    assert.deepEqual(known.envNames(), []);
    known.dispose();
  },
);

it('settings of built-in tools are read once, in Restricted Mode too, and reported when ready', async () => {
  const asked: string[] = [];
  const known = facts(asked);
  const told = new Promise<void>((resolve) => {
    known.changed(() => resolve());
  });
  assert.equal(known.builtinTools('calculator'), undefined);
  await told;
  assert.deepEqual(known.builtinTools('calculator'), [{ name: 'calculate' }]);
  assert.deepEqual(asked, ['calculator']);
  known.dispose();
});
