/** The transcript of a trajectory in all its states. */
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { conversation, Stream } from '../../../test/support/stream.ts';
import { TrajectoryPage } from '../../trajectory/trajectoryPage.tsx';
import { story } from '../index.ts';
import { failedDesk } from './desk/ended.ts';
import { holdFrames } from './farStory.tsx';
import { office } from './officeRollout.ts';
import {
  continued,
  INSTRUCTION,
  imported,
  long,
  ROLLOUT,
  type RolloutOptions,
  recording,
  restOfRunning,
  rolloutHost,
  running,
  team,
} from './sampleRollouts.ts';

interface TranscriptOptions extends RolloutOptions {
  readonly seq?: number;
  readonly tab?: string;
  /** Live text of the last event. */
  readonly live?: string;
  /** Events that arrive when a test dispatches `story-rest`. */
  readonly rest?: () => readonly TraceEvent[];
  /** Whether most of the events arrive when a test dispatches `story-rest`. */
  readonly hold?: boolean;
}

/** The page has shown its events by then. */
const SHOWN_MS = 200;

function transcript(
  name: string,
  events: () => readonly TraceEvent[],
  { seq, tab = 'transcript', live, rest, hold = false, ...options }: TranscriptOptions = {},
): void {
  story('transcript', name, () => {
    const host = rolloutHost(events(), options);
    if (live !== undefined) setTimeout(() => host.delta(ROLLOUT, events().at(-1)?.seq ?? 0, 0, live), SHOWN_MS);
    if (rest !== undefined) window.addEventListener('story-rest', () => host.push(ROLLOUT, rest()), { once: true });
    return (
      <TrajectoryPage
        host={hold ? { ...host, openSocket: holdFrames(host.openSocket) } : host}
        readOnly={false}
        can={new Set(['open', 'copy', 'external', 'link'])}
        onNavigate={() => undefined}
        place={{
          page: 'trajectory',
          rollout: ROLLOUT,
          ...(seq === undefined ? {} : { seq }),
          ...(tab === '' ? {} : { tab }),
        }}
      />
    );
  });
}

const PICTURE =
  '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="480"><rect width="640" height="480" fill="#3b6ea5"/>' +
  '<circle cx="320" cy="240" r="120" fill="#e8c468"/></svg>';

/** Moves a reservation: reasoning, Markdown, an image, parallel calls, an error, checks. */
function airline(): TraceEvent[] {
  const s = new Stream();
  s.start();
  s.message(
    'system',
    '# Airline agent policy\n\nThe current time is 2024-05-15 15:00 EST.\n\n' +
      '- Ask before you change a reservation.\n'.repeat(80),
  );
  s.message(
    'user',
    'Hi, I’d like to move my reservation EHGLP3 to May 17, and upgrade it to business if that’s under $400.',
  );
  s.model('I can help with that. To find your booking, please give me your **user ID**.');
  s.message('user', [
    { type: 'text', content: 'It’s emma_kim_9957. This is my ticket:' },
    { type: 'blob', mime_type: 'image/svg+xml', modality: 'image', content: btoa(PICTURE) },
  ]);
  s.model('', [
    { id: 'c1', name: 'get_user_details', arguments: { user_id: 'emma_kim_9957' } },
    { id: 'c2', name: 'get_reservation_details', arguments: { reservation_id: 'EHGLP3' } },
  ]);
  const user = s.toolStart('c1', 'get_user_details', { user_id: 'emma_kim_9957' });
  const reservation = s.toolStart('c2', 'get_reservation_details', { reservation_id: 'EHGLP3' });
  s.toolEnd(user, 'c1', { name: 'Emma Kim', membership: 'gold', payment_methods: ['card_1', 'card_2'] });
  s.toolEnd(reservation, 'c2', {
    reservation_id: 'EHGLP3',
    flights: [{ flight: 'HAT112', date: '2024-05-16', cabin: 'economy' }],
  });
  const step = s.add('model.start', { step: 3, model: 'demo', context: [[1, s.m]], sampling: {} });
  const m = s.message(
    'assistant',
    [
      {
        type: 'reasoning',
        content: 'The user wants business under $400. I should look for seats on May 17 first, and ask before I pay.',
      },
      {
        type: 'text',
        content:
          'Your reservation is in economy. I’ll look for flights on May 17 that\n\n' +
          '- keep the route **DFW → SEA**, and\n' +
          '- have business seats for less than $400.\n\n| flight | price |\n| --- | --- |\n| HAT112 | $361 |',
      },
      {
        type: 'tool_call',
        id: 'c3',
        name: 'update_reservation_flights',
        arguments: { reservation_id: 'EHGLP3', cabin: 'business' },
      },
    ],
    'sampled',
    { span: step },
  );
  s.add('model.end', { status: 'ok', m, ms: 2_000, source: 'live', trainable: true }, { span: step });
  const update = s.toolStart('c3', 'update_reservation_flights', { reservation_id: 'EHGLP3', cabin: 'business' });
  s.toolEnd(update, 'c3', 'Error: payment method not found', {
    error: { class: 'tool_error', message: 'Error: payment method not found' },
  });
  s.add('score', {
    scorer: 'reservations',
    value: 0,
    passed: false,
    explanation: 'EHGLP3 is in economy, expected business',
    checks: [
      {
        name: 'cabin',
        passed: false,
        cause: 'reservations: cabin not changed',
        expected: 'business',
        actual: 'economy',
      },
      { name: 'nothing else changed', passed: true },
    ],
  });
  s.end({ passed: false, reward: 0 });
  return s.events;
}

function silentRecording(): TraceEvent[] {
  const s = new Stream();
  s.start();
  s.end();
  return s.events;
}

/** Returns the seq of the n-th event of a kind. */
function at(events: readonly TraceEvent[], kind: TraceEvent['kind'], n = 0): number {
  return events.filter((event) => event.kind === kind)[n]?.seq ?? 0;
}

transcript('whole', airline, { seq: at(airline(), 'message', 1) });
transcript('failed-call', airline, { seq: at(airline(), 'tool.start', 2) });
transcript('team', team, { seq: at(team(), 'agent.start') });
transcript('desk', failedDesk);
transcript('mail', office);
transcript('imported', imported, { tab: '', imported: INSTRUCTION });
transcript('continued', continued);
transcript('recording', recording, { tab: '', imported: INSTRUCTION });
transcript('running', running, { live: 'I look at both loans and renew them, one after the ', rest: restOfRunning });
transcript('long', () => long(1_000), { seq: at(long(1_000), 'tool.start', 700) });
transcript('early', () => long(3_000), { hold: true });
transcript('empty', silentRecording);

transcript('side-calls', () => conversation().events, { ended: true });
