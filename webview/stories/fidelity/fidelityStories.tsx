/** The fidelity page in all its states. */
import type { BatchRow } from '../../../src/protocol/client.ts';
import type { PageVerb } from '../../../src/protocol/page.ts';
import { FidelityPage } from '../../fidelity/fidelityPage.tsx';
import { storyHost } from '../../host/story.ts';
import { sampleBatch } from '../batch/sampleBatch.ts';
import { story } from '../index.ts';
import { type FidelityOptions, sampleFidelity } from './sampleFidelity.ts';

const CAN: ReadonlySet<PageVerb> = new Set(['open', 'copy', 'link', 'save']);

function add(name: string, options: FidelityOptions & { readonly silent?: boolean }): void {
  const { silent = false, ...sample } = options;
  story(
    'fidelity',
    name,
    () => (
      <FidelityPage
        can={CAN}
        host={storyHost({ ...sampleFidelity(sample), ...(silent ? { silent } : {}) })}
        place={{ page: 'fidelity', batch: 'b1' }}
      />
    ),
    silent ? { busy: true } : {},
  );
}

add('faulty', { other: true });
add('faithful', { faithful: true });
add('judged', { judged: true, how: 'free' });
add('domains', { domains: ['library', 'fundraising', 'ride_hailing'], rollouts: 9 });
add('running', { running: 5 });
add('begun', { rollouts: 4, running: 4 });
add('empty', { calls: 0 });
add('many', { rollouts: 20, calls: 10 });
add('loading', { silent: true });
story('fidelity', 'plain-batch', () => (
  <FidelityPage
    can={CAN}
    host={storyHost(sampleBatch({ tasks: 2, attempts: 1 }))}
    place={{ page: 'fidelity', batch: 'b1' }}
  />
));
story('fidelity', 'broken', () => (
  <FidelityPage can={CAN} host={storyHost(sampleFidelity())} place={{ page: 'fidelity', batch: 'b-none' }} />
));

declare global {
  /** Actions of the page, for tests. */
  var storyActions: readonly unknown[];
}

story('fidelity', 'linked', () => {
  const host = storyHost(sampleFidelity({ rollouts: 1 }));
  globalThis.storyActions = host.actions;
  return <FidelityPage can={CAN} host={host} place={{ page: 'fidelity', batch: 'b1' }} />;
});

/** The second rollout ends when a test asks for it, and later the batch. */
story('fidelity', 'live', () => {
  const all = sampleFidelity({ rollouts: 2, calls: 10 });
  const [first, second] = all.rows;
  if (first === undefined || second === undefined) throw new TypeError('there are two rollouts');
  const batch: BatchRow = { ...all.batch, state: 'running' };
  const host = storyHost({
    ...all,
    batch,
    rows: [first, { ...second, state: 'queued', last: 0 }],
  });
  const more = (): void => host.pushRows([{ ...second, rev: 3 }]);
  const end = (): void => {
    Object.assign(batch, { state: 'ended', last: batch.last + 1 });
    host.push('b1', [{ seq: batch.last, v: 1, at: batch.created_at, kind: 'batch.end', data: { reason: 'done' } }]);
  };
  window.addEventListener('story-more', more, { once: true });
  window.addEventListener('story-end', end, { once: true });
  return <FidelityPage can={CAN} host={host} place={{ page: 'fidelity', batch: 'b1' }} />;
});
