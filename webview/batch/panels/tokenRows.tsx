/** The tokens of a batch: input, cached input, output, those that do not count, cost, and the limit. */

import { plural } from '../../../src/common/text.ts';
import { compact, count, percent } from '../../../src/common/units.ts';
import type { Report } from '../../../src/trace/statistics/schema.ts';
import type { TokenLimit } from '../figures/tokenLimit.ts';
import { RunRow } from './runRow.tsx';

interface TokenRowsProps {
  readonly report: Report;
  readonly limit: TokenLimit | undefined;
}

const UNCOUNTED =
  'Spent on tries that do not count, and on attempts that were lost, cancelled, changed by a person, or have no reward';

/** Draws nothing if no usage is recorded, and no uncounted tokens or limit if there are none. */
export function TokenRows({ report, limit }: TokenRowsProps) {
  const { tokens, side, cost, cost_per_solved: perSolved } = report;
  if (tokens === null) return cost === null ? null : <CostRow cost={cost} perSolved={perSolved} />;
  const { input, output, cached } = tokens;
  const total = input + output;
  const width = (part: number): { width: string } => ({ width: `${(100 * part) / Math.max(1, total)}%` });
  const share = cached > 0 ? `${percent(cached / Math.max(1, input))} cached` : '';
  const inputText = share === '' ? `input ${compact(input)}` : `input ${compact(input)} (${share})`;
  const outputText = `output ${compact(output)}`;
  // A batch without any reward is not about rewards.
  const uncounted = report.wasted.tries + (report.scored > 0 ? report.wasted.excluded : 0);
  const uncountedText = uncounted > 0 ? `uncounted ${compact(uncounted)}` : '';
  // Where the limit has a row, the uncounted tokens have none, and the input is only in the title.
  const shown = uncounted > 0 && limit !== undefined ? [share, outputText, uncountedText] : [inputText, outputText];
  const price = cost === null ? '' : ` · ${money(cost)}`;
  return (
    <>
      <RunRow name="tokens" value={`${compact(total)}${price}`} title={solvedText(perSolved)}>
        <span class="batch-track">
          <i class="of-cached" style={width(cached)} />
          <i class="of-flow parted" style={width(input - cached)} />
          <i class="of-output" style={width(output)} />
        </span>
      </RunRow>
      <div class="run-detail" title={listed([inputText, outputText, uncountedText], '\n')}>
        {listed(shown, ', ')}
      </div>
      {uncounted > 0 && limit === undefined && (
        <RunRow name="uncounted" value={compact(uncounted)} title={UNCOUNTED}>
          <span class="batch-track">
            <i class="of-wasted" style={width(uncounted)} />
          </span>
        </RunRow>
      )}
      {side !== null && <SideRow side={side} />}
      {limit !== undefined && <LimitRow limit={limit} />}
    </>
  );
}

/** Joins the texts that are not empty. */
function listed(texts: readonly string[], separator: string): string {
  return texts.filter((text) => text !== '').join(separator);
}

function CostRow({ cost, perSolved }: { readonly cost: number; readonly perSolved: number | null }) {
  return (
    <RunRow name="cost" value={money(cost)} title={solvedText(perSolved)}>
      {null}
    </RunRow>
  );
}

function SideRow({ side }: { readonly side: NonNullable<Report['side']> }) {
  const { calls, input_tokens: input, output_tokens: output, cost } = side;
  const title =
    `Tokens of side models (simulated user, judge), which the tokens above do not include: ${plural(calls, 'call')}, ` +
    `input ${compact(input)}, output ${compact(output)}`;
  return (
    <RunRow
      name="side"
      value={`${compact(input + output)}${cost === undefined ? '' : ` · ${money(cost)}`}`}
      title={title}
    >
      {null}
    </RunRow>
  );
}

/** Shows the use of the limit, with a mark at the estimated final use. */
function LimitRow({ limit: { most, used, expected } }: { readonly limit: TokenLimit }) {
  const title =
    `${compact(used)} of ${compact(most)} tokens, the limit at which the batch stops ` +
    `(stop.tokens)${expected === undefined ? '' : `; about ${compact(expected)} expected in total`}`;
  return (
    <RunRow
      name={`of ${compact(most)}`}
      value={expected === undefined ? percent(used / most) : `≈ ${compact(expected)}`}
      title={title}
    >
      <span class="batch-track-marked">
        <span class="batch-track">
          <i class="of-flow" style={{ width: `${Math.min(100, (100 * used) / most)}%` }} />
        </span>
        {expected !== undefined && (
          <i class="batch-track-mark" style={{ left: `${Math.min(100, (100 * expected) / most)}%` }} />
        )}
      </span>
    </RunRow>
  );
}

function solvedText(perSolved: number | null): string | undefined {
  return perSolved === null ? undefined : `${money(perSolved)} per solved task`;
}

function money(cost: number): string {
  return cost >= 1_000 ? `$${count(cost)}` : `$${cost.toFixed(cost < 0.1 && cost > 0 ? 4 : 2)}`;
}
