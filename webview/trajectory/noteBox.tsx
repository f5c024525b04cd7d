/** Shows the notes on the selection, and a field to add one. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { errorText } from '../../src/common/errors.ts';
import { Button, TextField } from '../components/controls.tsx';
import type { TrajectorySession } from './session.ts';

export function NoteBox({
  session,
  open,
  onClose,
}: {
  readonly session: TrajectorySession;
  readonly open: boolean;
  readonly onClose: () => void;
}) {
  const { data, seq } = session;
  const notes = data.notes.at(data.rollout, seq);
  const [text, setText] = useState('');
  const field = useRef<HTMLElement | null>(null);
  useLayoutEffect(() => {
    if (open) field.current?.focus();
  }, [open]);
  if (!open && notes.length === 0) return null;
  const save = (label: string): void => {
    data.note('note', seq, label).then(
      () => setText(''),
      (error: unknown) => session.say(errorText(error)),
    );
    onClose();
  };
  return (
    <div class="note-box" role="group" aria-label="Notes">
      {notes.map((note) => (
        <p key={note.seq}>
          {note.data.text} <span class="dim">{note.data.by}</span>
        </p>
      ))}
      {open && (
        <TextField
          value={text}
          label="Note"
          placeholder="Add a note (Enter to save)"
          icon="note"
          inputRef={field}
          onInput={setText}
          onEnter={() => {
            if (text.trim() !== '') save(text.trim());
          }}
          onEscape={onClose}
        />
      )}
      {notes.length > 0 && !session.readOnly && (
        <Button kind="icon" icon="trash" label="Delete notes" onClick={() => save('')} />
      )}
    </div>
  );
}
