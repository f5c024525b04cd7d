/** The form of an edit: applied in place at a hold, or as a fork of a recording. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Button, TextField } from '../../../components/controls.tsx';
import { useChanges } from '../../../data/observe.ts';
import { type Draft, MAX_ATTEMPTS } from '../../debug/draft.ts';
import { type EditField, type EditKind, fieldText } from '../../debug/edits.ts';
import type { TrajectoryView } from '../../view.ts';
import './editForm.css';

/** Labels of the main button. */
const HERE: Readonly<Record<EditKind, string>> = {
  arguments: 'Apply and resume',
  result: 'Apply and resume',
  sampling: 'Apply and resume',
  reply: 'Apply and resume',
  message: 'Apply and resume',
  skip: 'Skip with this result',
  inject: 'Add and resume',
  answer: 'Answer',
  fork: 'Fork',
};
const AREA_FROM = 60;

export function EditForm({ view, draft }: { readonly view: TrajectoryView; readonly draft: Draft }) {
  useChanges(draft.changed);
  const form = useRef<HTMLElement>(null);
  const { target, busy, problem, needsConsent } = draft;
  const { kind, title, where, fields } = target;
  useLayoutEffect(() => form.current?.querySelector<HTMLElement>('vscode-text-field, textarea')?.focus(), [draft]);
  const apply = (consent = false): void => {
    if (!busy) view.debug.apply(draft, consent);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') view.debug.edit(undefined);
    else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) apply();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const label = where === 'here' ? HERE[kind] : kind === 'fork' ? 'Fork' : 'Apply and fork';
  return (
    <section class="edit-form" aria-label={`Edit: ${title}`} ref={form} onKeyDown={onKeyDown} aria-busy={busy}>
      <header class="section-head">
        {target.seq === undefined ? <h2>{title}</h2> : <h3>{title}</h3>}
        <span class="dim edit-note">{noteOf(kind, where)}</span>
      </header>
      {fields.map((field) => (
        <Field key={field.path} draft={draft} field={field} onEnter={() => apply()} />
      ))}
      {where === 'fork' && <Attempts draft={draft} onEnter={() => apply()} />}
      {problem !== undefined && (
        <p class="edit-problem" role="alert">
          {problem}
        </p>
      )}
      <div class="edit-buttons">
        {needsConsent ? (
          <Button kind="primary" label="Fork anyway" disabled={busy} onClick={() => apply(true)} />
        ) : (
          <Button
            kind="primary"
            label={label}
            title={`${label} (Ctrl+Enter)`}
            disabled={busy}
            onClick={() => apply()}
          />
        )}
        <Button kind="secondary" label="Discard" title="Discard (Esc)" onClick={() => view.debug.edit(undefined)} />
      </div>
    </section>
  );
}

function noteOf(kind: EditKind, where: 'here' | 'fork'): string {
  if (where === 'fork')
    return kind === 'fork'
      ? 'Continues from here in a fork. This rollout does not change.'
      : 'Your edit starts a fork. This rollout does not change.';
  if (kind === 'answer') return 'The rollout waits for your answer.';
  const effect =
    kind === 'skip'
      ? 'The call is skipped, and the model gets this result.'
      : kind === 'inject'
        ? 'The agent reads the message next.'
        : 'The edit is recorded.';
  return `${effect} This rollout will not count in statistics.`;
}

function Field({
  draft,
  field,
  onEnter,
}: {
  readonly draft: Draft;
  readonly field: EditField;
  readonly onEnter: () => void;
}) {
  const text = draft.textOf(field);
  const before = fieldText(field.before);
  const changed = draft.isChanged(field);
  const own = draft.target.kind === 'skip' || draft.target.kind === 'inject' || draft.target.kind === 'answer';
  const area = own || before.includes('\n') || before.length > AREA_FROM;
  return (
    <div class={`edit-field${changed && !own ? ' is-changed' : ''}${area ? ' is-area' : ''}`}>
      <span class="value-name">{field.name}:</span>
      {area ? (
        <textarea
          class="edit-area"
          aria-label={field.name}
          rows={Math.min(16, Math.max(2, text.split('\n').length + Math.floor(text.length / 90)))}
          value={text}
          spellcheck={false}
          onInput={(event) => draft.write(field, event.currentTarget.value)}
        />
      ) : (
        <TextField label={field.name} value={text} onInput={(value) => draft.write(field, value)} onEnter={onEnter} />
      )}
      {changed && !own && !area && (
        <span class="dim edit-was">
          {draft.target.kind === 'arguments' ? 'requested' : 'was'} {before}
        </span>
      )}
    </div>
  );
}

function Attempts({ draft, onEnter }: { readonly draft: Draft; readonly onEnter: () => void }) {
  return (
    <div class="edit-field">
      <span class="value-name">Attempts:</span>
      <TextField
        label="Attempts of the fork"
        value={String(draft.attempts)}
        onEnter={onEnter}
        onInput={(text) => {
          const attempts = Number(text);
          if (Number.isInteger(attempts) && attempts >= 1 && attempts <= MAX_ATTEMPTS) draft.setAttempts(attempts);
        }}
      />
      <span class="dim edit-was">Continuations of this rollout, in a new batch</span>
    </div>
  );
}
