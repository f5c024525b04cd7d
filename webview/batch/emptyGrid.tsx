/** The placeholder for an empty grid. */
import { useLayoutEffect, useState } from 'preact/hooks';
import { inSlices } from '../../src/common/piecewise.ts';
import { count } from '../../src/common/units.ts';
import { Button } from '../components/controls.tsx';
import { EmptyState } from '../components/notices/emptyState.tsx';
import type { BatchView } from './batchView.ts';
import { type FilterPart, withoutPart } from './model/filter.ts';
import { type PartCounts, partCounts } from './model/partCounts.ts';

/** A frame has 16 ms. */
const SLICE_MS = 8;

/** Returns the placeholder; undefined if there are rows. */
export function emptyGrid(view: BatchView, sinceLost: boolean) {
  const { data } = view;
  if (view.rows.length > 0) return undefined;
  if (data.loading === 'failed')
    return <EmptyState icon="error" title="Cannot show this batch" text={data.problem ?? ''} />;
  if (view.tasks > 0 && view.filtered) return <NoMatch view={view} />;
  if (data.loading === 'loading' || data.row === undefined)
    return sinceLost ? (
      <EmptyState
        icon="debug-disconnect"
        title="The server is not responding"
        text="The batch appears as soon as the server responds."
      />
    ) : (
      <Waiting />
    );
  return (
    <EmptyState
      icon="beaker"
      title="No attempts yet"
      text={
        data.row.state === 'open' ? 'The tasks of this batch are still being uploaded.' : 'This batch has no tasks.'
      }
    />
  );
}

/** As high as the content that replaces it. */
function Waiting() {
  return (
    <div class="batch-waiting" role="status" aria-label="Loading attempts…">
      {Array.from({ length: 12 }, (_, i) => (
        <div key={i} class="skeleton-row" />
      ))}
    </div>
  );
}

/** Counts right after the filter matched nothing, and then as often as the figures change. */
function usePartCounts(view: BatchView): PartCounts | undefined {
  const { parts, data, figures } = view;
  const [counted, setCounted] = useState<{ readonly parts: readonly FilterPart[]; readonly counts: PartCounts }>();
  useLayoutEffect(() => {
    const left = new AbortController();
    inSlices(
      partCounts(parts, data.rows(), (index) => data.records[index]),
      SLICE_MS,
      left.signal,
    ).then(
      (counts) => setCounted({ parts, counts }),
      () => undefined,
    ); // The filter has changed.
    return () => left.abort();
  }, [parts, figures]);
  return counted?.parts === parts ? counted.counts : undefined;
}

/** Shows how many attempts match each part of the filter, and offers to drop a part. */
function NoMatch({ view }: { readonly view: BatchView }) {
  const counted = usePartCounts(view);
  if (counted === undefined) return <div class="batch-no-match" aria-busy="true" />;
  const { alone, without } = counted;
  const best = without.reduce((found, number, i) => (number > (without[found] ?? 0) ? i : found), 0);
  const part = view.parts[best];
  return (
    <div class="batch-no-match">
      <h2>No attempt matches</h2>
      {view.parts.length === 0 && (
        <p>
          {view.hidden.size > 0
            ? 'No attempt has one of the selected outcomes.'
            : `None of the ${count(view.attempts)} attempts matches the filter.`}
        </p>
      )}
      {view.parts.length > 0 && (
        <>
          <p>Matches for each part of the filter:</p>
          <ul>
            {view.parts.map(({ text }, i) => (
              <li key={i}>
                <code>{text}</code>
                <span class={alone[i] === 0 ? 'none' : undefined}>{count(alone[i] ?? 0)}</span>
                <Button
                  kind="icon"
                  icon="close"
                  label={`Remove ${text}`}
                  onClick={() => view.setFilter(withoutPart(view.filter, i))}
                />
              </li>
            ))}
          </ul>
        </>
      )}
      <div class="batch-no-match-buttons">
        {view.parts.length > 1 && part !== undefined && (without[best] ?? 0) > 0 && (
          <Button
            kind="primary"
            label={`Remove ${part.text} (${count(without[best] ?? 0)} matches)`}
            onClick={() => view.setFilter(withoutPart(view.filter, best))}
          />
        )}
        <Button kind="secondary" label="Show all" onClick={() => view.showAll()} />
      </div>
    </div>
  );
}
