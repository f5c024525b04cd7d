/** Tokens: what was sent, how much of it the server knew already, what was made, and what came to nothing. */
import type { ComponentChildren } from 'preact';
import { outcomeOf } from '../../../src/trace/outcome.ts';
import type { Report } from '../../../src/trace/statistics/schema.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { compact, percent } from '../../format.ts';
import { Panel } from './panel.tsx';

/** Tokens of tries that do not count, and of attempts that infrastructure ended. */
export function wastedTokens(rows: Iterable<RolloutRow>, otherTries: Iterable<RolloutRow>): number {
  let wasted = 0;
  for (const { progress } of otherTries) wasted += progress.input_tokens + progress.output_tokens;
  for (const row of rows) if (outcomeOf(row) === 'infrastructure') wasted += row.progress.input_tokens + row.progress.output_tokens;
  return wasted;
}

export function TokenPanel({ report, wasted }: { readonly report: Report; readonly wasted: number }) {
  const { tokens, cost } = report;
  const total = tokens === null ? 0 : tokens.input + tokens.output;
  const price = cost === null ? undefined : money(cost);
  return (
    <Panel name="tokens" title="Tokens" note={tokens === null ? price : <><b>{compact(total)}</b>{price !== undefined && <span title={report.cost_per_solved === null ? undefined : `${money(report.cost_per_solved)} for each solved task`}> · {price}</span>}</>}>
      {tokens === null ? <p class="batch-panel-none">No model call told its usage.</p> : (
        <div class="token-rows">
          <Row name="prompt" value={compact(tokens.input)}><i class="of-cached" style={{ width: `${(100 * tokens.cached) / total}%` }} /><i class="of-flow" style={{ width: `${(100 * (tokens.input - tokens.cached)) / total}%` }} /></Row>
          {tokens.cached > 0 && <div class="token-row hint"><span /><span class="batch-dim">{percent(tokens.cached / Math.max(1, tokens.input))} from prefix cache</span></div>}
          <Row name="completion" value={compact(tokens.output)}><i class="of-flow" style={{ width: `${(100 * tokens.output) / total}%` }} /></Row>
          <Row name="wasted" value={compact(wasted)} title="Of tries that do not count, and of attempts that infrastructure trouble ended"><i class="of-wasted" style={{ width: `${(100 * wasted) / total}%` }} /></Row>
        </div>
      )}
    </Panel>
  );
}

function Row({ name, value, title, children }: { readonly name: string; readonly value: string; readonly title?: string; readonly children: ComponentChildren }) {
  return <div class="token-row" title={title}><span class="batch-dim">{name}</span><span class="batch-track">{children}</span><span class="token-value">{value}</span></div>;
}

function money(cost: number): string {
  return `$${cost.toFixed(cost < 0.1 && cost > 0 ? 4 : 2)}`;
}
