import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ImagePins } from '../../../src/executor/kubernetes/imagePins.ts';
import { batchJob } from '../../../src/executor/kubernetes/jobManifest.ts';
import type { Pod } from '../../../src/kubernetes/access/objects.ts';

const digest = (digits: string): string => `sha256:${digits.repeat(32)}`;

function podWith(image: string, imageID: string): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'worker', image }] },
    status: { containerStatuses: [{ name: 'worker', image, imageID, ready: true, restartCount: 0 }] },
  };
}

describe('the images of pods', () => {
  it('are pinned to the first digest that a pod runs', () => {
    const pins = new ImagePins();
    assert.equal(pins.of('node:24', 'IfNotPresent'), 'node:24');
    pins.learn(podWith('node:24', ''));
    pins.learn(podWith('node:24', digest('00')));
    assert.equal(pins.of('node:24', 'IfNotPresent'), 'node:24', 'it was loaded from a file');
    pins.learn(podWith('node:24', `docker.io/library/node@${digest('ab')}`));
    pins.learn(podWith('node:24', `docker.io/library/node@${digest('cd')}`));
    assert.equal(pins.of('node:24', undefined), `node:24@${digest('ab')}`);
    assert.equal(pins.of('node:24', 'Never'), 'node:24', 'nodes without a registry have it by its name');
    assert.equal(pins.of('node:22', undefined), 'node:22');
  });

  it('are used by their names once a node cannot pull the digest', () => {
    const pins = new ImagePins();
    pins.learn(podWith('node:24', `docker.io/library/node@${digest('ab')}`));
    assert.equal(pins.giveUp('node:24'), undefined, 'that is no pinned image');
    assert.equal(pins.giveUp(`mine:1@${digest('ab')}`), undefined, 'the user named the digest');
    assert.equal(pins.giveUp(`node:24@${digest('ab')}`), 'node:24');
    assert.equal(pins.giveUp(`node:24@${digest('ab')}`), undefined, 'once');
    assert.equal(pins.of('node:24', undefined), 'node:24');
  });

  it('are pinned in workers and sidecars', () => {
    const job = batchJob({
      batch: 'b1',
      round: 1,
      namespace: 'n',
      pods: {
        sidecars: [
          { name: 'a', image: 'a:1' },
          { name: 'b', image: 'b:1', imagePullPolicy: 'Never' },
        ],
      },
      sizing: { completions: 1, parallelism: 1, slots: 1 },
      image: 'node:24',
      pullPolicy: 'IfNotPresent',
      pinned: (image, policy) => (policy === 'Never' ? image : `${image}@pinned`),
      settled: 0,
      fruitless: 0,
    });
    type Images = { image: string }[];
    const { template } = job['spec'] as { template: { spec: { containers: Images; initContainers: Images } } };
    const { containers, initContainers } = template.spec;
    assert.deepEqual(
      [...containers, ...initContainers].map(({ image }) => image),
      ['node:24@pinned', 'node:24@pinned', 'a:1@pinned', 'b:1', 'node:24@pinned'],
    );
  });
});
