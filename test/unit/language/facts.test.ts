// What the language server knows about the world outside the files.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { LiveFacts } from '../../../src/language/facts/liveFacts.ts';

function facts(reads: string[] = []): LiveFacts {
  return new LiveFacts({
    env: { PATH: '/bin' },
    listTools: () => Promise.reject(new Error('no server is queried')),
    builtinTools: (set) => {
      reads.push(set);
      return Promise.resolve([{ name: 'calculate' }]);
    },
  });
}

it(
  'variables are those of the environment and those the editor keeps; in Restricted Mode they are never ' + 'revealed',
  () => {
    const live = facts();
    live.configure({ trusted: true, askEndpoints: true, keptNames: ['KEY', 'PATH'] });
    assert.deepEqual(live.envNames(), ['KEY', 'PATH']);
    live.configure({ trusted: false, askEndpoints: true, keptNames: ['KEY'] });
    assert.deepEqual(live.envNames(), []);
    live.dispose();
  },
);

it('settings of built-in tools are read once, in Restricted Mode too, and reported when ready', async () => {
  const reads: string[] = [];
  const live = facts(reads);
  const ready = new Promise<void>((resolve) => {
    live.changed(() => resolve());
  });
  assert.equal(live.builtinTools('calculator'), undefined);
  await ready;
  assert.deepEqual(live.builtinTools('calculator'), [{ name: 'calculate' }]);
  assert.deepEqual(reads, ['calculator']);
  live.dispose();
});
