/**
 * Makes chat completions with any OpenAI-compatible endpoint: chooses the replica, waits for a permit, calls, and
 * retries temporary failures. Other failures become a ClassedError that says what to do.
 */
import { cancelled, sleep } from '../common/abort.ts';
import { sha256Hex } from '../common/hash.ts';
import { DEFAULTS } from '../config/defaults.ts';
import type { SubmittedModel } from '../config/submission.ts';
import type { ModelCallContext, ModelClient, ModelReply, ModelRequest } from '../rollout/ports.ts';
import { ClassedError } from '../trace/classedError.ts';
import type { Pause } from '../trace/schema.ts';
import type { CallResult } from './call.ts';
import { callOnce, wholeReplyMs } from './call.ts';
import type { Dialect } from './chat/dialect.ts';
import { prepareRequest } from './chat/request.ts';
import type { ModelConnections, Target } from './connections.ts';
import { Deltas } from './deltas.ts';
import { endpointLabel, targetOf } from './endpoint.ts';
import type { Failure } from './http/failures.ts';
import { failureOf } from './http/failures.ts';
import { finalError } from './http/finalError.ts';
import type { Permit, PermitGate } from './permits.ts';
import type { Replicas } from './replicas.ts';
import { WaitTimes } from './waitTimes.ts';

/** The state of an endpoint, for the server's back-pressure. */
export interface EndpointReport {
  readonly endpoint: string;
  readonly what: 'ok' | 'busy' | 'down' | 'denied' | 'missing';
  readonly retry_after_ms?: number;
  readonly text?: string;
}

interface ModelClientDeps {
  readonly connections: ModelConnections;
  readonly gate: PermitGate;
  readonly replicas: Replicas;
  /** Returns the version of the weights that an endpoint serves, if it was announced. */
  readonly weightsOf?: (endpoint: string) => string | undefined;
  /** Returns what is paused for the calls to an endpoint, and by whom. */
  readonly pausedBy?: (endpoint: string) => Pause | undefined;
  readonly report: (report: EndpointReport) => void;
  /** Calls with the same key go to the same replica while it is healthy. This is the task's ID. */
  readonly affinity: string;
  /**
   * Returns the current address of the rollout server's demo model, without `/v1`. Called for each request, because a
   * restarted server has another port.
   */
  readonly demoUrl: () => string;
  /** Returns the key of the demo model, if it requires one. */
  readonly demoKey?: () => string | undefined;
  /** Server time in ms, for the record of retries. */
  readonly now: () => number;
  /** 0 to 1, for the jitter. */
  readonly random?: () => number;
}

/**
 * Back-off of one call: doubled from the first to the last, with jitter. After that, the gate lets only one call at a
 * time try an endpoint that failed.
 */
const FIRST_BACKOFF_MS = 200;
const LAST_BACKOFF_MS = 5_000;
/** How often a request is repeated after a response that cannot be parsed. */
const UNREADABLE_TRIES = 3;

/** Rejections caused by the setup, as reported to the server. */
const SETUP: Partial<Record<Failure['what'], 'denied' | 'missing'>> = {
  denied: 'denied',
  missing: 'missing',
  unreachable: 'missing',
  no_tools: 'missing',
  max_tokens: 'missing',
};

/** Creates a client for one rollout's calls of one model. `model` has its `${env:…}` resolved. */
export function createModelClient(model: SubmittedModel, deps: ModelClientDeps): ModelClient {
  const endpoints = deps.replicas.order(model.endpoints, deps.affinity);
  return {
    decode: (ids, endpoint, signal) => {
      const decoder = deps.connections.decoder(endpoint, model.name);
      return decoder.decode(ids, model.name, targetOf(endpoint, model, deps), deps.connections, signal);
    },
    complete: (request, context) => {
      // The recorded replica comes first while it exists; the others are used when it fails.
      const order = (): readonly string[] => {
        const now = endpoints();
        return now[0] === request.endpoint || !now.includes(request.endpoint)
          ? now
          : [request.endpoint, ...now.filter((candidate) => candidate !== request.endpoint)];
      };
      return new Completion(model, order, deps, request, context).run();
    },
  };
}

