/** Bars a batch must reach: `--fail-under pass@8=0.5`. */
import { StudioError } from '../../common/errors.ts';
import type { Report } from './schema.ts';

export interface Bar {
  readonly text: string;
  readonly metric: 'pass_at' | 'pass_all';
  readonly k: number;
  /** A share from 0 to 1. */
  readonly least: number;
}

/** `pass@8=0.5`, `pass^4=20%`; several with commas. Throws StudioError `usage`. */
export function parseFailUnder(text: string): Bar[] {
  return text.split(',').map((part) => parseBar(part.trim()));
}

function parseBar(text: string): Bar {
  const found = /^pass([@^])([1-9]\d*)\s*=\s*(\d*\.?\d+)(%?)$/.exec(text);
  const least = found === null ? Number.NaN : Number(found[3]) / (found[4] === '%' ? 100 : 1);
  if (found === null || !(least <= 1)) {
    throw new StudioError('usage', `Invalid value for --fail-under: "${text}".`, {
      hint: 'Use pass@K=X or pass^K=X with X from 0 to 1 (or in %), for example pass@8=0.5.',
    });
  }
  return { text, metric: found[1] === '@' ? 'pass_at' : 'pass_all', k: Number(found[2]), least };
}

/**
 * Whether a report reaches a bar; a rate that cannot be told does not. The report must have been made with the bar's k
 * (`ReportInput.ks`).
 */
export function reaches(report: Report, bar: Bar): { readonly ok: boolean; readonly text: string } {
  const name = `${bar.metric === 'pass_at' ? 'pass@' : 'pass^'}${bar.k}`;
  const value = report[bar.metric]?.[bar.k];
  if (value === undefined || value === null) {
    const why = report.why[`${bar.metric}.${bar.k}`] ?? report.why[bar.metric] ?? 'it was not computed';
    return { ok: false, text: `${name} is not available: ${why}` };
  }
  const ok = value >= bar.least;
  return { ok, text: `${name} is ${value.toFixed(3)}, ${ok ? 'at least' : 'under'} ${bar.least}` };
}
