import type { ToolSpan } from '../../../../src/trace/model/spans.ts';
import { injectedCallsOf, type Recovery, recoveryOf } from '../../../../src/trace/recovery.ts';
import { ActionLink } from '../../../components/link.tsx';
import type { TrajectoryView } from '../../view.ts';

/** Says which rule changed the call, and what the agent did then. */
export function InjectedFault({ view, span }: { readonly view: TrajectoryView; readonly span: ToolSpan }) {
  const { model } = view.data;
  const { injected, made } = span.end?.data ?? {};
  if (injected === undefined) return null;
  const call = injectedCallsOf(model).find(({ seq }) => seq === span.seq);
  const by = call?.recoveredBy === undefined ? undefined : model.span(call.recoveredBy);
  const { end } = model;
  return (
    <p class="remark">
      <span class="mark">Rule {injected}</span>{' '}
      {made === false ? 'The tool was never called.' : 'The rule changed this call.'}{' '}
      {by?.kind === 'tool' ? (
        by.seq === span.seq ? (
          'It only came late.'
        ) : (
          <>
            Recovered in <ActionLink label={`step ${by.step}`} title="Show this call" onClick={() => view.go(by.seq)} />
            .
          </>
        )
      ) : call === undefined || end === undefined ? null : (
        RECOVERY_TEXTS[recoveryOf(call, end.data.passed)]
      )}
    </p>
  );
}

const RECOVERY_TEXTS: Readonly<Record<Exclude<Recovery, 'open'>, string>> = {
  recovered: 'The agent recovered.',
  worked_around: 'The agent worked around it.',
  repeated: 'The agent repeated the call in vain.',
  gave_up: 'The agent gave up.',
};