type Retry = ModelReply['retries'][number];

/** Returns the header by which a router keeps the calls of a task together. A task's ID may not be fit for a header. */
function sessionHeaders(
  { session_header: name }: SubmittedModel,
  affinity: string,
): Readonly<Record<string, string>> | undefined {
  return name === undefined ? undefined : { [name.toLowerCase()]: sha256Hex(affinity).slice(0, 16) };
}

/** One call with its tries. */
class Completion {
  readonly #model: SubmittedModel;
  /** Returns the current replicas, which may change while it waits. */
  readonly #endpoints: () => readonly string[];
  readonly #deps: ModelClientDeps;
  readonly #request: ModelRequest;
  readonly #context: ModelCallContext;
  readonly #retries: Retry[] = [];
  /** Time that it waited for failed endpoints so far. */
  #waitedMs = 0;
  #waiting = false;
  #unreadable = 0;
  /** Time that it waited for the end of pauses and for others so far. */
  readonly #waits: WaitTimes;
  /** Requests that pauses aborted. */
  #aborted = 0;
  #lastFailure = '';
  /** The last failed try, reported once the wait before the next one is known. */
  #failed: (Pick<Retry, 'at' | 'class' | 'endpoint'> & { readonly began: number }) | undefined;

  constructor(
    model: SubmittedModel,
    endpoints: () => readonly string[],
    deps: ModelClientDeps,
    request: ModelRequest,
    context: ModelCallContext,
  ) {
    this.#model = model;
    this.#endpoints = endpoints;
    this.#deps = deps;
    this.#waits = new WaitTimes(deps.gate, endpoints, deps.pausedBy);
    this.#request = request;
    this.#context = context;
  }

