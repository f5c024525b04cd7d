import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { podReport } from '../../../src/executor/kubernetes/podReport.ts';
import type { KubeEvent, Pod } from '../../../src/kubernetes/access/objects.ts';
import type { Partially } from '../../support/partially.ts';

type Status = Partially<NonNullable<Pod['status']>>;

function pod(status: Status, changes: { node?: string; deleted?: boolean } = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    spec: {
      ...(changes.node === undefined ? {} : { nodeName: changes.node }),
      initContainers: [
        { name: 'prepare', image: 'i:1' },
        { name: 'tools', image: 'i:1' },
      ],
      containers: [{ name: 'worker', image: 'i:1' }],
    },
    status,
    metadata: {
      name: 'p',
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...(changes.deleted === true ? { deletionTimestamp: '2026-01-01T00:01:00Z' } : {}),
    },
  } satisfies Partially<Pod> as unknown as Pod;
}

const SCHEDULED = { type: 'PodScheduled', status: 'True' } as const;
const READY = [SCHEDULED, { type: 'Ready', status: 'True' }, { type: 'ContainersReady', status: 'True' }] as const;
const states = (of: Pod): (string | undefined)[] => {
  const { state, reason } = podReport(of, []);
  return [state, reason];
};

describe('the report on a pod', () => {
  it('says why it waits: for a node, or for an image', () => {
    const waits = podReport(
      pod({
        phase: 'Pending',
        conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/2 nodes: no GPU' }],
      }),
      [],
    );
    assert.deepEqual([waits.state, waits.reason], ['pending', 'Unschedulable']);
    assert.match(waits.text ?? '', /waiting for a node: 0\/2 nodes: no GPU/);
    assert.deepEqual(
      states(
        pod({
          phase: 'Pending',
          conditions: [SCHEDULED],
          containerStatuses: [
            {
              name: 'worker',
              image: 'i:1',
              state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } },
            },
          ],
        }),
      ),
      ['starting', 'ImagePullBackOff'],
    );
  });

  it('has the worker first among its containers, with what they run and how often they restarted', () => {
    const report = podReport(
      pod(
        {
          phase: 'Running',
          conditions: [...READY],
          initContainerStatuses: [
            { name: 'tools', image: 'i@sha256:1', ready: true, restartCount: 2, state: { running: {} } },
          ],
          containerStatuses: [
            {
              name: 'worker',
              image: 'i@sha256:1',
              ready: true,
              restartCount: 0,
              state: { running: { startedAt: '2026-01-01T00:00:05Z' } },
            },
          ],
        },
        { node: 'n1' },
      ),
      [],
    );
    assert.deepEqual([report.state, report.node, report.ready, report.restarts], ['running', 'n1', true, 2]);
    assert.deepEqual(
      report.containers.map(({ name, state, image }) => [name, state, image]),
      [
        ['worker', 'running', 'i@sha256:1'],
        ['tools', 'running', 'i@sha256:1'],
        ['prepare', 'waiting', 'i:1'],
      ],
    );
    assert.equal(report.started_at, Date.parse('2026-01-01T00:00:05Z'));
  });

  it('says how it ended', () => {
    const ended = (exitCode: number, reason: string, phase: string): Pod =>
      pod({
        phase,
        conditions: [SCHEDULED],
        containerStatuses: [{ name: 'worker', image: 'i:1', state: { terminated: { exitCode, reason } } }],
      });
    assert.deepEqual(states(ended(137, 'OOMKilled', 'Failed')), ['failed', 'OOMKilled']);
    assert.deepEqual(states(ended(0, 'Completed', 'Succeeded')), ['ended', 'Completed']);
    assert.match(podReport(ended(137, 'OOMKilled', 'Failed'), []).text ?? '', /exceeded its memory limit/);
    const leaving = pod({ phase: 'Running', conditions: [...READY] }, { deleted: true });
    assert.deepEqual(states(leaving), ['ending', 'Terminating']);
  });

  it('keeps the newest events', () => {
    const events = Array.from(
      { length: 30 },
      (_, n) =>
        ({
          type: n === 29 ? 'Warning' : 'Normal',
          reason: `R${n}`,
          message: 'm',
          lastTimestamp: `2026-01-01T00:00:${String(n).padStart(2, '0')}Z`,
          metadata: { name: 'e' },
        }) as Partially<KubeEvent> as KubeEvent,
    );
    const report = podReport(pod({ phase: 'Running' }), events);
    assert.equal(report.events.length, 20);
    assert.deepEqual(report.events.at(-1), {
      at: Date.parse('2026-01-01T00:00:29Z'),
      warning: true,
      reason: 'R29',
      text: 'm',
      count: 1,
    });
  });
});
