import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Return, Returns, returnEvent } from '../../../../src/server/workers/returns.ts';

const back = (changes: Partial<Return> = {}): Return => ({
  disconnectedMs: 1_500,
  serverChanged: false,
  kept: 4,
  dropped: 0,
  ...changes,
});

describe('a message about returned rollouts', () => {
  it('says what was lost, for how long, and what became of the rollouts', () => {
    assert.deepEqual(returnEvent([back(), back({ disconnectedMs: 3_000 })]), {
      what: 'workers_back',
      ms: 3_000,
      text: '2 workers lost the connection to the server and reconnected after 3.0 s and continued 8 rollouts.',
    });
    assert.equal(
      returnEvent([back({ kept: 0, serverChanged: undefined })]).text,
      '1 worker lost the connection to the server and reconnected after 1.5 s.',
    );
    assert.equal(
      returnEvent([back({ kept: 1, dropped: 3, disconnectedMs: 40_000 })]).text,
      '1 worker lost the connection to the server and reconnected after 40.0 s. Of their 4 rollouts, 3 had moved to ' +
        'other workers.',
    );
    assert.deepEqual(returnEvent([back({ serverChanged: true })]), {
      what: 'server_back',
      ms: 1_500,
      text:
        'The server was restarted, or another server took over. 1 worker reconnected after 1.5 s and continued ' +
        '4 rollouts.',
    });
  });
});

describe('Returns', () => {
  it('reports once to each batch the rollouts that return together', (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const reports: string[] = [];
    const returns = new Returns((batch, { text }) => reports.push(`${batch}: ${/\d+ workers?/.exec(text)?.[0] ?? ''}`));
    returns.add('b1', back());
    context.mock.timers.tick(1_000);
    returns.add('b1', back());
    returns.add('b2', back());
    assert.deepEqual(reports, []);
    context.mock.timers.tick(5_000);
    assert.deepEqual(reports, ['b1: 2 workers', 'b2: 1 worker']);
    returns.add('b1', back());
    returns.close();
    context.mock.timers.tick(5_000);
    assert.equal(reports.length, 2);
  });
});
