/** The head of the compare page: the task, the outcomes of its attempts, and actions. */

import type { BatchRow } from '../../src/protocol/client.ts';
import type { PageAction, PagePlace, PageVerb } from '../../src/protocol/page.ts';
import type { ComparedAttempt } from '../../src/trace/align/attempt.ts';
import { countsOf } from '../../src/trace/align/prefixTree.ts';
import { Button } from '../components/controls.tsx';
import { ActionLink } from '../components/link.tsx';
import { ShareButtons } from '../components/shareButtons.tsx';

interface CompareHeadProps {
  readonly place: Extract<PagePlace, { page: 'compare' }>;
  readonly batch: BatchRow | undefined;
  /** The later batch to compare with. */
  readonly other: BatchRow | undefined;
  readonly attempts: readonly ComparedAttempt[];
  readonly can: ReadonlySet<PageVerb>;
  readonly act: (action: PageAction) => void;
  readonly onReload: () => void;
  readonly view: 'two' | 'all';
  readonly onView: (view: 'two' | 'all') => void;
}

export function CompareHead({ place, batch, other, attempts, can, act, onReload, view, onView }: CompareHeadProps) {
  return (
    <header class="page-head compare-title">
      <h1 title={place.task}>{place.task}</h1>
      {attempts.length > 0 && <span>{outcomes(attempts)}</span>}
      <span class="grow" />
      {attempts.length > 1 && (
        <div class="compare-switch" role="group" aria-label="View (V)">
          <button type="button" aria-pressed={view === 'two'} onClick={() => onView('two')}>
            Two
          </button>
          <button type="button" aria-pressed={view === 'all'} onClick={() => onView('all')}>
            All
          </button>
        </div>
      )}
      <div class="compare-actions">
        {batch !== undefined && can.has('open') && (
          <ActionLink
            label={other === undefined ? batch.name : `${batch.name} (before)`}
            title="Open the batch (O)"
            onClick={() => act({ do: 'open', place: { page: 'batch', batch: batch.batch } })}
          />
        )}
        {other !== undefined && batch !== undefined && can.has('open') && (
          <ActionLink
            label={`${other.name} (after)`}
            title="Open the later batch"
            onClick={() => act({ do: 'open', place: { page: 'batch', batch: other.batch } })}
          />
        )}
        {other !== undefined && batch !== undefined && can.has('open') && (
          <ActionLink
            label="Both batches"
            title="Show which tasks changed"
            onClick={() => act({ do: 'open', place: { page: 'batches', batch: batch.batch, with: other.batch } })}
          />
        )}
        <Button kind="icon" icon="refresh" label="Reload" onClick={onReload} />
        <ShareButtons can={can} place={place} act={act} />
      </div>
    </header>
  );
}

function outcomes(attempts: readonly ComparedAttempt[]): string {
  const { passed, failed, truncated, other } = countsOf(attempts);
  const facts = [
    `${passed} passed`,
    `${failed} failed`,
    ...(truncated > 0 ? [`${truncated} truncated`] : []),
    ...(other > 0 ? [`${other} other`] : []),
  ];
  return `${attempts.length} ${attempts.length === 1 ? 'attempt' : 'attempts'}: ${facts.join(', ')}`;
}
