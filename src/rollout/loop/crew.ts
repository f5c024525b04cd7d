import { seedOf } from '../../common/hash.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { Act } from '../act/act.ts';
import type { History } from '../act/history.ts';
import type { Gates } from '../gates/gates.ts';
import type { RolloutJob, RolloutPorts } from '../job.ts';
import type { Log } from '../log/log.ts';
import type { LoggedMessage, Sha256 } from '../log/messages.ts';
import { TokenChain } from '../log/tokens.ts';
import type { Stop } from '../stop.ts';
import type { Time } from '../time.ts';
import { Agent } from './agent.ts';
import { Context } from './context.ts';
import type { Limits, Stopwatch } from './limits.ts';
import { ModelCaller, type ModelCallerParts } from './modelCall.ts';
import { questionParts, renderPrompt } from './prompt.ts';
import { ToolCaller } from '../tools/toolCalls.ts';
import type { ToolSet } from '../tools/toolSet.ts';
import { fromUsersSide, SimulatedUser, usersWords } from './user.ts';

export interface CrewParts {
  readonly job: RolloutJob;
  readonly ports: RolloutPorts;
  readonly act: Act;
  readonly log: Log;
  readonly history: History;
  readonly gates: Gates;
  readonly watch: Stopwatch;
  readonly limits: Limits;
  readonly stop: Stop;
  readonly life: Stop;
  readonly tools: ToolSet;
  readonly time: Time;
  readonly sha256: Sha256;
}

/** The seed of a rollout: the same for every try at an attempt. */
export function rolloutSeed(job: RolloutJob): number {
  return seedOf(job.submission.seed, job.task.id, job.attempt);
}

/** The instance path of the simulated user. */
export function userPath(agentName: string): string {
  return agentName === 'user' ? 'simulated_user' : 'user';
}

/** The agent of a rollout with all it works with, and its user where the world has one. Throws ClassedError for a prompt that the task cannot fill. */
export function makeAgent(parts: CrewParts): Agent {
  const { job, ports, act, log, history, gates, watch, limits, stop, tools, time, sha256 } = parts;
  const { agent, world } = job.submission;
  const seed = rolloutSeed(job);
  let steps = 0;
  const shared: ModelCallerParts = {
    act, log, recorder: ports.recorder, stop, watch, time, rolloutSeed: seed,
    nextStep: () => ++steps,
    ...(ports.chooseEndpoint === undefined ? {} : { chooseEndpoint: (endpoints, current) => ports.chooseEndpoint?.(endpoints, current) ?? current }),
  };
  const makeContext = (path: string): Context => new Context(history.edits, history.inbox(path), sha256);
  const makeTokens = (): TokenChain => new TokenChain(sha256, (sha) => ports.recorder.readBlob(sha, parts.life.signal));

  const model = new ModelCaller(shared, {
    path: agent.name, client: ports.model, model: agent.model, tokens: makeTokens(),
    reply: (reply) => ({ role: 'assistant', parts: reply.parts, origin: 'sampled' }),
  });
  return new Agent({
    agent, log, limits, model, told: tools.told,
    context: makeContext(agent.name),
    tools: new ToolCaller({
      act, log, gates, edits: history.edits, stop, time, watch, sha256, rolloutSeed: seed, toolSeconds: agent.limits.tool_seconds, careful: job.how === 'resumed',
    }, agent.name, tools),
    user: world?.user === undefined ? undefined : makeUser(parts, shared, world.user, makeContext, makeTokens()),
    step: () => steps,
    makeContext: (messages) => {
      const context = new Context(history.edits, [], sha256);
      context.push(...messages);
      return context;
    },
  });
}

function makeUser(
  { job, ports, log }: CrewParts, shared: ModelCallerParts, user: NonNullable<NonNullable<RolloutJob['submission']['world']>['user']>,
  makeContext: (path: string) => Context, tokens: TokenChain,
): SimulatedUser {
  if (ports.user === undefined) throw new ClassedError('infrastructure', 'The world has a simulated user, but there is no client for its model.');
  const path = userPath(job.submission.agent.name);
  const model = new ModelCaller(shared, {
    path, client: ports.user, model: { ...user.model, capture: { token_ids: false, logprobs: false } }, tokens,
    show: fromUsersSide, reply: usersWords(path, job.submission.agent.name), whyNot: 'it is the simulated user\'s',
  });
  return new SimulatedUser(path, user.prompt, job.task, log, makeContext(path), model);
}

/** What the agent begins with: its prompt and the task. Throws ClassedError. */
export async function openingOf({ job, ports, log, life }: Pick<CrewParts, 'job' | 'ports' | 'log' | 'life'>): Promise<LoggedMessage[]> {
  const { agent } = job.submission;
  const readFile = async (sha: string): Promise<Uint8Array> => {
    try {
      return await life.race(ports.recorder.readBlob(sha, life.signal));
    } catch (error) {
      throw ClassedError.from(error, 'infrastructure');
    }
  };
  const prompt = renderPrompt(agent.prompt.text, job.task);
  const question = await questionParts(job.task, readFile);
  const system = prompt.trim() === '' ? [] : [log.intern({ role: 'system', parts: [{ type: 'text', content: prompt }], origin: 'given' }, agent.name)];
  return [...system, log.intern({ role: 'user', parts: question, origin: 'given' }, agent.name)];
}
