/** Copies parts of a trajectory in various formats. */
import { StudioError } from '../../src/common/errors.ts';
import { curlText } from '../../src/trace/chat/curl.ts';
import { messagesOf, requestOf } from '../../src/trace/chat/modelCall.ts';
import { stepMarkdown, trajectoryMarkdown } from '../../src/trace/text/markdown.ts';
import type { MenuEntry } from '../components/overlays/menu.tsx';
import { modelCallOf, subjectAt } from './detail/subject.ts';
import { referenceOf } from './reference.ts';
import type { TrajectorySession } from './session.ts';

/** Returns the menu entries for what can be copied at the cursor. */
export function copyEntries(session: TrajectorySession): MenuEntry[] {
  const { data, seq, can } = session;
  const { model, blobs } = data;
  const subject = subjectAt(model, seq);
  const call = subject === undefined ? undefined : modelCallOf(subject);
  const step = model.stepOf(seq)?.index;
  const place = {
    page: 'trajectory',
    rollout: data.rollout,
    ...(seq === 0 ? {} : { seq }),
    ...(session.tab === 'call' ? {} : { tab: session.tab }),
  } as const;
  /** Throws while earlier events are still loading. */
  const whole = (): void => {
    if (model.skipped !== undefined)
      throw new StudioError('unavailable', 'Earlier events are still loading. Try again in a moment.');
  };
  const copy = (make: () => string | Promise<string>) => (): void =>
    session.debug.run(
      Promise.resolve()
        .then(make)
        .then((text) => session.act({ do: 'copy', text })),
    );
  return [
    { label: 'Reference', onClick: copy(() => referenceOf(session)) },
    ...(can.has('link')
      ? (['editor', 'browser'] as const).map((where) => ({
          label: where === 'editor' ? 'Link for VS Code' : 'Link for a browser',
          onClick: () => session.act({ do: 'link', place, for: where }),
        }))
      : []),
    ...(step === undefined
      ? []
      : [{ label: 'Step as Markdown', onClick: copy(() => stepMarkdown(model, step) ?? '') }]),
    {
      label: 'Trajectory as Markdown',
      onClick: copy(() => {
        whole();
        return trajectoryMarkdown(model, data.rollout);
      }),
    },
    ...(call === undefined
      ? []
      : [
          {
            label: 'Model call as cURL',
            onClick: copy(async () => {
              whole();
              return curlText(call.start.data.endpoint, await requestOf(model, call, blobs));
            }),
          },
          {
            label: 'Messages of the call as JSON',
            onClick: copy(async () => {
              whole();
              return JSON.stringify(await messagesOf(model, call, blobs), null, 2);
            }),
          },
        ]),
    {
      label: 'Events as JSON',
      onClick: copy(() => {
        whole();
        return JSON.stringify(model.events, null, 1);
      }),
    },
  ];
}
