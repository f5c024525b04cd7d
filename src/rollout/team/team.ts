import type { Json } from '../../common/json.ts';
import {
  handoffToolName,
  type SubmittedAgent,
  type SubmittedMember,
  type SubmittedTeam,
} from '../../config/submission.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { EventData } from '../../trace/schema.ts';
import { PrefixDivergence } from '../act/prefix.ts';
import { faultOf } from '../faults.ts';
import type { LoggedMessage } from '../log/messages.ts';
import type { Agent, AgentEnd } from '../loop/agent.ts';
import type { AgentFactory } from '../loop/agentFactory.ts';
import { roundMs } from '../time.ts';
import type { AgentTool } from '../tools/toolSet.ts';
import { answerText, deliver, type Mail } from './mail.ts';
import { delegateTool, type HandoffTarget, handoffTools } from './tools.ts';
import { type Budget, Turn } from './turn.ts';
import { lastMembers, runsInParallel, sortMembers } from './workflow.ts';

type How = EventData['agent.start']['how'];

/** What an agent or a team starts with. */
interface MemberOptions {
  /** Whether it sees the task itself. */
  readonly seesTask: boolean;
  readonly mail: readonly Mail[];
}

interface MemberResult {
  readonly end: AgentEnd;
  /** Ordinal of its last message. */
  readonly m: number | undefined;
}

/** The result of a member of a workflow. */
type Result = { readonly name: string; readonly path: string } & (
  | { readonly end: AgentEnd }
  | { readonly error: ClassedError }
);

/** What an agent or a team needs to work. */
interface Work {
  /** seq of the enclosing start. */
  readonly parent: number | undefined;
  readonly opening: MemberOptions;
  readonly budget: Budget;
  /** Members outside its own team that it can hand off to. */
  readonly handoffs: readonly HandoffTarget[];
}

/** How a member is called. */
interface Call extends Work {
  readonly how: How;
  /** Whether only the agent in the handoff file itself works, not its team. */
  readonly itself?: boolean;
}

/**
 * Runs the agents of a rollout: one, or a team. The numbers of instances follow from who called them and when, so that
 * a resumed team gives each instance its own part of the record.
 */
export class Team {
  readonly #factory: AgentFactory;
  /** Number of instances so far, by path without the number. */
  readonly #instances = new Map<string, number>();
  /** The only agent, or the leader of the whole team. */
  #root: Agent | undefined;
  #latest: Agent | undefined;

  constructor(factory: AgentFactory) {
    this.#factory = factory;
  }

