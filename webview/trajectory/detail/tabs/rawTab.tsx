/** Shows the recorded events of the selection. */
import { useMemo } from 'preact/hooks';
import type { Json } from '../../../../src/common/json.ts';
import type { AnyEvent } from '../../../../src/trace/model.ts';
import { ValueView } from '../../../values/valueView.tsx';
import type { TrajectoryView } from '../../view.ts';
import { useValueActions } from '../parts/actions.ts';
import { eventsOf, type Subject } from '../subject.ts';

export function RawTab({ view, subject }: { readonly view: TrajectoryView; readonly subject: Subject }) {
  const events = eventsOf(view.data.model, subject);
  return (
    <>
      {events.map((event) => (
        <RawEvent key={event.seq} view={view} event={event} />
      ))}
    </>
  );
}

function RawEvent({ view, event }: { readonly view: TrajectoryView; readonly event: AnyEvent }) {
  const actions = useValueActions(view);
  const value = useMemo(() => {
    const { ...copy }: AnyEvent & { unknown?: true } = event;
    delete copy.unknown; // Added by the model, not recorded.
    return copy as unknown as Json;
  }, [event]);
  return (
    <ValueView title={`Event ${event.seq}`} value={value} blobs={view.data.blobs} {...actions}>
      <code class="dim">{event.kind}</code>
      {'unknown' in event && <span class="mark">unknown to this version</span>}
    </ValueView>
  );
}
