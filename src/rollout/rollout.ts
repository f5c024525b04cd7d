import { deferred } from '../common/abort.ts';
import { StudioError } from '../common/errors.ts';
import { DEFAULTS } from '../config/defaults.ts';
import { agentAt, agentsOf, type SubmittedAgent } from '../config/submission.ts';
import type { Breakpoint } from '../protocol/commands.ts';
import { ClassedError } from '../trace/classedError.ts';
import type { TrajectoryModel } from '../trace/model.ts';
import { compileStop } from '../trace/query/stopCondition.ts';
import type { EventData } from '../trace/schema.ts';
import { closeSpans, lostSessions, unmadeCalls } from './act/takeover.ts';
import { endingOf, type RolloutEnding } from './ending.ts';
import type { HoldResult } from './gates/gates.ts';
import type { By } from './gates/holds.ts';
import type { RolloutJob, RolloutPorts } from './job.ts';
import type { Draft, Log } from './log/log.ts';
import { AgentFactory, rolloutSeed } from './loop/agentFactory.ts';
import { Limits } from './loop/limits.ts';
import { argsOf, type RolloutOrder } from './orders.ts';
import type { ToolHost } from './ports.ts';
import { callsOfWorld, recordedConversation, recordedEnding } from './rescoring.ts';
import { begin, type RunningRollout } from './running.ts';
import { type FinalState, scoreOf, taskToScore } from './scoring.ts';
import { Stop, settledWithin } from './stop.ts';
import { Team } from './team/team.ts';
import { systemTime } from './time.ts';
import { ToolLog } from './tools/toolLog.ts';
import type { ToolEntry } from './tools/toolSet.ts';
import { RolloutWorld } from './world.ts';

/** Tools that do not close within this time are abandoned to the process that runs them. */
const CLOSE_MS = 5_000;
/** The same, after a cancellation or the loss of the lease, when somebody waits. */
const CLOSE_AT_ONCE_MS = 1_000;

/** What a rollout opened and must close. */
interface OpenedRollout extends FinalState {
  readonly tools: ToolHost[];
  team?: Team;
  worldEnd?: EventData['world.close'] | undefined;
}

/**
 * One try of an attempt, from its first event (or from where a lost worker left it) to its `rollout.end`. It knows no
 * transport and no process: everything outside is a port.
 */
export class Rollout {
  readonly #job: RolloutJob;
  readonly #ports: RolloutPorts;
  /** Cancellation and loss of the lease: ends everything immediately. */
  readonly #life = new Stop();
  readonly #opened: OpenedRollout = { tools: [] };
  #beginning: Promise<RunningRollout> | undefined;
  #running: RunningRollout | undefined;
  #breakpoints: readonly Breakpoint[];
  #paused: boolean;
  #lost = false;
  #limits: Limits | undefined;
  #ended = false;
  readonly #over = deferred<undefined>();

  constructor(job: RolloutJob, ports: RolloutPorts) {
    this.#job = job;
    this.#ports = ports;
    this.#breakpoints = job.breakpoints;
    this.#paused = job.paused;
  }

