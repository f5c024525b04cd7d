import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Problem } from '../../../src/config/source/problem.ts';
import { runBatch } from '../../../src/host/launch/runBatch.ts';

describe('a launch through the command line', () => {
  it('reports what the command line warns of', async () => {
    const warning: Problem = {
      file: '/w/desk.agent.yaml',
      line: 4,
      column: 3,
      endLine: 4,
      endColumn: 9,
      severity: 'warning',
      code: 'env',
      variable: 'PGPORT',
      message: 'the value of PGPORT is too common to hide: records show it',
      hint: 'If it is secret, use a longer value with letters. Otherwise, nothing is wrong.',
    };
    const warned: Problem[] = [];
    const batch = await runBatch(
      { json: () => Promise.resolve({ batch: 'b1', warnings: [warning] }) },
      {
        file: '/w/desk.batch.yaml',
        cwd: '/w',
        answers: { tasks: { kind: 'all' } },
        onWarnings: (found) => warned.push(...found),
      },
    );
    assert.equal(batch, 'b1');
    assert.deepEqual(
      warned.map(({ severity, code, variable, message }) => ({ severity, code, variable, message })),
      [{ severity: 'warning', code: 'env', variable: 'PGPORT', message: warning.message }],
    );
  });
});
