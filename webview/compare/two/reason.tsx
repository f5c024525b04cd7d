/** Why an attempt passed or did not, with the checks of its score. */

import type { ComparedAttempt } from '../../../src/trace/align/attempt.ts';
import { causeOf } from '../../../src/trace/cause.ts';
import type { Check } from '../../../src/trace/schema.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { CheckTable } from '../../checks/checkTable.tsx';
import { Glyph } from '../../components/marks/glyph.tsx';

interface ReasonProps {
  readonly attempt: ComparedAttempt;
  readonly row: RolloutRow;
  readonly checks: readonly Check[];
  readonly name: string;
}

export function Reason({ attempt, row, checks, name }: ReasonProps) {
  return (
    <section class="two-reason" aria-label={`Reason of ${name}`}>
      <p>
        <Glyph outcome={attempt.outcome} title={attempt.outcome} /> <b>{reasonText(row, checks)}</b>
      </p>
      <CheckTable checks={checks} />
    </section>
  );
}

function reasonText(row: RolloutRow, checks: readonly Check[]): string {
  const cause = causeOf(row);
  if (cause !== undefined) return cause.text;
  if (row.state !== 'ended') return 'Not ended';
  if (checks.length === 0 || checks.some(({ passed }) => !passed)) return 'Passed';
  return checks.length === 1 ? 'The check passed' : `All ${checks.length} checks passed`;
}
