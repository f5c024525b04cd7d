/** Says what a batch waits for, in place of its rate, until its first attempt ends. */
import type { BatchView } from '../batchView.ts';
import { startupText } from '../model/startupText.ts';

export function Startup({ view }: { readonly view: BatchView }) {
  const { data, done } = view;
  if (data.row === undefined || data.loading === 'loading') return null;
  const { row, server, definition } = data;
  const startup = startupText({ row, server, endpoint: definition?.endpoint, rows: data.rows(), done });
  if (startup === undefined) return null;
  return (
    <span class="batch-stat batch-startup" role="status" title={startup.more}>
      {startup.text}
    </span>
  );
}
