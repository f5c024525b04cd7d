/** Says what a batch waits for: its turn on the server, or, until its first attempt ends, whatever else. */
import { ordinal, waitingText } from '../../../src/common/waitingText.ts';
import { Icon } from '../../components/marks/icon.tsx';
import type { BatchView } from '../batchView.ts';
import { startupText } from '../model/startupText.ts';

export function Startup({ view }: { readonly view: BatchView }) {
  const { data, done } = view;
  if (data.row === undefined || data.loading === 'loading') return null;
  const { row, server, definition, waiting } = data;
  const running = row.counts.running > 0;
  if (waiting !== undefined)
    return (
      <span
        class="batch-stat batch-waiting"
        role="status"
        title={`Waiting, ${ordinal(waiting.position)} of ${waiting.of}: ${waiting.text}`}
      >
        <Icon name="watch" /> {running ? 'Partly waiting' : `Waiting: ${waitingText(waiting)}`}
      </span>
    );
  const startup = startupText({ row, server, endpoint: definition?.endpoint, rows: data.rows(), done });
  if (startup === undefined) return null;
  return (
    <span class="batch-stat batch-startup" role="status" title={startup.more}>
      {startup.text}
    </span>
  );
}
