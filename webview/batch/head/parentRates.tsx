/** For a fork: the pass rate of its parent from the fork point, next to the fork's own pass@1. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { BatchRow } from '../../../src/protocol/client.ts';
import type { ForkParent } from '../../../src/protocol/forkParent.ts';
import type { AttemptRates } from '../../../src/trace/statistics/forkRates.ts';
import { compareWithParent } from '../../../src/trace/statistics/forkRates.ts';
import type { BatchView } from '../batchView.ts';

export function ParentRates({
  view,
  row,
  parent,
}: {
  readonly view: BatchView;
  readonly row: BatchRow;
  readonly parent: NonNullable<BatchRow['parent']>;
}) {
  const { data } = view;
  const [attempts, setAttempts] = useState<ForkParent | undefined>(undefined);
  const ended = row.state === 'ended';
  useEffect(() => {
    const over = new AbortController();
    // This reads trajectories, so it starts after the first content is shown.
    import('../../../src/protocol/forkParent.ts')
      .then(({ forkParent }) => forkParent(data.api, parent, over.signal))
      .then((read) => {
        if (!over.signal.aborted) setAttempts(read);
      })
      .catch(() => undefined); // the page reports a lost server; the rest works without this
    return () => over.abort();
  }, [data, parent.rollout, parent.seq, ended]);
  const rates = useMemo(
    () =>
      attempts === undefined
        ? undefined
        : compareWithParent({
            seq: parent.seq,
            fork: data.rows(),
            parent: attempts.rows,
            siblings: attempts.siblings,
            attempts: row.attempts,
          }),
    [attempts, data.version, row.attempts],
  );
  if (rates === undefined || rates.parent.scored === 0) return null;
  const { fork, siblings, difference } = rates;
  const against = siblings !== undefined && siblings.scored > 0 ? siblings : rates.parent;
  const lines = [
    `pass@1 from event ${parent.seq} on`,
    `this fork: ${rateText(fork)}`,
    ...(siblings === undefined ? [] : [`attempts of the parent with the same steps: ${rateText(siblings)}`]),
    `all attempts of the parent: ${rateText(rates.parent)}`,
    ...(difference === null
      ? []
      : [
          `difference ${signed(difference.value)}, between ${signed(difference.interval[0])} and ` +
            `${signed(difference.interval[1])} with 95%`,
        ]),
    ...(parent.differs === undefined ? [] : ['', 'Differences to its parent:', ...parent.differs]),
  ];
  return (
    <span class="batch-stat is-parent" title={lines.join('\n')}>
      <span class="batch-dim">parent</span> <b>{(against.passed / against.scored).toFixed(2)}</b>{' '}
      <span class="batch-dim">
        {against.passed}/{against.scored}
      </span>
    </span>
  );
}

function rateText({ passed, scored, intervals }: AttemptRates): string {
  const interval = intervals['1'];
  if (scored === 0 || interval === undefined || interval === null) return 'nothing scored yet';
  return `${passed}/${scored}, between ${interval[0].toFixed(2)} and ${interval[1].toFixed(2)} with 95%`;
}

function signed(value: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(2)}`;
}
