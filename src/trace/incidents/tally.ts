/**
 * The incidents of a batch, in one line each: from its own stream and from the rows of its rollouts, never from their
 * streams, so that it takes no longer than the other figures of a report.
 */
import { nounFor, oneLine } from '../../common/text.ts';
import { count, duration } from '../../common/units.ts';
import { groupLine, InfraGroups } from '../infraGroups.ts';
import type { TraceEvent } from '../schema.ts';
import type { RolloutRow } from '../summary.ts';
import type { Incident } from './incident.ts';
import { addPauses, type RolloutIncidents } from './ofRollout.ts';

/** Endpoints, reasons, and messages with lines of their own, of each kind. */
const MAX_LINES = 3;
/** Characters of what others wrote. */
const MAX_TEXT = 160;
/** Characters of a text that ends with what to do. */
const MAX_ADVICE = 500;

/** Ends of workers without notice. Those of pods are reported by their pods. */
const LOST_WORKERS = new Set([
  'worker_lost',
  'worker_exit',
  'pod_oom',
  'pod_evicted',
  'pod_preempted',
  'pod_deleted',
  'pod_failed',
]);
/** What stops a batch until somebody acts: its text says what to do, and comes first. */
const STOPPERS = new Set(['values_lost', 'objects_taken', 'installation']);
/** What ends with what to do, too. */
const ADVISERS = new Set([...STOPPERS, 'node_lost', 'pod_frozen']);
const OTHERS = new Set([
  ...STOPPERS,
  'tampering',
  'given_up',
  'cluster_away',
  'node_lost',
  'pod_frozen',
  'pod_refused',
  'image',
  'quota',
  'no_pods',
  'job_deleted',
  'objects_lost',
]);

/** Names of failures in the record of a call, for people. Others are statuses of HTTP. */
const FAILURES: Readonly<Record<string, string>> = {
  cut: 'connection cut',
  refused: 'connection refused',
  no_address: 'unknown address',
  unreadable: 'unreadable reply',
};

/** Requests for groups that exist: how many groups, and how many such requests. */
export interface RepeatedRequests {
  readonly groups: number;
  readonly requests: number;
}

export class IncidentTally {
  readonly #workers = new Set<string>();
  #lastLoss = '';
  readonly #leaving = new Set<string>();
  #resumed = 0;
  #handedOver = 0;
  /** `readyMs`: how long after its start the last server resumed the batch; `isOther`: workers were at another one. */
  readonly #server = { restarts: 0, readyMs: 0, reconnections: 0, isOther: false, disconnectedMs: 0 };
  /** Requests that were made again, by endpoint and failure. */
  readonly #repeated = new Map<string, Map<string, number>>();
  #paused: RolloutIncidents['paused'];
  readonly #scorers = new Map<string, number>();
  #requests: RepeatedRequests = { groups: 0, requests: 0 };
  #group: string | undefined;
  /** Lost rollouts by their message without numbers. */
  readonly #losses = new Map<string, { readonly message: string; rollouts: number; attempts: number }>();
  readonly #others = new InfraGroups();

  /** Adds an event of the batch's own stream. */
  addEvent(event: TraceEvent): void {
    if (event.kind !== 'infra') return;
    const { what, worker, pod, group, ms = 0, text } = event.data;
    if (LOST_WORKERS.has(what)) {
      this.#workers.add(worker ?? pod ?? '');
      this.#lastLoss = text;
    } else if (what === 'worker_leaving') {
      this.#leaving.add(worker ?? '');
    } else if (what === 'server_started') {
      this.#server.restarts += 1;
      this.#server.readyMs = ms;
    } else if (what === 'server_back' || what === 'workers_back') {
      this.#server.reconnections += 1;
      this.#server.isOther ||= what === 'server_back';
      this.#server.disconnectedMs = Math.max(this.#server.disconnectedMs, ms);
    } else if (what === 'group_repeated') this.#group = group;
    else if (OTHERS.has(what)) this.#others.add(event);
  }

  /** Adds a row of any try. */
  addRollout({ state, progress: { incidents, status, error_message: message = '' } }: RolloutRow): void {
    if (state === 'ended' && status === 'infrastructure') this.#loss(message).rollouts += 1;
    if (incidents === undefined) return;
    const { resumed = 0, handed_over: handedOver = 0 } = incidents;
    this.#handedOver += handedOver;
    this.#resumed += Math.max(0, resumed - handedOver);
    for (const [endpoint, failures] of Object.entries(incidents.repeated ?? {})) {
      let own = this.#repeated.get(endpoint);
      if (own === undefined) this.#repeated.set(endpoint, (own = new Map<string, number>()));
      for (const [failure, failed] of Object.entries(failures)) own.set(failure, (own.get(failure) ?? 0) + failed);
    }
    if (incidents.paused !== undefined) this.#paused = addPauses(this.#paused, incidents.paused);
  }

