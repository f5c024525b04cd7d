/** Minimum pass rates for a batch: `--fail-under pass@8=0.5`. */
import { StudioError } from '../../common/errors.ts';
import type { Report } from './schema.ts';

export interface Bar {
  readonly text: string;
  readonly metric: 'pass_at' | 'pass_all';
  readonly k: number;
  /** A share from 0 to 1. */
  readonly min: number;
}

/** Parses `pass@8=0.5`, `pass^4=20%`, or several separated by commas. Throws StudioError `usage`. */
export function parseFailUnder(text: string): Bar[] {
  return text.split(',').map((part) => parseBar(part.trim()));
}

function parseBar(text: string): Bar {
  const match = /^pass([@^])([1-9]\d*)\s*=\s*(\d*\.?\d+)(%?)$/.exec(text);
  const min = match === null ? Number.NaN : Number(match[3]) / (match[4] === '%' ? 100 : 1);
  if (match === null || !(min <= 1)) {
    throw new StudioError('usage', `Invalid value for --fail-under: "${text}".`, {
      hint: 'Use pass@K=X or pass^K=X with X from 0 to 1 (or in %), for example pass@8=0.5.',
    });
  }
  return { text, metric: match[1] === '@' ? 'pass_at' : 'pass_all', k: Number(match[2]), min };
}

/**
 * Returns whether a report reaches a minimum; an unavailable rate does not. The report must include the k
 * (`ReportInput.ks`).
 */
export function reaches(report: Report, bar: Bar): { readonly ok: boolean; readonly text: string } {
  const name = `${bar.metric === 'pass_at' ? 'pass@' : 'pass^'}${bar.k}`;
  const value = report[bar.metric]?.[bar.k];
  if (value === undefined || value === null) {
    const why = report.why[`${bar.metric}.${bar.k}`] ?? report.why[bar.metric] ?? 'it was not computed';
    return { ok: false, text: `${name} is not available: ${why}` };
  }
  const ok = value >= bar.min;
  return { ok, text: `${name} is ${value.toFixed(3)}, ${ok ? 'at least' : 'under'} ${bar.min}` };
}