  /**
   * Runs to the end and closes everything it opened. Resolves when that is done, also after `cancel` and `abort`.
   * Rejects only if its record could not be read; then it wrote nothing.
   */
  async run(): Promise<void> {
    try {
      this.#beginning = begin(this.#job, this.#ports, this.#life);
      const running = (this.#running = await this.#beginning);
      this.#useGates(running);
      const ending = await this.#work(running);
      await this.#finish(running, ending);
    } finally {
      this.#ended = true;
      this.#over.resolve(undefined);
      this.#limits?.end();
      this.#running?.gates.end();
      await this.#close();
    }
  }

  /**
   * Applies a command: `cancel` immediately, the others at the gate where the rollout is held, `hold` and `inject` at
   * the next gate otherwise. Returns the seq of the resulting event. Throws StudioError: `usage` for invalid arguments,
   * `conflict` if the state does not allow the command.
   */
  async command(order: RolloutOrder): Promise<HoldResult> {
    const by: By = { by: order.by, command: order.command };
    const { gates } = await this.#ready();
    switch (order.verb) {
      case 'hold':
        return gates.hold(by);
      case 'release': {
        const { of } = argsOf('release', order.args ?? {});
        return of === undefined ? gates.release(by) : gates.releaseOf(of, by);
      }
      case 'step':
        return gates.step(by, argsOf('step', order.args));
      case 'edit': {
        const { of, path, value } = argsOf('edit', order.args);
        return gates.edit(
          {
            of: { ...(of.seq === undefined ? {} : { seq: of.seq }), ...(of.m === undefined ? {} : { m: of.m }) },
            path,
            value,
          },
          by,
        );
      }
      case 'inject':
        return gates.inject(argsOf('inject', order.args).message, by);
      case 'skip':
        return gates.skip(argsOf('skip', order.args).result, by);
      case 'answer':
        return gates.answer(argsOf('answer', order.args).value, by);
      case 'cancel':
        return this.#cancel(argsOf('cancel', order.args ?? {}).reason ?? `Cancelled by ${order.by}.`);
      default:
        throw new StudioError('usage', `Unknown command "${order.verb}".`);
    }
  }

  /** Sets the batch's breakpoints and whether it is paused. Throws StudioError `usage` for an invalid condition. */
  setBreakpoints(breakpoints: readonly Breakpoint[], paused: boolean): void {
    this.#breakpoints = breakpoints;
    this.#paused = paused;
    this.#running?.gates.setBreakpoints(breakpoints);
    this.#running?.gates.setPaused(paused);
  }

  /** Called when the worker loses or regains its server: no new effect starts during an outage. */
  setLost(lost: boolean): void {
    this.#lost = lost;
    this.#running?.gates.setLost(lost);
  }

  /**
   * Stops immediately and writes nothing more, because the lease is lost or the worker stops. Another holder continues
   * from the record.
   */
  abort(reason: string): void {
    this.#running?.log.close();
    this.#life.stop(new ClassedError('cancelled', reason));
  }

  /**
   * Stops at the next point where nothing is lost, for another worker to continue: starts nothing more, and waits for
   * what runs. Resolves then, or when the rollout has ended by itself: one whose sessions cannot be restored goes on.
   */
  async leave(): Promise<void> {
    const { flights } = await this.#ready();
    const over = this.#over.promise;
    if (!flights.bound) await Promise.race([flights.stop(), over]);
    const { world } = this.#opened;
    if (!flights.bound && world?.bound === true && !this.#ended) await Promise.race([world.saveState(), over]);
    if (flights.bound || world?.bound === true) {
      flights.goOn();
      await over;
    }
    this.handOver();
  }

  /** Records that another worker continues from here, and stops. Calls that run are dropped, and made again there. */
  handOver(): void {
    const running = this.#running;
    if (running === undefined || this.#ended || running.log.closed) return;
    running.log.append([...unmadeCalls(running), { kind: 'rollout.handover', data: { worker: this.#job.worker } }]);
    this.abort('Another worker continues it.');
  }

  async #ready(): Promise<RunningRollout> {
    const running = this.#running ?? (await this.#beginning);
    if (running === undefined) throw new StudioError('conflict', 'The rollout has not started.');
    if (this.#ended || running.log.closed) throw new StudioError('conflict', 'The rollout has ended.');
    return running;
  }

  /** Applies the pause and the breakpoints that were set before the rollout began. */
  #useGates({ gates, log }: RunningRollout): void {
    if (this.#paused) gates.setPaused(true);
    gates.setLost(this.#lost);
    try {
      gates.setBreakpoints(this.#breakpoints);
    } catch (error) {
      // The rollout is not to blame for an invalid condition.
      log.append([
        {
          kind: 'log',
          data: {
            stream: 'err',
            text: `Breakpoints could not be set: ${error instanceof Error ? error.message : String(error)}`,
          },
        },
      ]);
    }
  }

  /** Writes the end immediately; whatever still runs cannot write anything more. */
  #cancel(reason: string): { seq: number } {
    const running = this.#running;
    if (running === undefined) throw new StudioError('conflict', 'The rollout has not started.');
    const error = new ClassedError('cancelled', reason);
    const { log, holds } = running;
    log.append([
      ...holds.closing(),
      ...closeSpans(log, { class: 'cancelled', message: reason }).filter(
        ({ span = 0 }) => running.recording === undefined || span >= running.ownFrom,
      ),
      this.#end(running, { status: 'cancelled', answer: null, error, scorable: false }, null),
    ]);
    const seq = log.last;
    log.close();
    this.#life.stop(error);
    return { seq };
  }

  /** Sets up and runs the agent. Returns how it ended. */
  async #work(running: RunningRollout): Promise<RolloutEnding> {
    if (running.recording !== undefined) return this.#recall(running, running.recording);
    let ready = false;
    try {
      if (running.refusal !== undefined) throw running.refusal;
      // The time that tools and world take to start does not count as the agent's.
      running.watch.setWaiting(true);
      const team = await this.#setUp(running).finally(() => running.watch.setWaiting(false));
      this.#opened.messages = () => team.messages;
      ready = true;
      return { status: 'done', answer: await team.run(), scorable: true };
    } catch (thrown) {
      // Without an answer if looking for it fails, too.
      const answerSoFar = (await this.#opened.team?.answerSoFar().catch(() => null)) ?? null;
      return endingOf(thrown, answerSoFar, ready);
    }
  }

  /** Restores what a recorded rollout left to its scorer. Returns how it ended. */
  async #recall(running: RunningRollout, recording: TrajectoryModel): Promise<RolloutEnding> {
    const { history, log, refusal } = running;
    const job = this.#job;
    const ending = recordedEnding(recording);
    try {
      if (refusal !== undefined) throw refusal;
      if (!ending.scorable) return ending;
      const limits = new Limits(job.submission.agent.limits, running.watch);
      const parts = {
        ...running,
        job,
        ports: this.#ports,
        life: this.#life,
        limits,
        hosts: new Map(),
        world: undefined,
      };
      this.#opened.factory = new AgentFactory(parts);
      this.#opened.messages = () => recordedConversation(recording, log.messages);
      const world = await this.#openWorld(running);
      if (world === undefined) return ending;
      this.#opened.world = world;
      const names = new Set(world.session.specs.map(({ name }) => name));
      await world.catchUp(callsOfWorld(history, recording, names, rolloutSeed(job)));
      return ending;
    } catch (thrown) {
      const failed = endingOf(thrown, ending.answer, false);
      // The rollout ended as it did: only its score is missing, and says why.
      return failed.status === 'done' ? { ...ending, unscorable: failed.error, scorable: false } : failed;
    }
  }

  async #setUp(running: RunningRollout): Promise<Team> {
    const job = this.#job;
    const ports = this.#ports;
    const { stop, watch } = running;
    const { submission } = job;
    const workers = agentsOf(submission).filter(({ team }) => team?.itself !== false);
    const hosts = new Map(
      await stop.race(Promise.all(workers.map(async (agent) => [agent, await this.#openTools(agent, stop)] as const))),
    );
    const world = await this.#openWorld(running);
    if (world !== undefined) this.#opened.world = world;
    running.onDiverged = () => world?.forget();
    const { rollout: condition } = submission.stop;
    const rolloutStop =
      condition === undefined
        ? undefined
        : { condition: compileStop(condition), recordedSteps: running.history.lastStep };
    const limits = (this.#limits = new Limits(submission.agent.limits, watch, rolloutStop));
    const factory = new AgentFactory({ ...running, job, ports, life: this.#life, limits, hosts, world });
    this.#opened.factory = factory;
    this.#checkSessions(running, factory);
    limits.start((error) => stop.stop(error));
    return (this.#opened.team = new Team(factory));
  }

  /** Throws ClassedError. */
  async #openWorld(running: RunningRollout): Promise<RolloutWorld | undefined> {
    const { submission, task } = this.#job;
    const { world, recorder } = this.#ports;
    if (world === undefined) return undefined;
    return RolloutWorld.open(running.act, {
      ...running,
      world,
      task,
      batchSeed: submission.seed,
      recorder,
      life: this.#life,
      toolSeconds: submission.agent.limits.tool_seconds,
      isAgent: (path) => agentAt(submission, path) !== undefined,
    });
  }

  async #openTools(agent: SubmittedAgent, stop: Stop): Promise<ToolHost> {
    const host = await this.#ports.openTools(stop.signal, agent);
    // It opened after all, but is no longer needed.
    if (this.#ended) await host.close();
    else this.#opened.tools.push(host);
    return host;
  }

  /** Handles lost sessions: a resumed rollout cannot continue without them; a fork continues and logs it. */
  #checkSessions({ history, log, ownFrom }: RunningRollout, factory: AgentFactory): void {
    const { submission } = this.#job;
    const find = (agent: string, name: string): ToolEntry | undefined =>
      factory.toolsOf(agentAt(submission, agent) ?? submission.agent).find(name);
    const lost = lostSessions(history, find, ownFrom);
    if (lost.length > 0) {
      throw new ClassedError(
        'infrastructure',
        `Its worker was lost with the sessions of ${lost.join(', ')}, which cannot be restored. The attempt is ` +
          'retried from the start.',
      );
    }
    if (this.#job.how !== 'fresh') return;
    const shared = lostSessions(history, find, 1);
    if (shared.length === 0) return;
    const text =
      `The fork starts with new sessions of ${shared.join(', ')}: the effects of recorded calls are ` +
      `missing in them.`;
    log.append([{ kind: 'log', data: { stream: 'err', text } }]);
  }

  async #finish(running: RunningRollout, reached: RolloutEnding): Promise<void> {
    const { log, stop, history, ownFrom } = running;
    const { world } = this.#opened;
    this.#limits?.end();
    if (log.closed) return;
    await world?.settle();
    // Restoring the world runs in parallel with the agent, and may fail.
    const failed = stop.reason?.class === 'infrastructure' && reached.status !== 'infrastructure';
    let ending = failed ? endingOf(stop.reason, null, false) : reached;
    // A recording may have left spans open, and they stay so.
    const left = closeSpans(log, { class: 'cancelled', message: 'The rollout ended.' }).filter(
      ({ kind, span = 0 }) => kind !== 'world.close' && (running.recording === undefined || span >= ownFrom),
    );
    if (left.length > 0) log.append(left);
    let score: EventData['score'] | null = null;
    if (ending.status !== 'infrastructure' && ending.status !== 'cancelled') {
      if (running.recording === undefined) await world?.saveFinalState();
      running.beginScoring();
      try {
        score = history.score ?? (await this.#score(running, ending));
      } catch (error) {
        ending = endingOf(error, null, false);
      }
    }
    running.gates.end();
    const [worldEnd] = await Promise.all([world?.close(), this.#closeTools(log)]);
    this.#opened.worldEnd = worldEnd;
    const closing: readonly Draft[] =
      world === undefined || worldEnd === undefined ? [] : [{ kind: 'world.close', span: world.span, data: worldEnd }];
    log.append([...closing, this.#end(running, ending, score)]);
    log.close();
  }

  /** Scores the final state, and records the score. Throws ClassedError `infrastructure`. */
  async #score(
    { log, callSpans, calls, predictions, watch }: RunningRollout,
    ending: RolloutEnding,
  ): Promise<EventData['score']> {
    const { score, drafts } = await scoreOf(ending, {
      scorer: this.#ports.scorer,
      limit: this.#job.submission.scorer.seconds ?? DEFAULTS.scorer.seconds,
      task: await taskToScore(this.#job.task, this.#ports, this.#life),
      rolloutSeed: rolloutSeed(this.#job),
      state: this.#opened,
      callSpans,
      troubles: calls.troubles,
      predictions,
      life: this.#life,
      watch,
    });
    log.append(drafts);
    return score;
  }

  #end(running: RunningRollout, ending: RolloutEnding, score: EventData['score'] | null): Draft {
    const { totals, fingerprint, injected, checks, predicted, rated, watch, touched } = running;
    const passed = score?.passed ?? null;
    const faults = injected?.counts(passed) ?? {};
    const rates = checks.counts();
    const predictions = predicted.sums();
    const calls = rated.tools();
    return {
      kind: 'rollout.end',
      data: {
        status: ending.status,
        passed,
        reward: score?.value ?? null,
        answer: ending.answer,
        touched,
        ...(ending.error === undefined ? {} : { error: ending.error.toTrace() }),
        totals: totals.totals(watch.wallMs),
        ...(Object.keys(faults).length === 0 ? {} : { faults }),
        ...(Object.keys(rates).length === 0 ? {} : { rates }),
        ...(Object.keys(predictions).length === 0 ? {} : { predictions }),
        ...(Object.keys(calls).length === 0 ? {} : { calls }),
        fingerprint: fingerprint.digest(),
      },
    };
  }

  /** Closes everything that is open, each within its time limit. */
  async #close(): Promise<void> {
    const { world, worldEnd } = this.#opened;
    const closings: Promise<unknown>[] = [this.#closeTools()];
    const { shadow, lookahead } = this.#opened.factory ?? {};
    for (const each of [shadow, lookahead])
      if (each !== undefined) closings.push(settledWithin(each.close(), this.#closeMs, this.#ports.time ?? systemTime));
    if (world !== undefined && worldEnd === undefined)
      closings.push(settledWithin(world.close(), this.#closeMs, this.#ports.time ?? systemTime));
    await Promise.all(closings);
  }

  /** Closes the tools. What they print meanwhile is recorded if `log` is provided. */
  async #closeTools(log?: Log): Promise<void> {
    const tools = this.#opened.tools.splice(0);
    if (tools.length === 0) return;
    const closings = tools.map((host) => {
      if (log === undefined) return host.close();
      const prints = new ToolLog(log);
      return host.close((stream, text) => prints.add(stream, text)).finally(() => prints.end());
    });
    await settledWithin(Promise.allSettled(closings), this.#closeMs, this.#ports.time ?? systemTime);
  }

  get #closeMs(): number {
    return this.#life.reason === undefined ? CLOSE_MS : CLOSE_AT_ONCE_MS;
  }
}