  /** Adds a row that counts for its attempt, which is also added as one of its tries. */
  addAttempt({ state, progress: { incidents, status, error_message: message = '' } }: RolloutRow): void {
    if (state === 'ended' && status === 'infrastructure') this.#loss(message).attempts += 1;
    if (state === 'ended' && incidents?.scorer !== undefined)
      this.#scorers.set(incidents.scorer, (this.#scorers.get(incidents.scorer) ?? 0) + 1);
  }

  addRequests(requests: RepeatedRequests): void {
    this.#requests = requests;
  }

  /** Returns the incidents so far, in the order of `INCIDENT_KINDS`. */
  list(): Incident[] {
    return [
      ...this.#workerLine(),
      ...this.#leavingLine(),
      ...this.#serverLine(),
      ...this.#modelLines(),
      ...this.#pauseLine(),
      ...this.#scorerLines(),
      ...this.#requestLine(),
      ...this.#lossLines(),
      ...this.#otherLines(),
    ];
  }

  #loss(message: string): { rollouts: number; attempts: number } {
    const key = message.replaceAll(/\d+/g, '0');
    let own = this.#losses.get(key);
    if (own === undefined) this.#losses.set(key, (own = { message, rollouts: 0, attempts: 0 }));
    return own;
  }

  #workerLine(): Incident[] {
    const lost = this.#workers.size;
    if (lost + this.#resumed === 0) return [];
    const continued = `${number(this.#resumed, 'rollout')} continued on another worker`;
    if (lost === 0) return [{ kind: 'worker', count: 0, text: continued }];
    const why = lost === 1 ? quoted(this.#lastLoss) : `the last one: ${quoted(this.#lastLoss)}`;
    const text = `${number(lost, 'worker')} lost (${why})${this.#resumed === 0 ? '' : `; ${continued}`}`;
    return [{ kind: 'worker', count: lost, text }];
  }

  #leavingLine(): Incident[] {
    // One that was lost before it had handed its rollouts over is counted there.
    const left = [...this.#leaving].filter((worker) => !this.#workers.has(worker)).length;
    const stopped = left === 0 ? [] : [`${number(left, 'worker')} had to stop`];
    const handedOver = this.#handedOver === 0 ? [] : [`${number(this.#handedOver, 'rollout')} handed over to others`];
    const text = [...stopped, ...handedOver].join('; ');
    return text === '' ? [] : [{ kind: 'worker', count: left, text }];
  }

  #serverLine(): Incident[] {
    const { restarts, isOther, reconnections, disconnectedMs } = this.#server;
    const back = reconnections === 0 ? '' : `workers reconnected within ${duration(disconnectedMs)}`;
    if (restarts > 0) {
      const ready = `batch resumed after ${duration(this.#server.readyMs)}`;
      const text = `server restarted${times(restarts)}; ${ready}${back === '' ? '' : `, ${back}`}`;
      return [{ kind: 'server', count: restarts, text }];
    }
    if (reconnections === 0) return [];
    const what = isOther ? 'server restarted or replaced' : 'connection to the server lost';
    return [{ kind: 'server', count: reconnections, text: `${what}${times(reconnections)}; ${back}` }];
  }

  #modelLines(): Incident[] {
    const endpoints = [...this.#repeated].map(([endpoint, failures]) => ({ endpoint, failures, times: sum(failures) }));
    return lines(endpoints, 'model', {
      text: ({ endpoint, failures, times: failed }) =>
        `model${endpoint === '' ? '' : ` ${endpoint}`}: ${number(failed, 'request')} failed (${parts(failures)}) and ` +
        `${failed === 1 ? 'was' : 'were'} made again`,
      rest: (more, failed) =>
        `${number(more, 'more endpoint')}: ${number(failed, 'request')} failed and ` +
        `${failed === 1 ? 'was' : 'were'} made again`,
    });
  }

  #pauseLine(): Incident[] {
    if (this.#paused === undefined) return [];
    const { calls, ms, aborted, weights, by = {} } = this.#paused;
    const again = aborted === 0 ? '' : `; ${number(aborted, 'request')} aborted and made again`;
    const text =
      `${pausedModels(by)} for ${weights === undefined ? 'new weights' : `version ${weights} of its weights`}: ` +
      `${number(calls, 'call')} waited, ${duration(ms)} at most${again}`;
    return [{ kind: 'pause', count: calls, text }];
  }

  #scorerLines(): Incident[] {
    const scorers = [...this.#scorers].map(([message, attempts]) => ({ message, times: attempts }));
    return lines(scorers, 'scorer', {
      text: ({ message, times: attempts }) => `${without(attempts)}: ${quoted(message)}`,
      rest: (_more, attempts) => `${without(attempts)} because of other scorers`,
    });
  }

  #requestLine(): Incident[] {
    const { groups, requests } = this.#requests;
    if (requests === 0) return [];
    const what = groups === 1 && this.#group !== undefined ? `group ${oneLine(this.#group, MAX_TEXT)}` : '';
    const text =
      `${what === '' ? number(groups, 'group') : what} requested again${times(requests)}; answered with ` +
      (groups === 1 ? 'the group that exists' : 'the groups that exist');
    return [{ kind: 'request', count: requests, text }];
  }

  #lossLines(): Incident[] {
    const losses = [...this.#losses.values()].map((one) => ({ ...one, times: one.rollouts }));
    return lines(losses, 'lost', {
      text: ({ message, rollouts, attempts }) =>
        `${number(rollouts, 'rollout')} lost${message === '' ? '' : `: ${quoted(message)}`}` +
        (rollouts > attempts ? `; ${count(rollouts - attempts)} tried again` : ''),
      rest: (more, rollouts) => `${number(rollouts, 'more rollout')} lost for ${number(more, 'other reason')}`,
    });
  }

  #otherLines(): Incident[] {
    const groups = this.#others.all.map((group) => ({
      group,
      times: group.all,
      first: STOPPERS.has(group.newest.what),
      max: ADVISERS.has(group.newest.what) ? MAX_ADVICE : MAX_TEXT,
    }));
    return lines(groups, 'other', {
      text: ({ group, max }) => quoted(groupLine(group, group.all), max),
      rest: (_more, events) => `${number(events, 'more event')} of other kinds`,
    });
  }
}

