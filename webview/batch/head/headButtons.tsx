/** The controls of a batch that are applicable now and supported by the host. */
import type { Right } from '../../../src/protocol/access.ts';
import { Button, refusedProps } from '../../components/controls.tsx';
import type { IconName } from '../../components/marks/icon.tsx';
import { refusalOf } from '../../data/refusals.ts';
import type { BatchActions, BatchVerb } from '../batchActions.ts';
import type { BatchView } from '../batchView.ts';

interface Control {
  readonly label: string;
  readonly icon: IconName;
  readonly verb: BatchVerb;
  readonly title: string;
  readonly right: Right;
  /** Rarely used, so always shown as an icon only. */
  readonly bare?: boolean;
}

/** Returns the controls for a batch in its current state. */
function controlsOf(view: BatchView): Control[] {
  const { row } = view.data;
  if (row === undefined || row.imported) return [];
  const { infrastructure, cancelled, failed, truncated } = view.counts;
  const unsettled = infrastructure + cancelled;
  const controls: Control[] = [];
  if (row.state === 'paused')
    controls.push({
      label: 'Resume',
      icon: 'debug-continue',
      verb: 'resume',
      title: 'Continue the paused attempts',
      right: 'control',
    });
  if (row.state === 'running' || row.state === 'open')
    controls.push({
      label: 'Pause',
      icon: 'debug-pause',
      verb: 'pause',
      title: 'Pause all attempts at their next call',
      right: 'control',
    });
  if (row.state !== 'ended' && row.released !== true && hasPods(view))
    controls.push({
      label: 'Release pods',
      icon: 'debug-disconnect',
      verb: 'release',
      bare: true,
      title: 'Pause, and delete the pods once nothing runs. Resume starts them again.',
      right: 'control',
    });
  if (row.state !== 'ended')
    controls.push({
      label: 'Stop',
      icon: 'debug-stop',
      verb: 'cancel',
      title: 'Cancel everything that has not ended',
      right: 'control',
    });
  if (unsettled > 0)
    controls.push({
      label: `Retry ${unsettled} unsettled`,
      icon: 'refresh',
      verb: 'retry',
      title: 'Run attempts again that did not settle because of an infrastructure failure or a stop',
      right: 'control',
    });
  if (row.state === 'ended') {
    controls.push({
      label: 'Launch again',
      icon: 'debug-restart',
      verb: 'again',
      title: 'Launch a new batch with the same definition',
      right: 'launch',
    });
    if (failed + truncated + unsettled > 0)
      controls.push({
        label: 'Run failed again',
        icon: 'debug-rerun',
        verb: 'failed_again',
        title: 'Launch a new batch with the tasks that had attempts that did not pass',
        right: 'launch',
      });
  }
  return controls;
}

/** Returns whether its workers are pods, according to its stream. */
function hasPods({ data }: BatchView): boolean {
  return data.events.some((event) => event.kind === 'infra' && event.data.pod !== undefined);
}

export function HeadButtons({
  view,
  actions,
  icons,
  onCompare,
}: {
  readonly view: BatchView;
  readonly actions: BatchActions;
  readonly icons: boolean;
  readonly onCompare: () => void;
}) {
  const controls = actions.readOnly || !actions.can.has('batch') ? [] : controlsOf(view);
  return (
    <div class="batch-buttons" role="group" aria-label="Batch">
      {controls.map(({ label, icon, verb, title, right, bare = icons }) => (
        <Button
          key={verb}
          kind={bare ? 'icon' : 'secondary'}
          icon={icon}
          label={label}
          title={bare ? `${label}: ${title}` : title}
          {...refusedProps(
            (verb === 'retry' ? actions.trimmed() : undefined) ?? refusalOf(view.data, right, view.data.row),
          )}
          onClick={() => actions.batch(verb)}
        />
      ))}
      {actions.can.has('open') && view.data.definition?.fidelity === true && (
        <Button
          kind="secondary"
          icon="beaker"
          label="Fidelity"
          title="Show how well the world predicts the recorded calls"
          {...refusedProps(actions.trimmed())}
          onClick={actions.fidelity}
        />
      )}
      {actions.can.has('open') && view.data.row !== undefined && (
        <Button
          kind="icon"
          icon="diff"
          label="Compare with…"
          title="Compare with another batch (Shift+C)"
          onClick={onCompare}
        />
      )}
      {actions.can.has('link') && <Button kind="icon" icon="link" label="Copy link" onClick={actions.link} />}
      {actions.can.has('save') && <Button kind="icon" icon="save" label="Save as HTML" onClick={actions.save} />}
    </div>
  );
}