  async run(): Promise<ModelReply> {
    try {
      for (;;) {
        const permit = this.#deps.gate.tryAcquire(this.#endpoints()) ?? (await this.#waitForPermit());
        this.#noteRetry();
        const began = performance.now();
        const at = this.#deps.now();
        let failure: Failure;
        try {
          this.#wait(false);
          const from = this.#deps.weightsOf?.(permit.endpoint);
          this.#context.onRequest?.('begins');
          const reply = await this.#call(permit);
          return this.#reply(reply, from, this.#deps.weightsOf?.(permit.endpoint));
        } catch (thrown) {
          if (this.#context.signal.aborted) throw cancelled(this.#context.signal);
          if (permit.aborted) {
            // It did not fail: it is made again after the pause.
            this.#aborted++;
            this.#waits.interrupted(permit.endpoint);
            this.#context.onRequest?.('aborted');
            continue;
          }
          failure = this.#learnSlow(failureOf(thrown, this.#request, Date.now()), permit.endpoint);
          this.#report(permit, failure);
        } finally {
          permit.release();
        }
        const endpoint = endpointLabel(permit.endpoint);
        this.#failed = { at: Math.round(at), began, class: nameOf(failure), endpoint };
        await this.#afterFailure(failure, permit.endpoint);
      }
    } catch (thrown) {
      if (this.#context.signal.aborted)
        throw new ClassedError('cancelled', 'The model call was cancelled.', { cause: thrown });
      throw thrown;
    } finally {
      this.#wait(false);
    }
  }

  #reply(reply: CallResult, from: string | undefined, to: string | undefined): ModelReply {
    const { pausedMs: ms, pause } = this.#waits;
    return {
      ...reply,
      retries: this.#retries,
      ...(from === undefined && to === undefined ? {} : { weights: { from, to } }),
      ...this.#waits.yielded(),
      ...(ms === 0 && this.#aborted === 0
        ? {}
        : { pause: { ms, aborted: this.#aborted, ...(pause === undefined ? {} : { of: pause }) } }),
    };
  }

  async #call(permit: Permit): Promise<CallResult> {
    const { connections } = this.#deps;
    const dialect = connections.dialect(permit.endpoint, this.#request.model);
    const client = connections.client(this.#target(permit.endpoint));
    const deltas =
      this.#context.onDelta === undefined ? undefined : new Deltas((text) => this.#context.onDelta?.(text));
    const received = { answer: false };
    try {
      for (;;) {
        const prepared = prepareRequest(this.#request, dialect, this.#streams(dialect));
        try {
          return await callOnce({
            client,
            transport: connections.transport,
            dialect,
            request: this.#request,
            prepared,
            headers: sessionHeaders(this.#model, this.#deps.affinity),
            signal: this.#context.signal,
            wholeMs: connections.wholeReplyMs ?? wholeReplyMs(this.#request.sampling),
            onAnswered: () => {
              received.answer = true;
              dialect.answered = true;
              permit.answered();
              this.#deps.report({ endpoint: permit.endpoint, what: 'ok' });
            },
            onPause: (abort) => permit.onPause(abort),
            onText: deltas === undefined ? undefined : (text) => deltas.add(text),
          });
        } catch (thrown) {
          if (received.answer || permit.aborted || this.#context.signal.aborted) throw thrown;
          const failure = failureOf(thrown, this.#request, Date.now());
          if (failure.what !== 'refused' || !dialect.learn(failure.text, prepared.sent)) throw thrown;
        }
      }
    } finally {
      deltas?.flush();
    }
  }

  /** Whether the reply should be streamed, which costs more than reading it as a whole. */
  #streams(dialect: Dialect): boolean {
    switch (this.#model.stream ?? DEFAULTS.stream) {
      case 'always':
        return true;
      case 'never':
        return false;
      case 'auto':
        return dialect.slow || this.#context.watched?.() === true;
    }
  }

  /** Streams the replies of an endpoint whose whole ones take too long, if the agent file allows that. */
  #learnSlow(failure: Failure, endpoint: string): Failure {
    if (failure.what !== 'slow') return failure;
    const { extra } = this.#request.sampling;
    if (this.#model.stream === 'never' || extra?.['stream'] === false)
      return { what: 'down', name: 'timeout', text: failure.text };
    this.#deps.connections.dialect(endpoint, this.#request.model).slow = true;
    return failure;
  }

  #target(endpoint: string): Target {
    return targetOf(endpoint, this.#model, this.#deps);
  }

  /** Reports the state of the endpoint to the gate and the server. */
  #report(permit: Permit, failure: Failure): void {
    const { endpoint } = permit;
    switch (failure.what) {
      case 'busy':
      case 'down':
        permit.failed(failure.retryAfterMs);
        this.#deps.connections.troubles.set(endpoint, failure.text);
        this.#deps.report({
          endpoint,
          what: failure.what,
          text: failure.text,
          ...(failure.retryAfterMs === undefined ? {} : { retry_after_ms: Math.round(failure.retryAfterMs) }),
        });
        break;
      case 'denied':
      case 'missing':
      case 'no_tools':
      case 'max_tokens':
      case 'unreachable':
      case 'unreadable':
      case 'slow':
      case 'overflow':
      case 'refused':
        break;
    }
  }

  /** Returns if the call should be retried; otherwise throws. */
  async #afterFailure(failure: Failure, endpoint: string): Promise<void> {
    const retries =
      failure.what === 'busy' ||
      failure.what === 'down' ||
      failure.what === 'slow' ||
      (failure.what === 'unreadable' && ++this.#unreadable < UNREADABLE_TRIES);
    if (!retries) throw await this.#final(failure, endpoint);
    this.#lastFailure = failure.text;
    if (failure.what === 'slow') return;
    // Another replica may accept it immediately.
    const elsewhere = this.#endpoints().some(
      (candidate) =>
        candidate !== endpoint && !this.#deps.gate.troubled(candidate) && !this.#deps.gate.paused(candidate),
    );
    if (elsewhere) return;
    const backoff =
      Math.min(LAST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** this.#retries.length) *
      (0.5 + (this.#deps.random ?? Math.random)());
    const retryAfter = failure.what === 'busy' || failure.what === 'down' ? (failure.retryAfterMs ?? 0) : 0;
    this.#wait(true);
    const ms = Math.min(Math.max(backoff, retryAfter), this.#leftMs());
    await sleep(ms, this.#context.signal);
    if (!this.#waits.paused()) this.#waitedMs += ms;
    if (this.#leftMs() <= 0) throw this.#noResponseError(endpoint);
  }

  /**
   * Returns the error for a failure that a retry cannot fix. If the endpoint rejects the first calls, the configuration
   * is wrong, so there is no failure of the agent to score: the server stops the batch with this message.
   */
  async #final(failure: Failure, endpoint: string): Promise<ClassedError> {
    const { connections, report } = this.#deps;
    const { model } = this.#request;
    const error = await finalError(failure, { endpoint, model, connections, target: () => this.#target(endpoint) });
    const what = SETUP[failure.what];
    if (what === undefined) return error;
    report({ endpoint, what, text: error.message });
    return connections.dialect(endpoint, model).answered
      ? error
      : new ClassedError('infrastructure', error.message, { cause: error });
  }

  async #waitForPermit(): Promise<Permit> {
    const { gate } = this.#deps;
    this.#wait(true);
    const wait = new AbortController();
    const onAbort = (): void => wait.abort(this.#context.signal.reason);
    this.#context.signal.addEventListener('abort', onAbort, { once: true });
    if (this.#context.signal.aborted) onAbort();
    const onPauses = this.#waits.begin();
    const unwatch = gate.watchPauses(onPauses);
    // The wait for a free place at a busy endpoint is unlimited, as is that for the end of a pause; the wait for a
    // failed one is limited.
    const every = Math.min(WATCH_MS, this.#leftMs());
    const watch = setInterval(() => {
      if (!this.#troubled() || this.#waits.reason() !== undefined) return;
      this.#waitedMs += every;
      if (this.#leftMs() <= 0) wait.abort();
    }, every);
    try {
      return await gate.acquire(this.#endpoints, wait.signal);
    } catch (thrown) {
      if (this.#context.signal.aborted || !wait.signal.aborted) throw thrown;
      throw this.#noResponseError(this.#endpoints()[0] ?? '');
    } finally {
      clearInterval(watch);
      unwatch();
      onPauses();
      this.#context.signal.removeEventListener('abort', onAbort);
    }
  }

  #noteRetry(): void {
    if (this.#failed === undefined) return;
    const { began, ...failed } = this.#failed;
    this.#retries.push({ ...failed, ms: performance.now() - began });
    this.#failed = undefined;
  }

  #troubled(): boolean {
    return this.#endpoints().every((endpoint) => this.#deps.gate.troubled(endpoint));
  }

  #leftMs(): number {
    return this.#model.endpoint_wait_seconds * 1000 - this.#waitedMs;
  }

  #noResponseError(endpoint: string): ClassedError {
    // A call that only waited for its turn has no response of its own.
    const last = this.#lastFailure === '' ? this.#deps.connections.troubles.get(endpoint) : this.#lastFailure;
    const why = last === undefined ? '' : ` Last error: ${last}`;
    return new ClassedError(
      'infrastructure',
      `The model endpoint ${endpointLabel(endpoint)} did not respond for ${this.#model.endpoint_wait_seconds} s.${why}`,
    );
  }

  #wait(waiting: boolean): void {
    if (this.#waiting === waiting) return;
    this.#waiting = waiting;
    this.#context.onWait?.(waiting);
  }
}

/** Returns the name of a failure in the record of retries. */
function nameOf(failure: Failure): string {
  switch (failure.what) {
    case 'busy':
    case 'down':
      return failure.name;
    case 'slow':
      return 'timeout';
    default:
      return failure.what;
  }
}

/** How often a waiting call checks whether it has waited long enough. */
const WATCH_MS = 1_000;
