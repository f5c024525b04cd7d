import { seedOf } from '../../common/hash.ts';
import { rulesOf } from '../../config/submission/rule.ts';
import { agentsOf, type SubmittedAgent } from '../../config/submission.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { ConversationMessage } from '../../trace/task.ts';
import type { Act } from '../act/act.ts';
import type { Flights } from '../act/flights.ts';
import type { History } from '../act/history.ts';
import type { InsideCalls } from '../act/insideCalls.ts';
import type { Gates } from '../gates/gates.ts';
import type { RolloutJob, RolloutPorts } from '../job.ts';
import type { Log } from '../log/log.ts';
import type { LoggedMessage, Sha256 } from '../log/messages.ts';
import { TokenChain } from '../log/tokens.ts';
import { Lookahead } from '../lookahead.ts';
import type { ToolHost } from '../ports.ts';
import { Shadow } from '../shadow.ts';
import type { Stop } from '../stop.ts';
import type { Time } from '../time.ts';
import { Controls } from '../tools/controls.ts';
import { CallCounts } from '../tools/pendingCall.ts';
import { Perturbation } from '../tools/perturbation.ts';
import { ToolCaller } from '../tools/toolCalls.ts';
import { type AgentTool, ToolSet } from '../tools/toolSet.ts';
import type { RolloutWorld } from '../world.ts';
import { Agent } from './agent.ts';
import { Context } from './context.ts';
import type { Allowance, Limits, Stopwatch } from './limits.ts';
import { ModelCaller, type ModelCallerParts } from './modelCall.ts';
import { conversationOf, questionParts, renderPrompt } from './prompt.ts';
import { type SideModelParts, SideModels, sideCaller, sidePath } from './sideModel.ts';
import { fromUsersSide, SimulatedUser, userReply } from './user.ts';

interface AgentFactoryParts {
  readonly job: RolloutJob;
  readonly ports: RolloutPorts;
  readonly act: Act;
  readonly log: Log;
  readonly history: History;
  readonly inside: InsideCalls;
  readonly gates: Gates;
  readonly flights: Flights;
  readonly watch: Stopwatch;
  readonly limits: Limits;
  readonly stop: Stop;
  readonly life: Stop;
  /** The tools of each agent itself, without those of its team. */
  readonly hosts: ReadonlyMap<SubmittedAgent, ToolHost>;
  readonly world: RolloutWorld | undefined;
  readonly time: Time;
  readonly sha256: Sha256;
  readonly ownFrom: number;
}

/** One agent in its place in a team. */
interface Place {
  readonly path: string;
  readonly agent: SubmittedAgent;
  /** seq of its `agent.start`; undefined for the only agent of the rollout or the leader of the whole team. */
  readonly parent: number | undefined;
  readonly limits: Allowance;
  /** Ends its work: the whole rollout, or its turn. */
  readonly stop: Stop;
  /** Tools that call other members of its team. */
  readonly agents: readonly AgentTool[];
  /** Members that it can hand off to, by tool name. */
  readonly handoffs: ReadonlyMap<string, string>;
}

/** Returns the seed of a rollout: the same for every try of an attempt. */
export function rolloutSeed(job: RolloutJob): number {
  return seedOf(job.submission.seed, job.task.id, job.attempt);
}

/** Creates the agents of a rollout, each with its tools, context, and model. */
export class AgentFactory {
  readonly parts: AgentFactoryParts;
  readonly #seed: number;
  readonly #models: ModelCallerParts;
  readonly #tools = new Map<SubmittedAgent, ToolSet>();
  readonly #perturbation: Perturbation | undefined;
  readonly #controls: Controls | undefined;
  readonly #counts = new CallCounts();
  readonly shadow: Shadow | undefined;
  readonly lookahead: Lookahead | undefined;
  /** Asks models for tools and scorers. */
  readonly sideModels: SideModels;
  #step: number;
  #task: Promise<readonly [LoggedMessage['parts'], readonly ConversationMessage[]]> | undefined;