  /** Runs until the whole team has answered. Throws ClassedError and Diverged. */
  async run(): Promise<Json> {
    const {
      job: {
        submission: { agent },
      },
      limits,
      stop,
    } = this.#factory.parts;
    const budget: Budget = {
      stop,
      step: () => {
        try {
          limits.step();
        } catch (error) {
          // A limit of the rollout ends all agents.
          if (error instanceof ClassedError) stop.stop(error);
          throw error;
        }
      },
      addUsage: (usage) => limits.addUsage(usage),
      addCall: (...call) => limits.addCall(...call),
    };
    const { end } = await this.#work(
      agent.name,
      agent,
      { parent: undefined, opening: { seesTask: true, mail: [] }, budget, handoffs: [] },
      [],
    );
    return 'answer' in end ? end.answer : null;
  }

  /** The answer if the rollout is cut short. */
  async answerSoFar(): Promise<Json> {
    return this.#root?.answerSoFar() ?? null;
  }

  /** The conversation that represents the rollout: the leader's, otherwise that of the agent that worked last. */
  get messages(): readonly LoggedMessage[] {
    return (this.#root ?? this.#latest)?.messages ?? [];
  }

  /** Runs an agent or a team. `messages`: what it received, for an agent that works itself. */
  #work(path: string, agent: SubmittedAgent, work: Work, messages: readonly LoggedMessage[]): Promise<MemberResult> {
    switch (agent.team?.kind) {
      case 'workflow':
        return this.#workflow(path, agent.team, work);
      case 'handoff':
        return this.#handoff(path, agent, agent.team, work);
      case 'leader':
      case undefined:
        return this.#single(path, agent, work, messages);
    }
  }

  async #single(
    path: string,
    agent: SubmittedAgent,
    { opening: { seesTask }, parent, budget, handoffs }: Work,
    messages: readonly LoggedMessage[],
  ): Promise<MemberResult> {
    const members = agent.team?.kind === 'leader' ? agent.team.members : [];
    const worker = this.#factory.agent({
      path,
      agent,
      parent,
      limits: budget,
      stop: budget.stop,
      agents: [...members.map((member) => this.#delegate(path, member, budget)), ...handoffTools(handoffs)],
      handoffs: new Map(handoffs.map(({ name }) => [handoffToolName(name), name])),
    });
    this.#latest = worker;
    if (parent === undefined) this.#root = worker;
    const opening = await this.#factory.opening(path, agent, seesTask);
    const end = await worker.run([...opening, ...messages]);
    return { end, m: worker.last?.m };
  }

  // ---- a leader and its members

  #delegate(leader: string, member: SubmittedMember, budget: Budget): AgentTool {
    return delegateTool(member, leader, {
      begin: () => {
        const first = this.#instance(leader, member);
        return {
          path: `${leader}/${member.name}#${first}`,
          run: (how, parent, task) =>
            this.#member(leader, member, first, {
              how,
              parent,
              opening: { seesTask: false, mail: [task] },
              budget,
              handoffs: [],
            }),
        };
      },
      isRecorded: (path) => this.#factory.parts.history.members.has(path),
      stopReason: () => this.#factory.parts.stop.reason,
    });
  }

  // ---- a workflow

  /** Runs a workflow. Its last members provide the answer and may hand off to members outside. */
  async #workflow(path: string, team: SubmittedTeam, work: Work): Promise<MemberResult> {
    const results = new Map<string, Promise<Result>>();
    const names = new Set(lastMembers(team.members));
    for (const member of sortMembers(team.members)) {
      const before = (member.after ?? []).flatMap((name) => results.get(name) ?? []);
      const how: How = runsInParallel(team.members, member) ? 'parallel' : 'team';
      results.set(
        member.name,
        this.#node(path, member, { ...work, how, handoffs: names.has(member.name) ? work.handoffs : [] }, before),
      );
    }
    // Waits until all members have ended, even if one of them ended the rollout.
    const settled = await Promise.allSettled(results.values());
    const all = settled.map((result): Result => {
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    });
    return { end: endOfAll(all.filter(({ name }) => names.has(name))), m: undefined };
  }

  async #node(path: string, member: SubmittedMember, call: Call, before: readonly Promise<Result>[]): Promise<Result> {
    const outputs = (await Promise.all(before)).map(
      (result): Mail => ({
        from: result.path,
        topic: 'output',
        text: resultText(result),
        ...('error' in result ? { priority: -1 } : {}),
      }),
    );
    const first = this.#instance(path, member);
    const { opening } = call;
    try {
      const { worked, path: last } = await this.#member(path, member, first, {
        ...call,
        opening: { ...opening, mail: [...opening.mail, ...outputs] },
      });
      return { name: member.name, path: last, end: worked.end };
    } catch (thrown) {
      return { name: member.name, path: `${path}/${member.name}#${first}`, error: this.#memberError(thrown) };
    }
  }

  // ---- a handoff

  /**
   * Runs a handoff. The current member may also hand off to the members that the team as a whole can hand off to; if
   * two have the same name, the nearer one is used.
   */
  async #handoff(path: string, agent: SubmittedAgent, team: SubmittedTeam, work: Work): Promise<MemberResult> {
    const { opening } = work;
    const all: SubmittedMember[] = [...(team.itself ? [{ name: agent.name, agent }] : []), ...team.members];
    const isMember = (name: string): boolean => all.some((member) => member.name === name);
    const outside = work.handoffs.filter(({ name }) => !isMember(name));
    let [current] = all;
    let call: Call = { ...work, how: 'team' };
    while (current !== undefined) {
      const { name, to } = current;
      const colleagues = all
        .filter((other) => other.name !== name && to?.includes(other.name) !== false)
        .map((other) => ({ name: other.name, description: other.agent.description }));
      const first = this.#instance(path, current);
      const { worked, path: from } = await this.#member(path, current, first, {
        ...call,
        handoffs: [...colleagues, ...outside],
        itself: current.agent === agent,
      });
      const { end } = worked;
      if ('answer' in end || !isMember(end.handTo)) return worked;
      current = all.find((member) => member.name === end.handTo);
      call = {
        ...work,
        how: 'handoff',
        opening: {
          ...opening,
          mail: [{ from, topic: 'handoff', text: end.message === '' ? `${name} hands off to you.` : end.message }],
        },
      };
    }
    throw new ClassedError('invalid_arguments', 'The handoff has no recipient.');
  }

  // ---- members

  /**
   * Runs a turn of a member, or several until the rule of its loop matches. Throws ClassedError, with class
   * `infrastructure` and the like if the whole rollout is over.
   */
  async #member(
    team: string,
    member: SubmittedMember,
    first: number,
    call: Call,
  ): Promise<{ readonly worked: MemberResult; readonly path: string }> {
    const { loop } = member;
    let { opening } = call;
    for (let turn = 1; ; turn++) {
      const path = `${team}/${member.name}#${first + turn - 1}`;
      const worked = await this.#turn(path, member.agent, {
        ...call,
        opening,
        how: loop === undefined ? call.how : 'loop',
      });
      if (loop === undefined || turn >= loop.most || !('answer' in worked.end)) return { worked, path };
      const answer = answerText(worked.end.answer);
      const { stop, ports } = this.#factory.parts;
      const search = { pattern: loop.until, flags: '', text: answer, which: 'first' } as const;
      if ((await stop.race(ports.untrusted.search(search, stop.signal))) !== null) return { worked, path };
      opening = {
        ...call.opening,
        mail: [
          ...call.opening.mail,
          { from: path, topic: 'again', text: `Work on it again. Your last answer:\n${answer}` },
        ],
      };
    }
  }

  /** Runs one instance from its `agent.start` to its `agent.end`. Writes nothing if its end is already recorded. */
  async #turn(path: string, agent: SubmittedAgent, { how, itself = false, ...work }: Call): Promise<MemberResult> {
    const { log, history, time, watch, world } = this.#factory.parts;
    const recorded = history.members.get(path);
    // A team without its own agent passes its input on.
    const direct = itself || agent.team === undefined || agent.team.kind === 'leader';
    const { messages, drafts } = deliver(direct ? work.opening.mail : [], path, log, history);
    const m = messages.at(-1)?.m;
    const ended = recorded?.ended === true;
    const span = ended
      ? recorded.seq
      : log.append([
          { kind: 'agent.start', agent: path, parent: work.parent, data: { how, ...(m === undefined ? {} : { m }) } },
          ...drafts,
        ]);
    if (ended && drafts.length > 0) log.append(drafts);
    const began = time.monotonic();
    const end = (data: EventData['agent.end']): void => {
      if (log.isOpen(span))
        log.append([
          { kind: 'agent.end', agent: path, span, data: { ...data, ms: roundMs(time.monotonic() - began) } },
        ]);
    };
    // The agent in a handoff file has the limits of its team.
    const turn = itself ? undefined : new Turn(agent, work.budget);
    // An instance that ended was within its time.
    if (!ended) turn?.start(watch, recorded?.activeMs ?? watch.activeMs);
    const within: Work = { ...work, parent: span, budget: turn ?? work.budget };
    try {
      const worked = await (itself
        ? this.#single(path, agent, within, messages)
        : this.#work(path, agent, within, messages));
      end({ status: 'ok', ...(worked.m === undefined ? {} : { m: worked.m }) });
      return worked;
    } catch (thrown) {
      const error = this.#fault(thrown, turn?.timeUp);
      end({ status: 'error', error: error.toTrace() });
      throw error;
    } finally {
      turn?.end();
      world?.forget(path);
    }
  }

  /**
   * Returns the number of a member's next instance. Numbers are reserved for all turns of a loop, so that parallel
   * calls do not change them.
   */
  #instance(team: string, { name, loop }: SubmittedMember): number {
    const key = `${team}/${name}`;
    const first = (this.#instances.get(key) ?? 0) + 1;
    this.#instances.set(key, first + (loop?.most ?? 1) - 1);
    return first;
  }

  /**
   * Returns what a member threw as a ClassedError; an error that ends the rollout also stops the other members.
   * `timeUp`: set if the member's own time is over.
   */
  #fault(thrown: unknown, ended?: ClassedError): ClassedError {
    const { stop } = this.#factory.parts;
    const error =
      thrown instanceof PrefixDivergence
        ? new ClassedError('infrastructure', thrown.message)
        : faultOf(thrown, 'tool_error', 'infrastructure');
    if (error.class === 'infrastructure' || error.class === 'cancelled') stop.stop(error);
    return stop.reason ?? ended ?? error;
  }

  /** Returns an error of the member itself; throws an error of the whole rollout. */
  #memberError(thrown: unknown): ClassedError {
    const error = this.#fault(thrown);
    if (this.#factory.parts.stop.reason !== undefined) throw error;
    return error;
  }
}

/** Returns the end of a workflow. Throws ClassedError if all of its last members failed. */
function endOfAll(ends: readonly Result[]): AgentEnd {
  const [first] = ends;
  const failed = ends.flatMap((end) => ('error' in end ? [end.error] : []));
  if (first === undefined || failed.length === ends.length)
    throw failed[0] ?? new ClassedError('invalid_arguments', 'The workflow has no end.');
  if (ends.length === 1 && 'end' in first) return first.end;
  for (const each of ends) {
    // The next member gets the results of all of them.
    if ('end' in each && 'handTo' in each.end)
      return { handTo: each.end.handTo, message: ends.map(resultText).join('\n\n') };
  }
  return {
    answer: Object.fromEntries(
      ends.map((each): [string, Json] => [each.name, 'end' in each && 'answer' in each.end ? each.end.answer : null]),
    ),
  };
}

function resultText(result: Result): string {
  if ('error' in result) return `${result.name} failed (${result.error.class}): ${result.error.message}`;
  return 'answer' in result.end
    ? `${result.name} answered:\n${answerText(result.end.answer)}`
    : `${result.name} hands off:\n${result.end.message}`;
}
