import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PermitGate } from '../../../src/model/permits.ts';
import { Replicas } from '../../../src/model/replicas.ts';

const SERVICE = 'http://models:8000/v1';
const url = (n: number): string => `http://10.0.0.${n}:8000/v1`;
const never = new AbortController().signal;

describe('Replicas', () => {
  it('are called instead of the endpoint while the server knows them', () => {
    const replicas = new Replicas();
    const order = replicas.order([SERVICE, 'http://other/v1'], 't1');
    assert.deepEqual([...order()].sort(), [SERVICE, 'http://other/v1']);
    assert.deepEqual(replicas.set({ [SERVICE]: [url(1), url(2)] }), []);
    assert.deepEqual([...order()].sort(), [url(1), url(2), 'http://other/v1']);
    assert.equal(replicas.set({ [SERVICE]: [url(1), url(2)] }), undefined, 'nothing changed');
    assert.deepEqual(replicas.set({ [SERVICE]: [url(2), url(3)] }), [url(1)]);
    assert.deepEqual([...order()].sort(), [url(2), url(3), 'http://other/v1']);
    assert.deepEqual(replicas.set({}), [url(2), url(3)]);
    assert.deepEqual([...order()].sort(), [SERVICE, 'http://other/v1']);
  });

  it('that come and go take only their own share of the tasks', () => {
    const replicas = new Replicas();
    const firsts = (): string[] =>
      Array.from({ length: 300 }, (_, task) => replicas.order([SERVICE], `task ${task}`)()[0] ?? '');
    replicas.set({ [SERVICE]: [url(1), url(2), url(3)] });
    const before = firsts();
    for (const each of [1, 2, 3]) assert.ok(before.filter((first) => first === url(each)).length > 60);
    replicas.set({ [SERVICE]: [url(1), url(3)] });
    assert.ok(firsts().every((first, task) => first === before[task] || before[task] === url(2)));
    replicas.set({ [SERVICE]: [url(1), url(2), url(3), url(4)] });
    const moved = firsts().filter((first, task) => first !== before[task]);
    assert.ok(moved.length > 40 && moved.every((first) => first === url(4)));
  });

  it('free the waiters of a removed one, and forget its state', async () => {
    const replicas = new Replicas();
    const gate = new PermitGate({ random: () => 0 });
    replicas.set({ [SERVICE]: [url(1)] });
    const order = replicas.order([SERVICE], 't1');
    gate.setPermits({ [url(1)]: 1 });
    const held = gate.tryAcquire(order());
    const waiting = gate.acquire(order, never);
    const gone = replicas.set({ [SERVICE]: [url(2)] });
    assert.deepEqual(gone, [url(1)]);
    gate.forget((endpoint) => gone.includes(endpoint));
    assert.equal((await waiting).endpoint, url(2));
    held?.failed();
    assert.equal(gate.troubled(url(1)), false, 'a call from before says nothing of what comes back at its address');
    held?.release();
    gate.close();
  });
});
