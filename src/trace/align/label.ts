/** Formats actions and differences on one line. */
import { harmlessLine } from '../text/terminal.ts';
import { inline, valueText } from '../text/values.ts';
import type { Action, ActionCall } from './actions.ts';
import type { Difference } from './differences.ts';

/** Formats an action: `renew_loan loan_id: 17, days: 14`, `answers …`. Safe to print. */
export function actionText(action: Action): string {
  const agent = action.agent.includes('/') ? `${action.agent}: ` : '';
  if (action.kind === 'error') return `${agent}the model call failed`;
  if (action.kind === 'text') return harmlessLine(`${agent}answers ${valueText(action.text)}`);
  return harmlessLine(
    agent +
      action.calls
        .map((call) => `${call.error === undefined ? '' : '✗ '}${call.name}${argumentsText(call)}`)
        .join(' + '),
  );
}

/** Formats a difference: `days: 14 → 7`. */
export function differenceText({ path, before, after }: Difference): string {
  const show = (value: Difference['before']): string => (value === undefined ? 'nothing' : inline(value));
  return `${path === '' ? '' : `${path.slice(1)}: `}${show(before)} → ${show(after)}`;
}

/** Says where two results come from, such as ` (simulated → from the tool)`; nothing if both are from the tool. */
export function sourcesText(before: ActionCall | undefined, after: ActionCall | undefined): string {
  const [a = [], b = []] = [before?.provenance, after?.provenance];
  if (a.length === 0 && b.length === 0) return '';
  const from = (sources: readonly string[]): string => (sources.length === 0 ? 'from the tool' : sources.join(', '));
  return from(a) === from(b) ? ` (${from(a)})` : ` (${from(a)} → ${from(b)})`;
}

function argumentsText(call: ActionCall): string {
  const text = inline(call.arguments);
  return text === '{}' ? '' : ` ${text.startsWith('{') ? text.slice(1, -1) : text}`;
}
