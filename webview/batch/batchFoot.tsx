/** The last line: whether the page is live, where the work is done, and the keys that matter. */
import type { ComponentChildren } from 'preact';
import { count } from '../format.ts';
import type { BatchView } from './batchView.ts';

export function BatchFoot({ view, lost, page, onKeys }: { readonly view: BatchView; readonly lost: boolean; readonly page: number; readonly onKeys: () => void }) {
  const { row, server, ended, loading } = view.data;
  const state = lost ? 'not connected' : loading === 'loading' ? 'reading' : ended ? 'ended' : row?.state === 'paused' ? 'paused' : 'live';
  const alive = server?.workers.filter((worker) => worker.alive) ?? [];
  return (
    <footer class="batch-foot">
      <span class={`batch-live ${state === 'live' ? 'on' : ''}`}><i aria-hidden="true" />{state}</span>
      {page > 640 && !ended && alive.length > 0 && <span>{count(alive.length)} {alive.length === 1 ? 'worker' : 'workers'} · {count(alive.reduce((sum, { slots }) => sum + slots, 0))} slots</span>}
      <span class="batch-grow" />
      {page > 640 && (
        <>
          <Key keys={['←', '↑', '↓', '→']}>move</Key>
          <Key keys={['↵']}>open</Key>
          <Key keys={['N']}>next not passed</Key>
          <Key keys={['/']}>filter</Key>
        </>
      )}
      <button type="button" onClick={onKeys}><kbd>?</kbd> keys</button>
    </footer>
  );
}

function Key({ keys, children }: { readonly keys: readonly string[]; readonly children: ComponentChildren }) {
  return <span class="batch-key">{keys.map((key) => <kbd key={key}>{key}</kbd>)} {children}</span>;
}
