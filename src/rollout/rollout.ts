import { StudioError } from '../common/errors.ts';
import type { Json } from '../common/json.ts';
import { agentAt, agentsOf, type SubmittedAgent } from '../config/submission.ts';
import { type Breakpoint, verbArgs } from '../protocol/commands.ts';
import { ClassedError } from '../trace/classedError.ts';
import type { EventData } from '../trace/schema.ts';
import { closeSpans, lostSessions } from './act/takeover.ts';
import { endingOf, type RolloutEnding } from './ending.ts';
import type { HoldResult } from './gates/gates.ts';
import type { By } from './gates/holds.ts';
import type { RolloutJob, RolloutPorts } from './job.ts';
import type { Draft, Log } from './log/log.ts';
import { Limits } from './loop/limits.ts';
import { Crew, rolloutSeed } from './loop/members.ts';
import type { ToolHost } from './ports.ts';
import { begin, type RunningRollout } from './running.ts';
import { scoreOf } from './scoring.ts';
import { Stop, settledWithin } from './stop.ts';
import { Team } from './team/team.ts';
import { systemTime } from './time.ts';
import { ToolLog } from './tools/toolLog.ts';
import type { FoundTool } from './tools/toolSet.ts';
import { WorldPlace } from './world.ts';

/** Tools that do not close within this are left to whoever runs them. */
const CLOSE_MS = 5_000;
/** The same after a cancel or the loss of the lease, when somebody waits. */
const CLOSE_AT_ONCE_MS = 1_000;
/** What is interrupted ends within a second of its own; scoring waits a little longer than that. */
const IDLE_MS = 1_500;

/** A command of a person or the server. `args`: as in `verbArgs`. */
interface RolloutOrder {
  /** The command's id: written into the event it leads to. */
  readonly command: string;
  readonly verb: string;
  readonly args: Json | undefined;
  readonly by: string;
}

/** What a rollout opened and must close again. */
interface OpenedRollout {
  readonly tools: ToolHost[];
  world?: WorldPlace;
  worldEnd?: EventData['world.close'] | undefined;
  team?: Team;
}

/**
 * One try at an attempt, from its first event (or from where a lost worker left it) to its `rollout.end`.
 * Knows no transport and no process: everything outside comes in through the ports.
 */
export class Rollout {
  readonly #job: RolloutJob;
  readonly #ports: RolloutPorts;
  /** Cancel and loss of the lease: ends everything at once. */
  readonly #life = new Stop();
  readonly #opened: OpenedRollout = { tools: [] };
  #beginning: Promise<RunningRollout> | undefined;
  #running: RunningRollout | undefined;
  #breakpoints: readonly Breakpoint[];
  #paused: boolean;
  #lost = false;
  #limits: Limits | undefined;
  #ended = false;

  constructor(job: RolloutJob, ports: RolloutPorts) {
    this.#job = job;
    this.#ports = ports;
    this.#breakpoints = job.breakpoints;
    this.#paused = job.paused;
  }

