/** Formats calls of tools and their statistics, on one line each. */
import { joinedLines } from '../../common/text.ts';
import { duration } from '../../common/units.ts';
import { accuracyText } from '../prediction/text.ts';
import { provenanceIn } from '../provenance.ts';
import { errorText, valueText } from '../text/values.ts';
import type { CallFact } from './fact.ts';
import type { ToolStats, UseShares } from './stats.ts';

/** How many attempts the statistics include. */
export interface AttemptCoverage {
  /** Attempts that used any tool. */
  readonly attempts: number;
  /** Attempts whose calls were read. */
  readonly read: number;
}

/** Formats statistics: `412 calls · 6% errors · p50 12 ms, p95 90 ms · in 31% of passed, 58% of failed attempts`. */
export function statsText(stats: ToolStats, shares: UseShares | undefined, coverage: AttemptCoverage): string {
  const parts = [
    `${stats.calls.toLocaleString('en')} ` +
      `${stats.calls === 1 ? 'call' : 'calls'}${stats.open > 0 ? ` (${stats.open.toLocaleString('en')} running)` : ''}`,
  ];
  if (stats.calls > 0) parts.push(stats.errors === 0 ? 'no errors' : `${shareText(stats.errors, stats.calls)} errors`);
  if (stats.p50 !== null && stats.p95 !== null) parts.push(`p50 ${duration(stats.p50)}, p95 ${duration(stats.p95)}`);
  if (stats.predictions !== null) parts.push(`predicted ${accuracyText(stats.predictions.accuracy)}`);
  const used = shares === undefined ? '' : sharesText(shares);
  if (used !== '') parts.push(used);
  if (coverage.read < coverage.attempts)
    parts.push(`${coverage.read.toLocaleString('en')} of ${coverage.attempts.toLocaleString('en')} attempts loaded`);
  return parts.join(' · ');
}

export function sharesText({ passed, failed }: UseShares): string {
  const sides = [
    ...(passed.of === 0 ? [] : [`${shareText(passed.used, passed.of)} of passed`]),
    ...(failed.of === 0 ? [] : [`${shareText(failed.used, failed.of)} of failed`]),
  ];
  return sides.length === 0 ? '' : `in ${sides.join(', ')} attempts`;
}

/** Formats a percentage: `0%` only for none, `100%` only for all. */
export function shareText(part: number, whole: number): string {
  if (part === 0 || whole === 0) return '0%';
  if (part === whole) return '100%';
  const share = (100 * part) / whole;
  if (share < 1) return '< 1%';
  return `${share > 99 ? 99 : Math.round(share)}%`;
}

/** Formats a call: `renew_loan {loan_id: "L-3001"} → {due: "2026-05-01"}`. */
export function callLine(fact: CallFact, width: number): string {
  return cut(`${fact.tool} ${argumentsLine(fact)} ${resultLine(fact)}`, width);
}

export function argumentsLine({ values }: CallFact): string {
  return values === undefined ? '…' : valueText(values.arguments);
}

/** Formats a result: `→ {…}`, `→ (simulated) {…}`, or `✗ tool_error: …`. */
export function resultLine({ values, error, open, source, injected }: CallFact): string {
  const from = provenanceIn(source, injected).join(', ');
  const mark = from === '' ? '' : `(${from}) `;
  if (error !== undefined) return `✗ ${mark}${errorText(error)}`;
  if (open) return '… running';
  return `→ ${mark}${values?.result === undefined ? 'nothing' : valueText(values.result)}`;
}

/** Puts text on one line of at most `width` characters. */
export function cut(text: string, width: number): string {
  const line = joinedLines(text, ' ⏎ ').replaceAll(/[\u0000-\u001f\u007f]/g, ' ');
  return line.length > width ? `${line.slice(0, Math.max(0, width - 1))}…` : line;
}
