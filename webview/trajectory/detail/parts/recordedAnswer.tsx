import { idTime } from '../../../../src/common/ids.ts';
import type { ToolSpan } from '../../../../src/trace/model/spans.ts';
import { ActionLink } from '../../../components/link.tsx';
import type { TrajectoryView } from '../../view.ts';

/** Says which recorded call a recorded world answered with. */
export function RecordedAnswer({ view, span }: { readonly view: TrajectoryView; readonly span: ToolSpan }) {
  const { recorded } = span.end?.data ?? {};
  if (recorded === undefined) return null;
  const { rollout, seq } = recorded;
  const reference = `${rollout}@${seq}`;
  return (
    <p class="remark">
      <span class="mark">Recorded</span> The tool was not called. Its answer is that of{' '}
      {idTime(rollout) !== undefined ? (
        <ActionLink
          label={reference}
          title="Open the recorded call"
          onClick={() => view.act({ do: 'open', place: { page: 'trajectory', rollout, seq } })}
        />
      ) : (
        reference
      )}
      .
    </p>
  );
}
