import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { forkHeld } from '../../../src/host/debug/forkHeld.ts';

describe('a fork for the debugger', () => {
  it('is created with the command line, with its edits in a temporary file', async () => {
    let edits = '';
    const fork = await forkHeld(
      {
        rollout: 'r1',
        seq: 7,
        edits: [{ of: { m: 3 }, path: '/parts/0/content', value: 'x' }],
        acceptIrreversible: true,
        runs: { model: 'larger', agent: 'a.agent.yaml' },
        store: undefined,
        by: 'debugger in VS Code',
      },
      (args) => {
        const at = args.indexOf('--edit');
        edits = args[at + 1] ?? '';
        assert.deepEqual(JSON.parse(readFileSync(edits, 'utf8')), [
          { of: { m: 3 }, path: '/parts/0/content', value: 'x' },
        ]);
        assert.deepEqual(args.toSpliced(at, 2), [
          'fork',
          'r1@7',
          '--hold',
          '--held-by',
          'debugger in VS Code',
          '--detach',
          '--accept-irreversible',
          '--agent',
          'a.agent.yaml',
          '--model',
          'larger',
        ]);
        return Promise.resolve({
          batch: 'b1',
          rollout: 'r1',
          seq: 7,
          differs: ['agent.model.name: demo → larger'],
          warnings: [],
        });
      },
    );
    assert.deepEqual(fork, { batch: 'b1', differs: ['agent.model.name: demo → larger'], warnings: [] });
    assert.equal(existsSync(edits), false);
  });

  it('fails with the command’s own message', async () => {
    await assert.rejects(
      forkHeld(
        { rollout: 'r1', seq: 1, edits: [], acceptIrreversible: false, runs: {}, store: undefined, by: 'me' },
        () => Promise.reject(new Error('no such rollout')),
      ),
      /no such rollout/,
    );
  });
});
