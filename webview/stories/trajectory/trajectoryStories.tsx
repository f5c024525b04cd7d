/** The trajectory page in all its states. */
import type { PageAction, PagePlace, PageVerb } from '../../../src/protocol/page.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { conversation } from '../../../test/support/stream.ts';
import type { Host } from '../../host/host.ts';
import { remember } from '../../host/memory.ts';
import type { StoryHost } from '../../host/story.ts';
import { TrajectoryPage } from '../../trajectory/trajectoryPage.tsx';
import { story } from '../index.ts';
import { batchEvents, breakpointEvents, forkBatches } from './desk/batch.ts';
import { failedDesk, passedDesk } from './desk/ended.ts';
import { askingDesk, heldDesk, ranDesk } from './desk/held.ts';
import { interruptedDesk } from './desk/interrupted.ts';
import { SCENARIO, wholeTables } from './desk/tables.ts';
import { manyChanges, sampledTokens, splitTokens } from './desk/values.ts';
import { rightDesk, wrongDesk } from './desk/wrong.ts';
import { lookahead } from './lookahead.ts';
import { office } from './officeRollout.ts';
import { asked, predicted } from './predicted.ts';
import { inRecordedWorld } from './recordedRollout.ts';
import {
  continued,
  desk,
  hybrid,
  INSTRUCTION,
  imported,
  long,
  perturbed,
  ROLLOUT,
  type RolloutOptions,
  recording,
  restOfRunning,
  rolloutHost,
  running,
  team,
  values,
} from './sampleRollouts.ts';

const CAN: ReadonlySet<PageVerb> = new Set([
  'open',
  'source',
  'document',
  'copy',
  'external',
  'world',
  'link',
  'batch',
  'label',
  'predict',
  'breakpoint',
  'save',
]);

/** The page has shown its events by then. */
const SHOWN_MS = 200;

interface StoryOptions extends RolloutOptions {
  readonly seq?: number;
  readonly check?: number;
  readonly tab?: string;
  readonly fork?: boolean;
  /** Whether the server has stopped. */
  readonly stopped?: boolean;
  /** Whether the connection is lost for good. */
  readonly disconnected?: boolean;
  /** Live text of the last event. */
  readonly live?: string;
  /** Events that arrive when a test dispatches `story-rest`. */
  readonly rest?: () => readonly TraceEvent[];
  /** Typed into the search field. */
  readonly search?: string;
  /** A key to press once the page is shown, e.g. `Shift+B`. */
  readonly press?: string;
  /** Label of a button to click. */
  readonly click?: string;
  readonly rollout?: string;
  /** Choices that are remembered from earlier. */
  readonly remembered?: Readonly<Record<string, unknown>>;
}

function page(
  name: string,
  events: () => readonly TraceEvent[],
  {
    seq,
    check,
    tab,
    fork,
    stopped = false,
    disconnected = false,
    live,
    rest,
    search,
    press,
    click,
    rollout = ROLLOUT,
    remembered = {},
    ...options
  }: StoryOptions = {},
): void {
  const { readOnly = false, silent = false } = options;
  story(
    'trajectory',
    name,
    () => {
      for (const [key, value] of Object.entries(remembered)) remember(key, value);
      const base = rolloutHost(events(), options);
      const host = disconnected ? disconnect(base) : base;
      if (stopped) base.server.set({ state: 'stopped', text: 'The rollout server stopped. Data may be out of date.' });
      if (live !== undefined) setTimeout(() => base.delta(ROLLOUT, events().at(-1)?.seq ?? 0, 0, live), SHOWN_MS);
      if (rest !== undefined) window.addEventListener('story-rest', () => base.push(ROLLOUT, rest()), { once: true });
      if (search !== undefined) setTimeout(() => type(search), SHOWN_MS);
      if (press !== undefined)
        setTimeout(
          () =>
            window.dispatchEvent(
              new KeyboardEvent('keydown', {
                key: press.split('+').at(-1) ?? '',
                shiftKey: press.startsWith('Shift+'),
              }),
            ),
          SHOWN_MS,
        );
      if (click !== undefined)
        setTimeout(
          () => document.querySelector<HTMLElement>(`vscode-button[aria-label="${click}"]`)?.click(),
          SHOWN_MS,
        );
      return (
        <TrajectoryPage
          host={{ ...host, setPlace: keepPlace, act: keepAction }}
          readOnly={readOnly}
          can={CAN}
          onNavigate={() => undefined}
          place={{
            page: 'trajectory',
            rollout,
            ...(seq === undefined ? {} : { seq }),
            ...(check === undefined ? {} : { check }),
            ...(tab === undefined ? {} : { tab }),
            ...(fork === undefined ? {} : { fork }),
          }}
        />
      );
    },
    { busy: silent },
  );
}

