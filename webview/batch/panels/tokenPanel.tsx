/** Shows tokens: input, cached input, output, and wasted tokens. */
import type { ComponentChildren } from 'preact';
import { compact, count, percent } from '../../../src/common/units.ts';
import type { Report } from '../../../src/trace/statistics/schema.ts';
import type { TokenLimit } from '../figures/tokenLimit.ts';
import { Panel } from './panel.tsx';

export function TokenPanel({
  report,
  wasted,
  limit,
}: {
  readonly report: Report;
  readonly wasted: number;
  readonly limit: TokenLimit | undefined;
}) {
  const { tokens, cost } = report;
  const total = tokens === null ? 0 : tokens.input + tokens.output;
  const price = cost === null ? undefined : money(cost);
  return (
    <Panel
      name="tokens"
      title="Tokens"
      note={
        tokens === null ? (
          price
        ) : (
          <>
            <b>{compact(total)}</b>
            {price !== undefined && (
              <span
                title={report.cost_per_solved === null ? undefined : `${money(report.cost_per_solved)} per solved task`}
              >
                {' '}
                · {price}
              </span>
            )}
          </>
        )
      }
    >
      {tokens === null ? (
        <p class="batch-panel-none">No token usage recorded.</p>
      ) : (
        <div class={`token-rows${limit === undefined ? '' : ' is-limited'}`}>
          <Row name="prompt" value={compact(tokens.input)}>
            <i class="of-cached" style={{ width: `${(100 * tokens.cached) / total}%` }} />
            <i class="of-flow" style={{ width: `${(100 * (tokens.input - tokens.cached)) / total}%` }} />
          </Row>
          {tokens.cached > 0 && (
            <div class="token-row hint">
              <span />
              <span class="batch-dim">{percent(tokens.cached / Math.max(1, tokens.input))} from prefix cache</span>
            </div>
          )}
          <Row name="completion" value={compact(tokens.output)}>
            <i class="of-flow" style={{ width: `${(100 * tokens.output) / total}%` }} />
          </Row>
          <Row
            name="wasted"
            value={compact(wasted)}
            title="Spent on tries that do not count, and on attempts that ended with an infrastructure failure"
          >
            <i class="of-wasted" style={{ width: `${(100 * wasted) / total}%` }} />
          </Row>
          {limit !== undefined && <LimitRow limit={limit} />}
        </div>
      )}
    </Panel>
  );
}

/** Shows the use of the limit, with a mark at the estimated final use. */
function LimitRow({ limit: { most, used, expected } }: { readonly limit: TokenLimit }) {
  const title =
    `${compact(used)} of ${compact(most)} tokens, the limit at which the batch stops ` +
    `(stop.tokens)${expected === undefined ? '' : `; about ${compact(expected)} expected in total`}`;
  return (
    <div class="token-row" title={title}>
      <span class="batch-dim">limit {compact(most)}</span>
      <span class="batch-track-marked">
        <span class="batch-track">
          <i class="of-flow" style={{ width: `${Math.min(100, (100 * used) / most)}%` }} />
        </span>
        {expected !== undefined && (
          <i class="batch-track-mark" style={{ left: `${Math.min(100, (100 * expected) / most)}%` }} />
        )}
      </span>
      <span class="token-value">{expected === undefined ? percent(used / most) : `≈ ${compact(expected)}`}</span>
    </div>
  );
}

function Row({
  name,
  value,
  title,
  children,
}: {
  readonly name: string;
  readonly value: string;
  readonly title?: string;
  readonly children: ComponentChildren;
}) {
  return (
    <div class="token-row" title={title}>
      <span class="batch-dim">{name}</span>
      <span class="batch-track">{children}</span>
      <span class="token-value">{value}</span>
    </div>
  );
}

function money(cost: number): string {
  return cost >= 1_000 ? `$${count(cost)}` : `$${cost.toFixed(cost < 0.1 && cost > 0 ? 4 : 2)}`;
}
