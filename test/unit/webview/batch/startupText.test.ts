import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { BatchRow, ServerInfo } from '../../../../src/protocol/client.ts';
import type { RolloutRow } from '../../../../src/trace/summary.ts';
import { startupText } from '../../../../webview/batch/model/startupText.ts';
import { aRow } from './rows.ts';

const ENDPOINT = 'http://127.0.0.1:8000/v1';
const row = { state: 'running', imported: false, tasks: 12 } as BatchRow;
const server = (workers: readonly Partial<ServerInfo['workers'][number]>[], endpoints: unknown[] = []): ServerInfo =>
  ({
    workers: workers.map((worker) => ({ alive: true, slots: 8, running: 0, held: 0, ...worker })),
    endpoints,
  }) as unknown as ServerInfo;

function textOf(facts: {
  readonly row?: Partial<BatchRow>;
  readonly server?: ServerInfo;
  readonly rows?: readonly RolloutRow[];
  readonly done?: number;
}): string | undefined {
  return startupText({
    row: { ...row, ...facts.row },
    server: facts.server,
    endpoint: ENDPOINT,
    rows: facts.rows ?? [],
    done: facts.done ?? 0,
  })?.text;
}

suite('what a batch waits for before its first attempt ends', () => {
  const running = aRow({ state: 'running', progress: {} });

  test('workers, a free one, the first attempts, the model, and the first end, in this order', () => {
    assert.equal(textOf({ row: { state: 'open', tasks: 0 } }), 'Receiving tasks…');
    assert.equal(textOf({}), 'Starting workers…');
    assert.equal(textOf({ server: server([{ alive: false }]) }), 'Starting workers…');
    assert.equal(textOf({ server: server([{ running: 6, held: 2 }]) }), 'Waiting for a free worker…');
    assert.equal(textOf({ server: server([{ running: 6 }]) }), 'Starting attempts…');
    assert.equal(textOf({ server: server([{}]), rows: [running] }), 'Waiting for the model…');
    const later = aRow({ state: 'running', progress: { steps: 2, output_tokens: 9 } });
    assert.equal(textOf({ server: server([{}]), rows: [running, later] }), 'First attempts: 2 steps');
  });

  test('a model that is down or busy, at the endpoint of this batch', () => {
    const at = (endpoint: string, state: string): string | undefined =>
      textOf({ server: server([{}], [{ endpoint, state, permits: 1 }]), rows: [running] });
    assert.equal(at(ENDPOINT, 'down'), 'Model does not respond');
    assert.equal(at(ENDPOINT, 'busy'), 'Model is busy…');
    assert.equal(at('http://other/v1', 'down'), 'Waiting for the model…');
  });

  test('nothing after the first end, in a pause, while all are held, and for recordings', () => {
    assert.equal(textOf({ done: 1 }), undefined);
    assert.equal(textOf({ row: { state: 'paused' } }), undefined);
    assert.equal(textOf({ row: { state: 'ended' } }), undefined);
    assert.equal(textOf({ row: { imported: true } }), undefined);
    assert.equal(textOf({ rows: [aRow({ state: 'held' })] }), undefined);
  });
});