/** Keeps the place and the title, as an editor does, for tests. */
function keepPlace(place: PagePlace, title: string): void {
  document.body.dataset['place'] = JSON.stringify({ place, title });
}

/** Keeps the last action that the page requested, for tests. */
function keepAction(action: PageAction): Promise<void> {
  document.body.dataset['action'] = JSON.stringify(action);
  return Promise.resolve();
}

/** Closes the connections after a moment, and every new one immediately. */
function disconnect(host: StoryHost): Host {
  let isLost = false;
  setTimeout(() => {
    isLost = true;
    host.disconnect();
  }, 100);
  return {
    ...host,
    openSocket: (events) => {
      if (!isLost) return host.openSocket(events);
      setTimeout(() => events.close());
      return { send: () => undefined, close: () => undefined };
    },
  };
}

function type(text: string): void {
  const field = document.querySelector<HTMLInputElement>('.search-box vscode-text-field');
  if (field === null) return;
  field.value = text;
  field.dispatchEvent(new Event('input', { bubbles: true }));
}

/** Returns the seq of the n-th event of a kind. */
function at(events: readonly TraceEvent[], kind: TraceEvent['kind'], n = 0): number {
  return events.filter((event) => event.kind === kind)[n]?.seq ?? 0;
}

const heldCall = heldDesk(0).findLast(({ kind }) => kind === 'tool.start')?.seq ?? 0;

page('failed-call', team, { seq: at(team(), 'tool.start', 2) });
page('repeated-call', team, { seq: at(team(), 'tool.start', 3) });
page('messages', team, { seq: at(team(), 'tool.start', 2), tab: 'messages' });
page('world', team, { seq: at(team(), 'tool.start', 1), tab: 'world' });
page('tokens', team, { seq: at(team(), 'tool.start', 1), tab: 'tokens' });
page('timing', team, { seq: at(team(), 'tool.start', 1), tab: 'timing' });
page('raw', team, { seq: at(team(), 'tool.start', 1), tab: 'raw' });
page('log', team, { seq: at(team(), 'log') });
page('score', team, { seq: at(team(), 'score') });
page('agent', team, { seq: at(team(), 'agent.start') });
page('injected', perturbed, { seq: at(perturbed(), 'tool.start') });
page('injected-not-made', perturbed, { seq: at(perturbed(), 'tool.start', 1) });
page('injected-late', perturbed, { seq: at(perturbed(), 'tool.start', 3) });
page('predicted-right', predicted, { seq: at(predicted(), 'tool.start') });
page('predicted-otherwise', predicted, { seq: at(predicted(), 'tool.start', 1) });
page('not-predicted', predicted, { seq: at(predicted(), 'tool.start', 2) });
page('predicted-side-call', predicted, { seq: at(predicted(), 'model.start', 3) });
page('lookahead', lookahead, { seq: at(lookahead(), 'tool.start', 1) });
page('lookahead-kept', lookahead, { seq: at(lookahead(), 'tool.start', 5) });
page('lookahead-forgotten', lookahead, { seq: at(lookahead(), 'tool.start', 4) });
page('lookahead-messages', lookahead, { seq: at(lookahead(), 'model.start', 12), tab: 'messages' });
for (const is of ['asking', 'failed', 'done'] as const)
  page(`held-predict-${is}`, () => heldDesk(42_000), { predictions: [asked(heldCall, is)] });
