/** What the calls of a batch say about its world: a bar for each rate. */
import { RATE_NAMES, rateEntries, rateText } from '../../../src/trace/control/rateText.ts';
import type { Report } from '../../../src/trace/statistics/schema.ts';
import { Panel } from './panel.tsx';
import './faults.css';

export function RatesPanel({ rates }: { readonly rates: Report['rates'] }) {
  return (
    <Panel name="faults" title="World" note="">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by keyboard */}
      <ul class="fault-rows" tabIndex={0}>
        {rateEntries(rates).map(({ rate, count }) => (
          <li key={rate} class="fault-row" title={`${RATE_NAMES[rate]}: ${rateText(count)}`}>
            <span class="fault-name">{RATE_NAMES[rate]} </span>
            <span class="fault-bar">
              <i class="of-passed" style={{ width: `${(100 * count.held) / count.checked}%` }} />
              <i class="of-failed parted" style={{ width: `${100 - (100 * count.held) / count.checked}%` }} />
            </span>
            <span class="fault-count">
              {Math.floor((100 * count.held) / count.checked)}%<span class="only-read">, {rateText(count)}</span>
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
