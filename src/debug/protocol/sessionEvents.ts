/** Converts the events of a debug session to events of the protocol. */
import { Event, TerminatedEvent, ThreadEvent } from '@vscode/debugadapter';
import type { DebugProtocol } from '@vscode/debugprotocol';
import type { StopReason } from '../debuggee.ts';
import type { DebugSession } from '../session.ts';
import { type ReferenceOf, trajectoryOf } from '../sources/frameSource.ts';

const REASONS: Readonly<Record<StopReason, string>> = {
  entry: 'entry',
  step: 'step',
  breakpoint: 'breakpoint',
  exception: 'exception',
  pause: 'pause',
  goto: 'goto',
  input: 'pause',
  lost_server: 'pause',
  end: 'pause',
};

/** Sends the events of a session to the client. A stop is followed by a custom event `rolloutPlace`. */
export function sendSessionEvents(
  session: DebugSession,
  referenceOf: ReferenceOf,
  send: (event: DebugProtocol.Event) => void,
): void {
  session.onStopped.event(({ thread, reason, description, hit }) => {
    const { rollout } = session.threads.get(thread);
    const place = rollout.cursor?.place;
    send(
      new Event('stopped', {
        reason: REASONS[reason],
        threadId: thread,
        allThreadsStopped: !session.isWholeBatch,
        ...(description === undefined ? {} : { description, text: description }),
        ...(hit.length === 0 ? {} : { hitBreakpointIds: [...hit] }),
      }),
    );
    if (place !== undefined)
      send(new Event('rolloutPlace', { rollout: rollout.debuggee.rollout, ...place, head: rollout.atHead }));
  });
  session.onContinued.event(({ thread }) =>
    send(new Event('continued', { threadId: thread, allThreadsContinued: !session.isWholeBatch })),
  );
  session.onThread.event(({ reason, thread }) => send(new ThreadEvent(reason, thread)));
  session.onOutput.event(({ text, category, place }) => {
    const location =
      place === undefined
        ? {}
        : { source: trajectoryOf(place.rollout, referenceOf), line: place.rollout.document.lineOf(place.seq) };
    send(new Event('output', { output: text, category, ...location }));
  });
  session.onEnd.event(() => send(new TerminatedEvent()));
}
