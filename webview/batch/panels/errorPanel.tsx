/** Shows attempts that did not pass by error class; a click filters by class. */

import { count } from '../../../src/common/units.ts';
import { Glyph } from '../../components/marks/glyph.tsx';
import type { BatchView } from '../batchView.ts';
import type { ErrorBars } from '../figures/errorBars.ts';
import { splitParts, togglePart } from '../model/filter.ts';
import { Panel } from './panel.tsx';

export function ErrorPanel({ view, errors }: { readonly view: BatchView; readonly errors: ErrorBars }) {
  const most = errors.bars[0]?.count ?? 1;
  const parts = splitParts(view.filter);
  return (
    <Panel
      name="errors"
      title="Not passed, by error class"
      note={errors.ended === 0 ? undefined : `${count(errors.notPassed)} of ${count(errors.ended)}`}
    >
      {errors.bars.length === 0 ? (
        <p class="batch-panel-none">
          {errors.ended === 0 ? 'No attempt has ended yet.' : 'All ended attempts passed.'}
        </p>
      ) : (
        <div class="error-rows">
          {errors.bars.map((bar) => (
            <button
              type="button"
              key={`${bar.outcome} ${bar.name}`}
              class="error-row"
              aria-pressed={parts.includes(bar.filter)}
              title={`Show only attempts with ${bar.name}`}
              onClick={() => view.setFilter(togglePart(view.filter, bar.filter))}
            >
              <Glyph outcome={bar.outcome} />
              <span class="error-name">{bar.name} </span>
              <span class="error-bar">
                <i class={`of-${bar.outcome}`} style={{ width: `${(100 * bar.count) / most}%` }} />
              </span>
              <span class="error-count">
                {count(bar.count)}
                <span class="only-read"> attempts</span>
              </span>
            </button>
          ))}
        </div>
      )}
    </Panel>
  );
}