page('held-predict-ran', () => ranDesk(), { seq: heldCall, predictions: [asked(heldCall, 'done')] });
page('recorded-answer', inRecordedWorld, { seq: at(inRecordedWorld(), 'tool.start', 1) });
page('recorded-in-file', inRecordedWorld, { seq: at(inRecordedWorld(), 'tool.start', 2) });
page('not-recorded', inRecordedWorld, { seq: at(inRecordedWorld(), 'tool.start', 3) });
page('overlay', hybrid, { seq: at(hybrid(), 'tool.start', 2) });
page('team', office);
page('mail', office, { seq: at(office(), 'model.start', 5), tab: 'messages' });
page('running', running, { live: 'I look at both loans and renew them, one after the ', rest: restOfRunning });
page('held', () => heldDesk(42_000));
page('held-elsewhere', () => heldDesk(42_000), { seq: 8 });
page('held-may-not-control', () => heldDesk(42_000), {
  you: { user: 'alice', namespace: 'rollouts', rights: ['read'] },
});
page('imported', imported, { imported: INSTRUCTION });
page('continued', continued, {
  seq: continued().find(({ kind }) => kind === 'model.start')?.seq ?? 0,
  tab: 'messages',
});
page('recording-end', recording, { imported: INSTRUCTION, seq: recording().at(-1)?.seq ?? 0, tab: 'call' });
page('system-message', imported, { seq: 2 });
page('markup-is-text', imported, { seq: 3 });
page('unknown-event', imported, { seq: imported().at(-1)?.seq ?? 0 });
page('table', values, { seq: at(values(), 'tool.start') });
page('many-lines', values, { seq: at(values(), 'tool.start', 1) });
page('deep-value', values, { seq: at(values(), 'tool.start', 2) });
page('picture', values, { seq: at(values(), 'tool.start', 3) });
page('empty-value', values, { seq: at(values(), 'tool.start', 4) });
page('long-message', values, { seq: 2 });
page('many-steps', () => long(1_000));
page('read-only', desk, { readOnly: true });
page('server-stopped', desk, { stopped: true });
page('connection-lost', running, { disconnected: true });
page('nothing-yet', () => []);
page('loading', () => [], { silent: true });
page('not-there', desk, { rollout: 'r404' });