  /** Throws ClassedError `tool_error` if two tools of an agent have the same name. */
  constructor(parts: AgentFactoryParts) {
    this.parts = parts;
    const { job, ports, act, log, history, watch, stop, time } = parts;
    this.#seed = rolloutSeed(job);
    this.#step = history.lastStep;
    this.#models = {
      act,
      log,
      recorder: ports.recorder,
      stop,
      watch,
      time,
      rolloutSeed: this.#seed,
      nextStep: () => ++this.#step,
      ...(ports.chooseEndpoint === undefined
        ? {}
        : { chooseEndpoint: (endpoints, current) => ports.chooseEndpoint?.(endpoints, current) ?? current }),
      weightsOf: (endpoint) => ports.weightsOf?.(endpoint),
    };
    this.#perturbation = Perturbation.of({
      rules: rulesOf(job.submission),
      task: job.task,
      attempt: job.attempt,
      callFunction: (rule, input, signal) => {
        if (ports.callRule === undefined)
          throw new ClassedError('infrastructure', `Nothing calls the function of the rule ${rule.name}.`);
        return ports.callRule(rule, input, signal);
      },
    });
    this.#controls = Controls.of({
      rules: rulesOf(job.submission),
      task: job.task,
      attempt: job.attempt,
      isScored: (span, scorer) => history.hasCallScore(span, scorer),
      append: (drafts) => log.append(drafts),
    });
    this.sideModels = new SideModels(
      this.#sideParts(),
      job.submission.agent.name,
      (model) => ports.modelOf?.(model) ?? ports.model,
    );
    this.shadow =
      ports.shadow === undefined
        ? undefined
        : new Shadow({ ...parts, shadow: ports.shadow, job, sideModels: this.sideModels });
    const { lookahead, untrusted } = ports;
    this.lookahead =
      lookahead === undefined ? undefined : new Lookahead({ lookahead, job, stop, untrusted, world: parts.world });
    for (const agent of agentsOf(job.submission)) this.#tools.set(agent, this.#toolSet(agent, []));
  }

  /** Returns the tools that an agent has without its team. */
  toolsOf(agent: SubmittedAgent): ToolSet {
    return this.#tools.get(agent) ?? this.#toolSet(agent, []);
  }

  /** Throws ClassedError. */
  agent({ path, agent, parent, limits, stop, agents, handoffs }: Place): Agent {
    const { job, ports, act, log, history, gates, flights, watch, time, sha256, life } = this.parts;
    const tools = agents.length === 0 ? this.toolsOf(agent) : this.#toolSet(agent, agents);
    const root = agent === job.submission.agent;
    const user = root ? job.submission.world?.user : undefined;
    return new Agent({
      agent,
      path,
      log,
      limits,
      handoffs,
      modelTools: tools.modelTools,
      context: this.#context(path),
      model: new ModelCaller(
        { ...this.#models, stop },
        {
          path,
          parent,
          client: root ? ports.model : (ports.modelOf?.(agent.model) ?? ports.model),
          model: agent.model,
          tokens: this.#tokens(),
          reply: (reply) => ({ role: 'assistant', parts: reply.parts, origin: 'sampled' }),
        },
      ),
      tools: new ToolCaller(
        {
          act,
          log,
          gates,
          flights,
          edits: history.edits,
          stop,
          time,
          watch,
          sha256,
          untrusted: ports.untrusted,
          sideModels: this.sideModels,
          parent,
          rolloutSeed: this.#seed,
          toolSeconds: agent.limits.tool_seconds,
          counts: this.#counts,
          perturbation: this.#perturbation,
          controls: this.#controls,
          shadow: this.shadow,
          lookahead: this.lookahead,
          careful: job.how === 'resumed',
        },
        path,
        tools,
      ),
      user: user === undefined ? undefined : this.#user(user),
      untrusted: ports.untrusted,
      stop,
      life,
      makeContext: (messages) => {
        const context = new Context(history.edits, [], sha256);
        context.push(...messages);
        return context;
      },
    });
  }

  /**
   * Adds the first messages of an agent: its prompt and, unless another agent instructs it, the task. A conversation
   * that the task continues may have its own prompt.
   */
  async opening(path: string, agent: SubmittedAgent, seesTask: boolean): Promise<LoggedMessage[]> {
    const { job, log } = this.parts;
    const prompt = renderPrompt(agent.prompt.text, job.task);
    const [question, conversation] = seesTask ? await (this.#task ??= this.#readTask()) : [undefined, []];
    const first: readonly ConversationMessage[] =
      prompt.trim() === '' || conversation[0]?.role === 'system' ? [] : [{ role: 'system', text: prompt }];
    return [
      ...[...first, ...conversation].map(({ role, text }) =>
        log.intern({ role, parts: [{ type: 'text', content: text }], origin: 'given' }, path),
      ),
      ...(question === undefined ? [] : [log.intern({ role: 'user', parts: question, origin: 'given' }, path)]),
    ];
  }

  /** Returns the question of the task, and the conversation before it. */
  #readTask(): Promise<readonly [LoggedMessage['parts'], readonly ConversationMessage[]]> {
    const { task } = this.parts.job;
    const readFile = (sha: string): Promise<Uint8Array> => this.#readFile(sha);
    return Promise.all([questionParts(task, readFile), conversationOf(task, readFile)]);
  }

  async #readFile(sha: string): Promise<Uint8Array> {
    const { ports, life } = this.parts;
    try {
      return await life.race(ports.recorder.readBlob(sha, life.signal));
    } catch (error) {
      throw ClassedError.from(error, 'infrastructure');
    }
  }

  #toolSet(agent: SubmittedAgent, agents: readonly AgentTool[]): ToolSet {
    const { hosts, world, sha256 } = this.parts;
    return new ToolSet(hosts.get(agent), world, agent.answer, sha256, agents, this.lookahead);
  }

  /** The step to which calls made now belong, unless an agent's own step contains them. */
  get step(): number {
    return this.#step;
  }

  #sideParts(): SideModelParts {
    const { log, history, sha256, inside } = this.parts;
    return {
      models: this.#models,
      log,
      edits: history.edits,
      sha256,
      inside,
      inbox: (path) => history.inbox(path),
    };
  }

  #context(path: string): Context {
    const { history, sha256 } = this.parts;
    return new Context(history.edits, history.inbox(path), sha256);
  }

  #tokens(): TokenChain {
    const { ports, life, sha256 } = this.parts;
    return new TokenChain(sha256, (sha) => ports.recorder.readBlob(sha, life.signal));
  }

  #user(user: NonNullable<NonNullable<RolloutJob['submission']['world']>['user']>): SimulatedUser {
    const { job, ports, log } = this.parts;
    if (ports.user === undefined)
      throw new ClassedError('infrastructure', 'The world has a simulated user, but there is no client for its model.');
    const { name } = job.submission.agent;
    const path = sidePath('user', name);
    const place = { stop: this.parts.stop, rolloutSeed: this.#seed, step: () => this.#step };
    const model = sideCaller(this.#sideParts(), place, path, {
      side: 'user',
      caller: name,
      client: ports.user,
      model: user.model,
      show: fromUsersSide,
      reply: userReply(path, name),
      whyNot: "it is the simulated user's",
    });
    return new SimulatedUser(path, user.prompt, job.task, log, this.#context(path), model);
  }
}
