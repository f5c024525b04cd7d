/** Asks the host to predict calls. */
import { currentHold } from '../../debug/edits.ts';
import type { TrajectoryView } from '../../view.ts';

/** Whether the host can predict calls. */
export function canPredict({ can, readOnly, data }: TrajectoryView): boolean {
  return can.has('predict') && !readOnly && data.batch !== undefined;
}

/** Asks for a prediction of the call. `choose`: lets the user choose the world. */
export function predict(view: TrajectoryView, seq: number, what: 'predict' | 'choose' | 'stop' = 'predict'): void {
  view.act({ do: 'predict', place: { page: 'trajectory', rollout: view.data.rollout, seq }, what });
}

/** Asks for a prediction of the selected call, or else of the one at which the rollout is held. */
export function predictSelected(view: TrajectoryView, what: 'predict' | 'choose'): void {
  const { model } = view.data;
  if (!canPredict(view)) {
    view.say('Calls are predicted in VS Code, or with rollout call --predict.');
    return;
  }
  const selected = model.span(view.seq);
  const call = [selected, model.span(currentHold(model)?.event.span ?? 0)].find((span) => span?.kind === 'tool');
  if (call === undefined) {
    view.say('Select a tool call to predict it.');
    return;
  }
  view.show('call');
  view.go(call.seq);
  predict(view, call.seq, what);
}
