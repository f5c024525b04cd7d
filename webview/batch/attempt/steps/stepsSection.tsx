/** Lists the steps of an attempt, one line each. */

import { count, duration } from '../../../../src/common/units.ts';
import type { RolloutRow } from '../../../../src/trace/summary.ts';
import { troubleIn } from '../../../../src/trace/trouble.ts';
import { Glyph } from '../../../components/marks/glyph.tsx';
import { TROUBLES } from '../../../components/marks/glyphShapes.ts';
import { Icon } from '../../../components/marks/icon.tsx';
import type { OutlineGap, OutlineStep } from '../../model/outline.ts';
import './steps.css';
import type { AttemptRecord } from '../record/useRecord.ts';

/** With more steps than this, only the first and the last ones are shown. */
const MAX_STEPS = 40;
const FIRST = 12;

interface StepsProps {
  readonly record: AttemptRecord;
  readonly row: RolloutRow;
  readonly onOpen: (step: OutlineStep) => void;
}

export function StepsSection({ record: { reader, problem }, row, onOpen }: StepsProps) {
  const outline = reader?.outline;
  if (row.state === 'queued') return null;
  if (row.trimmed === true) return <TrimmedSteps problem={problem} />;
  const steps = outline?.steps ?? [];
  return (
    <section class="attempt-steps">
      <h2>Steps</h2>
      {problem !== undefined && (
        <p class="attempt-small" role="alert">
          {problem}
        </p>
      )}
      {outline === undefined ? (
        problem === undefined && <Waiting steps={row.progress.steps} />
      ) : (
        <ol>
          {inShort(steps).map((step, i) =>
            step.kind === 'gap' ? (
              <li key={`gap ${i}`} class="attempt-step-gap">
                …
              </li>
            ) : (
              <Step key={step.seq} step={step} onOpen={onOpen} />
            ),
          )}
        </ol>
      )}
      {outline !== undefined && steps.length === 0 && <p class="attempt-small">No steps yet.</p>}
    </section>
  );
}

function TrimmedSteps({ problem }: Pick<AttemptRecord, 'problem'>) {
  return (
    <section class="attempt-steps">
      <h2>Steps</h2>
      <p class="attempt-small">{problem ?? 'Trimmed: no longer stored.'}</p>
    </section>
  );
}

function Step({ step, onOpen }: { readonly step: OutlineStep; readonly onOpen: (step: OutlineStep) => void }) {
  const { calls, error, state, within, ms } = step;
  const names = calls.map(({ name, times }) => (times === 1 ? name : `${name} ×${times}`)).join(', ');
  const nothing = state === 'open' ? 'writes' : 'answer';
  const trouble = error === undefined ? undefined : troubleIn(error);
  const after = error?.message ?? (within > 0 ? `${count(within)} ${within === 1 ? 'step' : 'steps'}` : undefined);
  return (
    <li>
      <button
        type="button"
        class={`attempt-step${trouble === 'error' ? ' is-error' : ''}`}
        title={[`step ${step.step}: ${names === '' ? nothing : names}`, after].filter(Boolean).join('\n')}
        onClick={() => onOpen(step)}
      >
        <span class="attempt-step-number">{step.step}</span>
        {state === 'open' ? (
          <Glyph outcome="running" title="running" />
        ) : state === 'held' ? (
          <Glyph outcome="held" title="held" />
        ) : trouble !== undefined ? (
          <Glyph outcome={TROUBLES[trouble]} title={trouble === 'error' ? 'failed' : trouble} />
        ) : (
          <Icon name={names === '' ? 'comment' : within > 0 ? 'hubot' : 'tools'} />
        )}
        <span class="attempt-step-text">
          <span class={names === '' ? undefined : 'attempt-step-name'}>{names === '' ? nothing : names}</span>
          {after !== undefined && <span class="batch-dim"> {after}</span>}
        </span>
        <span class="attempt-step-ms">{ms === undefined ? '' : duration(ms)}</span>
      </button>
    </li>
  );
}

/** Shortens the list with at most one gap: where events were not loaded, or where there are too many steps. */
function inShort(steps: readonly (OutlineStep | OutlineGap)[]): readonly (OutlineStep | OutlineGap)[] {
  const gap = steps.findLastIndex(({ kind }) => kind === 'gap');
  if (gap < 0 && steps.length <= MAX_STEPS) return steps;
  const [before, after] = gap < 0 ? [steps, steps] : [steps.slice(0, gap), steps.slice(gap + 1)];
  return [
    ...before.filter(({ kind }) => kind === 'step').slice(0, FIRST),
    { kind: 'gap' },
    ...after.slice(FIRST - MAX_STEPS),
  ];
}

/** A placeholder with the expected height. */
function Waiting({ steps }: { readonly steps: number }) {
  return (
    <div aria-hidden="true">
      {Array.from({ length: Math.max(1, Math.min(steps, MAX_STEPS)) }, (_, i) => (
        <div key={i} class="skeleton-row" />
      ))}
    </div>
  );
}