// Rollouts in which several things happen.
const failed = failedDesk();
page('why', () => failed, {
  seq: at(failed, 'tool.start', 8),
  batchEvents: batchEvents(failed, ROLLOUT),
  others: [passedDesk(), passedDesk()],
});
page('reason', wrongDesk, { others: [rightDesk()] });
page('other-check', wrongDesk, { others: [rightDesk()], seq: at(wrongDesk(), 'score'), check: 2, tab: 'messages' });
page('fork-asked', wrongDesk, { others: [rightDesk()], fork: true });
page('fork-asked-at', wrongDesk, { others: [rightDesk()], fork: true, seq: at(wrongDesk(), 'tool.start', 2) });
page('reason-long', () => wrongDesk({ more: 6 }), { others: [rightDesk()] });
page('split', () => failed, { seq: at(failed, 'tool.start', 5), others: [passedDesk(), failed] });
page('fold', () => failed, { seq: at(failed, 'tool.start', 9) });
page('fold-open', () => failed, { seq: at(failed, 'tool.start', 11) });
page('several-agents', () => failed, { seq: at(failed, 'tool.start', 3) });
page('message-of-member', () => failed, { seq: at(failed, 'model.start', 4), tab: 'messages' });
page('timing-of-step', () => failed, { seq: at(failed, 'tool.start', 7), tab: 'timing' });
const notes = batchEvents(failed, ROLLOUT).flatMap((event) => (event.kind === 'note' ? [event.data] : []));
page('bookmarked', () => failed, { seq: notes[0]?.seq ?? 1, batchEvents: batchEvents(failed, ROLLOUT) });
page('noted', () => failed, { seq: notes[1]?.seq ?? 1, batchEvents: batchEvents(failed, ROLLOUT) });
page('zoomed', () => failed, {
  seq: at(failed, 'tool.start', 7),
  press: 'z',
  batchEvents: batchEvents(failed, ROLLOUT),
});
page('search', () => failed, { search: 'renew_loan' });
page('search-none', () => failed, { search: 'giraffe' });
page('search-wrong', () => failed, { search: 'tool.name ==' });
page('touched', () => endedAs({ touched: true }));
page('fork', () => [
  ...desk().map((event) =>
    event.kind === 'rollout.start' ? { ...event, data: { ...event.data, fork: { rollout: 'r17x3', seq: 12 } } } : event,
  ),
]);
const JUDGED = { value: 0.8, passed: true, at: 1_795_000_100_000, version: '4e1f09c2aa', by: 'ada', run: 'r2s3' };
page('verdicts', wrongDesk, {
  ended: true,
  others: [rightDesk()],
  verdicts: {
    'careful judge': JUDGED,
    regex: { value: null, passed: null, at: JUDGED.at },
    'person:ada': { value: 1, passed: true, at: JUDGED.at + 60_000, by: 'ada' },
    'person:someone.with.a.long.name@example.org': { value: 0, passed: false, at: JUDGED.at + 90_000 },
    'person:changed-their-mind': { value: null, passed: null, at: JUDGED.at },
  },
});
page('trimmed', wrongDesk, {
  ended: true,
  others: [rightDesk()],
  trimmed: { at: JUDGED.at, rule: 'rule 2: ended more than 30 d ago, name nightly-*' },
  verdicts: { 'careful judge': JUDGED },
});
page('rescoring', desk, { ended: true, rescores: 'r17x3' });
page('truncated', () =>
  endedAs({ status: 'truncated', error: { class: 'limit', message: 'The limit of 30 steps is reached.' } }),
);
page('infrastructure', () =>
  endedAs({
    status: 'infrastructure',
    passed: null,
    reward: null,
    error: {
      class: 'infrastructure',
      message: 'The worker pod-07 was lost three times: out of memory (exit code 137).',
    },
  }),
);
const lost = interruptedDesk();
page('interrupted', () => lost, { seq: at(lost, 'model.start', 3) });
page('interrupted-call', () => lost, { seq: at(lost, 'tool.start', 5), tab: 'timing' });
page('held-before', () => lost, { seq: at(lost, 'tool.start', 4), press: 'z' });
page('sampled-tokens', () => sampledTokens(86).events, {
  ...sampledTokens(86),
  seq: at(sampledTokens(86).events, 'tool.start', 2),
  tab: 'tokens',
});
page('tokens-without-logprobs', () => sampledTokens(40, { logprobs: false }).events, {
  ...sampledTokens(40, { logprobs: false }),
  seq: at(sampledTokens(40).events, 'tool.start', 2),
  tab: 'tokens',
});
page('many-tokens', () => sampledTokens(5_000).events, {
  ...sampledTokens(5_000),
  seq: at(sampledTokens(40).events, 'tool.start', 2),
  tab: 'tokens',
});
page('tokens-split', () => splitTokens().events, {
  ...splitTokens(),
  seq: at(
    splitTokens().events,
    'tool.start',
    splitTokens().events.filter(({ kind }) => kind === 'tool.start').length - 1,
  ),
  tab: 'tokens',
});
page('tokens-gone', () => sampledTokens(40).events, {
  seq: at(sampledTokens(40).events, 'tool.start', 2),
  tab: 'tokens',
});
page('tokens-before', () => sampledTokens(40).events, { seq: at(sampledTokens(40).events, 'message'), tab: 'tokens' });
page('many-changes', () => manyChanges(2_000), { seq: at(manyChanges(1), 'tool.start', 2), tab: 'world' });
page('many-changes-in-call', () => manyChanges(2_000), { seq: at(manyChanges(1), 'tool.start', 2) });
page('nothing-changed', running, { tab: 'world' });
for (const [name, loans] of [
  ['tables', 40],
  ['tables-many', 60_000],
] as const) {
  const { events, blobs } = wholeTables(loans);
  page(name, () => events, {
    blobs,
    seq: at(events, 'tool.start'),
    tab: 'world',
    scenario: SCENARIO,
    remembered: { 'world.rows': 'all' },
  });
}
page('tables-gone', () => wholeTables(1).events, {
  ...{ seq: at(wholeTables(1).events, 'tool.start'), tab: 'world', remembered: { 'world.rows': 'all' } },
});
page('tables-of-module', team, {
  ...{ seq: at(team(), 'tool.start', 1), tab: 'world', remembered: { 'world.rows': 'all' } },
});

