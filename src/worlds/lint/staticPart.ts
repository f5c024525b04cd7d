/** The part of the lint that runs no code of the scenario. */
import { FINDING_KINDS, type Finding, LINT_PARTS, type ScenarioHealth } from '../../common/worldHealth.ts';
import { type Analysis, analyze } from './analysis.ts';
import type { LintSource } from './source.ts';

export interface StaticPart {
  readonly health: ScenarioHealth;
  readonly analysis: Analysis;
}

/** Lints a scenario without running any of its code. Throws as `analyze`. */
export async function lintStatically(source: LintSource, python: string, signal: AbortSignal): Promise<StaticPart> {
  const analysis = await analyze(source.request, python, signal);
  const findings = [
    ...source.findings,
    ...analysis.findings.map(({ at, ...finding }): Finding => ({ ...finding, ...source.place(at) })),
  ];
  const { pure } = analysis;
  return {
    analysis,
    health: {
      scenario: source.scenario,
      ran: ['static'],
      findings: sortFindings(findings),
      ...(pure === undefined ? {} : { pure }),
      strength: [],
    },
  };
}

/** Sorts findings: errors first, then by part, file, and place. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  const rank = ({ severity, kind }: Finding): number =>
    (severity === 'error' ? 0 : LINT_PARTS.length) + LINT_PARTS.indexOf(FINDING_KINDS[kind]);
  return [...findings].sort(
    (a, b) =>
      rank(a) - rank(b) ||
      (a.place.file < b.place.file ? -1 : a.place.file > b.place.file ? 1 : 0) ||
      a.place.line - b.place.line ||
      a.place.column - b.place.column,
  );
}