/** Returns the lines of the first and most frequent incidents of a kind, and one for the rest. */
function lines<T extends { readonly times: number; readonly first?: boolean }>(
  all: readonly T[],
  kind: Incident['kind'],
  { text, rest }: { readonly text: (one: T) => string; readonly rest: (more: number, times: number) => string },
): Incident[] {
  const sorted = [...all].sort((a, b) => Number(b.first ?? false) - Number(a.first ?? false) || b.times - a.times);
  const first = sorted.slice(0, MAX_LINES).map((one): Incident => ({ kind, count: one.times, text: text(one) }));
  const more = sorted.slice(MAX_LINES);
  if (more.length === 0) return first;
  const left = more.reduce((total, one) => total + one.times, 0);
  return [...first, { kind, count: left, text: rest(more.length, left) }];
}

/** Returns the failures, the most frequent first. */
function parts(failures: ReadonlyMap<string, number>): string {
  const sorted = [...failures]
    .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    .map(([name, failed]) => [FAILURES[name] ?? name, failed] as const);
  if (sorted.length === 1) return sorted[0]?.[0] ?? '';
  return sorted.map(([failure, failed]) => `${failure} ×${count(failed)}`).join(', ');
}

/** Says what was paused by whom: `model http://vllm:8000/v1 paused by ada`. */
function pausedModels(by: Readonly<Record<string, readonly string[]>>): string {
  const all = Object.entries(by).map(([endpoint, names]) => ({
    endpoint: oneLine(endpoint, MAX_TEXT),
    names: oneLine(names.join(' and '), MAX_TEXT),
  }));
  const [first, ...others] = all;
  if (first === undefined) return 'model paused';
  const byNames = ({ names }: typeof first): string => (names === '' ? '' : ` by ${names}`);
  if (others.length === 0) return `model ${first.endpoint} paused${byNames(first)}`;
  const listed = all.slice(0, MAX_LINES).map((one) => `${one.endpoint}${byNames(one)}`);
  const more = all.length - listed.length;
  return `${count(all.length)} models paused (${listed.join(', ')}${more === 0 ? '' : `, ${count(more)} more`})`;
}

function without(attempts: number): string {
  return `${number(attempts, 'attempt')} without a reward`;
}

function sum(failures: ReadonlyMap<string, number>): number {
  return [...failures.values()].reduce((total, failed) => total + failed, 0);
}

/** Completes what happened: nothing for once. */
function times(happened: number): string {
  return happened === 1 ? '' : happened === 2 ? ' twice' : ` ${count(happened)} times`;
}

function number(many: number, noun: string): string {
  return `${count(many)} ${nounFor(many, noun)}`;
}

function quoted(text: string, max = MAX_TEXT): string {
  return oneLine(text, max).replace(/\.$/, '');
}
