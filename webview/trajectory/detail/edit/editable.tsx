/** A recorded value, or the form while it is edited. */
import type { ComponentChildren } from 'preact';
import { Button } from '../../../components/controls.tsx';
import { type EditKind, editTargets } from '../../debug/edits.ts';
import type { TrajectoryView } from '../../view.ts';
import type { Subject } from '../subject.ts';
import { EditForm } from './editForm.tsx';

/** Passes the edit button to `children`, if the value can be edited. */
export function Editable({
  view,
  subject,
  kind,
  children,
}: {
  readonly view: TrajectoryView;
  readonly subject: Subject;
  readonly kind: EditKind;
  readonly children: (button: ComponentChildren) => ComponentChildren;
}) {
  const target = view.debug.editable
    ? editTargets(view.data.model, subject).find((one) => one.kind === kind)
    : undefined;
  const { draft } = view.debug;
  if (target === undefined) return <>{children(null)}</>;
  if (
    draft !== undefined &&
    draft.target.kind === kind &&
    draft.target.of.seq === target.of.seq &&
    draft.target.of.m === target.of.m
  )
    return <EditForm view={view} draft={draft} />;
  const title = target.where === 'here' ? `Edit ${kind} (A)` : `Edit ${kind}, as a fork (A)`;
  return (
    <>
      {children(
        <Button kind="icon" icon="edit" label={`Edit ${kind}`} title={title} onClick={() => view.debug.edit(target)} />,
      )}
    </>
  );
}