// Breakpoints, edits and forks.
page('breakpoints', () => heldDesk(42_000), { batchEvents: breakpointEvents() });
page('breakpoint-with-condition', () => heldDesk(42_000), { batchEvents: breakpointEvents(), press: 'Shift+B' });
page('breakpoint-new', () => heldDesk(42_000), { seq: 8, press: 'Shift+B' });
page('breakpoints-of-editor', () => failed, {
  ended: true,
  seq: at(failed, 'tool.start', 5),
  press: 'Shift+B',
  breakpoints: [
    { id: 'e1', on: { name: 'renew_loan' }, enabled: true },
    { id: 'e2', on: { name: 'pay_fine' }, enabled: false, when: 'tool.arguments.amount > 2' },
    { id: 'e3', on: { rollout: ROLLOUT, seq: at(failed, 'model.start', 1) }, enabled: true, log: 'seen {event.seq}' },
  ],
});
page('edit-arguments', () => heldDesk(42_000), { batchEvents: breakpointEvents(), press: 'a' });
page('edit-as-fork', () => failed, { ended: true, seq: at(failed, 'tool.start', 5), press: 'a' });
page('edit-sampling', () => failed, { ended: true, seq: at(failed, 'model.start', 5), click: 'Edit sampling' });
page('edit-reply', () => failed, { ended: true, seq: at(failed, 'model.start', 5), press: 'a' });
page('edit-message', () => failed, { ended: true, seq: at(failed, 'message', 1), press: 'a' });
page('edit-text-result', values, { ended: true, seq: at(values(), 'tool.start', 1), click: 'Edit result' });
page('fork-form', () => failed, { ended: true, seq: at(failed, 'tool.start', 5), press: 'f' });
page('skip-form', () => heldDesk(42_000), { click: 'Skip…' });
page('say-form', () => heldDesk(42_000), { click: 'Add message…' });
page('question', () => askingDesk(42_000));
page('question-answered', () => askingDesk(42_000), { click: 'Answer…' });

page('forks', () => failed, {
  ended: true,
  seq: at(failed, 'tool.start', 6),
  batches: forkBatches(ROLLOUT, [
    at(failed, 'tool.start', 6),
    at(failed, 'tool.start', 6),
    at(failed, 'model.start', 1) - 1,
    at(failed, 'tool.start', 7),
  ]),
});

/** The lending desk with another end. */
function endedAs(end: Partial<Extract<TraceEvent, { kind: 'rollout.end' }>['data']>): TraceEvent[] {
  return desk().map((event) => (event.kind === 'rollout.end' ? { ...event, data: { ...event.data, ...end } } : event));
}

/** A simulated user between two steps, and a judge at the end. */
const talk = (): readonly TraceEvent[] => conversation().events;
page('side-calls', talk, { ended: true, seq: at(talk(), 'model.start', 3), tab: 'messages' });
