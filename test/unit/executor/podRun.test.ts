import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cpuCount, podRun } from '../../../src/executor/kubernetes/podRun.ts';
import { readObject } from '../../../src/kubernetes/access/objects.ts';

const START = '2026-11-28T10:00:00Z';
const at = (seconds: number): number => Date.parse(START) + seconds * 1_000;

function pod(status: object, spec: object = {}) {
  return readObject('Pod', {
    metadata: { name: 'p', uid: 'u1' },
    spec: {
      containers: [
        { name: 'worker', resources: { requests: { cpu: '50m' }, limits: { memory: '1Gi' } } },
        { name: 'tools', resources: { requests: { cpu: '1' }, limits: { 'nvidia.com/gpu': '2', memory: '1Gi' } } },
      ],
      initContainers: [
        { name: 'prepare', resources: { requests: { cpu: '8' } } },
        { name: 'sidecar', restartPolicy: 'Always', resources: { requests: { cpu: '0.5' } } },
      ],
      ...spec,
    },
    status,
  });
}

describe('podRun', () => {
  test('is nothing for a pod that has not started', () => {
    assert.equal(podRun(pod({ phase: 'Pending' }), 'b1', at(9)), undefined);
  });

  test('counts what runs at the same time, as requested, from the start until now', () => {
    assert.deepEqual(podRun(pod({ phase: 'Running', startTime: START }), 'b1', at(30)), {
      ...{ uid: 'u1', batch: 'b1', from: at(0), until: at(30), cpus: 1.55, gpus: 2 },
    });
  });

  test('ends with its last container, also if that is noticed later', () => {
    const containerStatuses = [10, 25, 12].map((seconds) => ({
      state: { terminated: { finishedAt: new Date(at(seconds)).toISOString() } },
    }));
    const run = podRun(pod({ phase: 'Succeeded', startTime: START, containerStatuses }), 'b1', at(900));
    assert.equal(run?.until, at(25));
    // The clock of a node may differ.
    assert.equal(podRun(pod({ phase: 'Running', startTime: START }), 'b1', at(-5))?.until, at(0));
  });

  test('reads CPUs as Kubernetes writes them', () => {
    assert.deepEqual(['2', '250m', '0.5', undefined, 'x'].map(cpuCount), [2, 0.25, 0.5, 0, 0]);
  });
});
