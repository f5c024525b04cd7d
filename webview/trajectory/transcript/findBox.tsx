/** The search field over the transcript: Enter and Shift+Enter go from match to match, Esc closes it. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import { count } from '../../../src/common/units.ts';
import { Button, TextField } from '../../components/controls.tsx';
import type { Transcript } from './transcript.ts';

export function FindBox({ transcript, onClosed }: { readonly transcript: Transcript; readonly onClosed: () => void }) {
  const field = useRef<HTMLElement>(null);
  // A layout effect: the field has the focus before the next key is pressed, which would be one of the page's.
  useLayoutEffect(() => {
    const focus = (): void => field.current?.focus();
    focus();
    if (field.current?.matches(':defined') === false) void customElements.whenDefined('vscode-text-field').then(focus);
  }, []);
  const { query, found, current, searchedAll } = transcript;
  const close = (): void => {
    transcript.closeFind();
    onClosed();
  };
  const text =
    query === ''
      ? ''
      : found.length === 0
        ? searchedAll
          ? 'No results'
          : '…'
        : `${count(current + 1)} of ${count(found.length)}${searchedAll ? '' : ' …'}`;
  return (
    <div class="find-box" role="search" aria-label="Find in transcript">
      <TextField
        value={query}
        label="Find in transcript"
        placeholder="Find"
        inputRef={field}
        invalid={query !== '' && searchedAll && found.length === 0}
        onInput={(value) => transcript.search(value)}
        onEnter={(shift) => transcript.next(shift ? -1 : 1)}
        onEscape={close}
      />
      <span class="find-count" role="status">
        {text}
      </span>
      <Button
        kind="icon"
        icon="chevron-up"
        label="Previous match"
        title="Previous match (Shift+Enter)"
        disabled={found.length === 0}
        onClick={() => transcript.next(-1)}
      />
      <Button
        kind="icon"
        icon="chevron-down"
        label="Next match"
        title="Next match (Enter)"
        disabled={found.length === 0}
        onClick={() => transcript.next(1)}
      />
      <Button kind="icon" icon="close" label="Close" title="Close (Esc)" onClick={close} />
    </div>
  );
}