  /**
   * Runs to the end and closes all it opened. Resolves when that is done, also after `cancel` and `abort`. Rejects
   * only when its record could not be read, and then wrote nothing.
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
      this.#limits?.end();
      this.#running?.gates.end();
      await this.#close();
    }
  }

  /**
   * Applies a command: `cancel` at once, the others at the gate the rollout is held at, `hold` and `inject` at the
   * next one otherwise. Gives the seq of the event it led to. Throws StudioError: `usage` for wrong arguments,
   * `conflict` when the state does not allow it.
   */
  async command(order: RolloutOrder): Promise<HoldResult> {
    const by: By = { by: order.by, command: order.command };
    const { gates } = await this.#ready();
    switch (order.verb) {
      case 'hold':
        return gates.hold(by);
      case 'release':
        return gates.release(by);
      case 'step':
        return gates.step(by, argsOf('step', order.args).inspect ?? false);
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

  /**
   * The batch's breakpoints and whether it is paused. Throws StudioError `usage` for a condition that is no expression.
   */
  setBreakpoints(breakpoints: readonly Breakpoint[], paused: boolean): void {
    this.#breakpoints = breakpoints;
    this.#paused = paused;
    this.#running?.gates.setBreakpoints(breakpoints);
    this.#running?.gates.setPaused(paused);
  }

  /** The worker lost or regained its server: no new effect starts during an outage. */
  setLost(lost: boolean): void {
    this.#lost = lost;
    this.#running?.gates.setLost(lost);
  }

  /**
   * Stops at once and writes nothing more: the lease is lost or the worker stops. Another holder goes on from the
   * record.
   */
  abort(reason: string): void {
    this.#running?.log.close();
    this.#life.stop(new ClassedError('cancelled', reason));
  }

  async #ready(): Promise<RunningRollout> {
    const running = this.#running ?? (await this.#beginning);
    if (running === undefined) throw new StudioError('conflict', 'The rollout has not started.');
    if (this.#ended || running.log.closed) throw new StudioError('conflict', 'The rollout has ended.');
    return running;
  }

  /** Commands received before the rollout began, and since. */
  #useGates({ gates, log }: RunningRollout): void {
    if (this.#paused) gates.setPaused(true);
    gates.setLost(this.#lost);
    try {
      gates.setBreakpoints(this.#breakpoints);
    } catch (error) {
      // The rollout is not to blame for a condition nobody can read.
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

  /** Writes the end at once; whatever still runs can write nothing more. */
  #cancel(reason: string): { seq: number } {
    const running = this.#running;
    if (running === undefined) throw new StudioError('conflict', 'The rollout has not started.');
    const error = new ClassedError('cancelled', reason);
    const { log, holds } = running;
    log.append([
      ...holds.closing(),
      ...closeSpans(log, { class: 'cancelled', message: reason }),
      this.#end(running, { status: 'cancelled', answer: null, error, scorable: false }, null),
    ]);
    const seq = log.last;
    log.close();
    this.#life.stop(error);
    return { seq };
  }

  /** Sets up and runs the agent. Returns how it ended. */
  async #work(running: RunningRollout): Promise<RolloutEnding> {
    let ready = false;
    try {
      if (running.refusal !== undefined) throw running.refusal;
      // How long tools and world take to start is not the agent's time.
      running.watch.waiting(true);
      const team = await this.#setUp(running).finally(() => running.watch.waiting(false));
      ready = true;
      return { status: 'done', answer: await team.run(), scorable: true };
    } catch (thrown) {
      return endingOf(thrown, this.#opened.team?.answerSoFar ?? null, ready);
    }
  }

  async #setUp(running: RunningRollout): Promise<Team> {
    const job = this.#job;
    const ports = this.#ports;
    const { stop, log, history, act, time, sha256, watch } = running;
    const { submission } = job;
    const workers = agentsOf(submission).filter(({ team }) => team?.itself !== false);
    const hosts = new Map(
      await stop.race(Promise.all(workers.map(async (agent) => [agent, await this.#openTools(agent, stop)] as const))),
    );
    const toolSeconds = submission.agent.limits.tool_seconds;
    const world =
      ports.world === undefined
        ? undefined
        : await WorldPlace.open(act, {
            world: ports.world,
            task: job.task,
            batchSeed: submission.seed,
            history,
            log,
            recorder: ports.recorder,
            stop,
            life: this.#life,
            time,
            sha256,
            toolSeconds,
            isAgent: (path) => agentAt(submission, path) !== undefined,
          });
    if (world !== undefined) this.#opened.world = world;
    running.onDiverged = () => world?.forget();
    const limits = (this.#limits = new Limits(submission.agent.limits, watch));
    const crew = new Crew({ ...running, job, ports, life: this.#life, limits, hosts, world });
    this.#checkSessions(running, crew);
    limits.start((error) => stop.stop(error));
    return (this.#opened.team = new Team(crew));
  }

  async #openTools(agent: SubmittedAgent, stop: Stop): Promise<ToolHost> {
    const host = await this.#ports.openTools(stop.signal, agent);
    // Opened after all, but nobody waits any more.
    if (this.#ended) await host.close();
    else this.#opened.tools.push(host);
    return host;
  }

  /** What lived in sessions that are gone: a resumed rollout cannot go on without it, a fork does and says so. */
  #checkSessions({ history, log, ownFrom }: RunningRollout, crew: Crew): void {
    const { submission } = this.#job;
    const find = (agent: string, name: string): FoundTool | undefined =>
      crew.toolsOf(agentAt(submission, agent) ?? submission.agent).find(name);
    const own = lostSessions(history, find, ownFrom);
    if (own.length > 0) {
      throw new ClassedError(
        'infrastructure',
        `Its worker was lost with the sessions of ${own.join(', ')}, which cannot be restored. The attempt is ` +
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
    const { log, stop, time, history } = running;
    const { world, team } = this.#opened;
    this.#limits?.end();
    running.gates.end();
    if (log.closed) return;
    if (world !== undefined) await settledWithin(world.idle(), IDLE_MS, time);
    // Restoring the world runs in parallel with the agent, and may fail.
    const failed = stop.reason?.class === 'infrastructure' && reached.status !== 'infrastructure';
    const ending = failed ? endingOf(stop.reason, null, false) : reached;
    const left = closeSpans(log, { class: 'cancelled', message: 'The rollout ended.' }).filter(
      (draft) => draft.kind !== 'world.close',
    );
    if (left.length > 0) log.append(left);
    let score: EventData['score'] | null = null;
    if (ending.status !== 'infrastructure' && ending.status !== 'cancelled') {
      score = history.score ?? null;
      if (score === null) {
        score = await scoreOf(ending, {
          scorer: this.#ports.scorer,
          task: this.#job.task,
          rolloutSeed: rolloutSeed(this.#job),
          messages: team?.messages ?? [],
          world: world?.session,
          life: this.#life,
        });
        log.append([{ kind: 'score', data: score }]);
      }
    }
    const [worldEnd] = await Promise.all([world?.close(), this.#closeTools(log)]);
    this.#opened.worldEnd = worldEnd;
    const closing: readonly Draft[] =
      world === undefined || worldEnd === undefined ? [] : [{ kind: 'world.close', span: world.span, data: worldEnd }];
    log.append([...closing, this.#end(running, ending, score)]);
    log.close();
  }

  #end(running: RunningRollout, ending: RolloutEnding, score: EventData['score'] | null): Draft {
    const { totals, fingerprint, watch, touched } = running;
    return {
      kind: 'rollout.end',
      data: {
        status: ending.status,
        passed: score?.passed ?? null,
        reward: score?.value ?? null,
        answer: ending.answer,
        touched,
        ...(ending.error === undefined ? {} : { error: ending.error.toTrace() }),
        totals: totals.totals(watch.wallMs),
        fingerprint: fingerprint.digest(),
      },
    };
  }

  /** Closes what is open, each within its time; what does not close is its owner's to end. */
  async #close(): Promise<void> {
    const { world, worldEnd } = this.#opened;
    const closings: Promise<unknown>[] = [this.#closeTools()];
    if (world !== undefined && worldEnd === undefined)
      closings.push(settledWithin(world.close(), this.#closeMs, this.#ports.time ?? systemTime));
    await Promise.all(closings);
  }

  /** Their last words go into the record, where that is still open. */
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

function argsOf<V extends keyof typeof verbArgs>(
  verb: V,
  args: Json | undefined,
): ReturnType<(typeof verbArgs)[V]['parse']> {
  const parsed = verbArgs[verb].safeParse(args ?? {});
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new StudioError(
      'usage',
      `Invalid arguments for ${verb}: ${issue?.message ?? 'unexpected value'} at ` +
        `/${(issue?.path ?? []).join('/')}.`,
    );
  }
  return parsed.data as ReturnType<(typeof verbArgs)[V]['parse']>; // the schema's own output
}
