import { casesOf, RATE_NAMES } from '../../../../src/trace/control/rateText.ts';
import { worldChecksOf } from '../../../../src/trace/control/worldChecks.ts';
import type { ToolSpan } from '../../../../src/trace/model/spans.ts';
import { ActionLink } from '../../../components/link.tsx';
import type { TrajectoryView } from '../../view.ts';

/** Says what a call shows about its world, with a link to the call that decides it. */
export function WorldCases({ view, span }: { readonly view: TrajectoryView; readonly span: ToolSpan }) {
  const { model } = view.data;
  return casesOf(worldChecksOf(model), span.seq).map(({ rate, rule, held, text, earlier, turns }) => (
    <p class="remark" key={`${rule} ${text}`}>
      <span class="mark">{held ? 'As it must be' : 'Not as it must be'}</span> {RATE_NAMES[rate]}: {text}
      {earlier === undefined ? null : (
        <>
          {' · '}
          <ActionLink
            label={turns === 1 ? 'previous call' : `${turns ?? 0} calls before`}
            title="Show that call"
            onClick={() => view.go(earlier)}
          />
        </>
      )}
    </p>
  ));
}
