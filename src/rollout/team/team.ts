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
import type { Crew } from '../loop/members.ts';
import { roundMs } from '../time.ts';
import type { AgentTool } from '../tools/toolSet.ts';
import { answerText, deliver, type Mail } from './mail.ts';
import { type Colleague, delegateTool, handoffTools } from './tools.ts';
import { type Budget, Turn } from './turn.ts';
import { endsOf, inOrder, runsBeside } from './workflow.ts';

type How = EventData['agent.start']['how'];

/** What an agent or a team begins with. */
interface MemberOptions {
  /** Whether it is shown the task itself. */
  readonly asked: boolean;
  readonly mail: readonly Mail[];
}

interface MemberResult {
  readonly end: AgentEnd;
  /** Ordinal of the message it ended with. */
  readonly m: number | undefined;
}

/** The result of a member of a workflow. */
type Result = { readonly name: string; readonly path: string } & (
  | { readonly end: AgentEnd }
  | { readonly error: ClassedError }
);

/** What an agent or a team works with. */
interface Work {
  /** seq of the start that encloses it. */
  readonly parent: number | undefined;
  readonly opening: MemberOptions;
  readonly budget: Budget;
  /** To whom it may hand the work, outside of its own team. */
  readonly handoffs: readonly Colleague[];
}

/** How a member gets to work. */
interface Call extends Work {
  readonly how: How;
  /** It is the agent of a handoff's own file: it works, not its team. */
  readonly itself?: boolean;
}

/**
 * The agents of a rollout at work: one, or a team of them. Which instance is which follows from who called it and when,
 * so that running a team again over a record gives each its own part of it.
 */
export class Team {
  readonly #crew: Crew;
  /** Instances so far, by what their paths begin with. */
  readonly #instances = new Map<string, number>();
  /** The one agent, or the one that leads the whole. */
  #root: Agent | undefined;
  #latest: Agent | undefined;

  constructor(crew: Crew) {
    this.#crew = crew;
  }

  /** Runs to the answer of the whole. Throws ClassedError, and Diverged. */
  async run(): Promise<Json> {
    const {
      job: {
        submission: { agent },
      },
      limits,
      stop,
    } = this.#crew.parts;
    const budget: Budget = {
      stop,
      step: () => {
        try {
          limits.step();
        } catch (error) {
          // The end of the whole is that of everybody.
          if (error instanceof ClassedError) stop.stop(error);
          throw error;
        }
      },
      used: (tokens) => limits.used(tokens),
    };
    const { end } = await this.#work(
      agent.name,
      agent,
      { parent: undefined, opening: { asked: true, mail: [] }, budget, handoffs: [] },
      [],
    );
    return 'answer' in end ? end.answer : null;
  }

  /** What counts as the answer when the rollout is cut short. */
  get answerSoFar(): Json {
    return this.#root?.answerSoFar ?? null;
  }

  /** The conversation that stands for the rollout: the leader's, else that of whoever worked last. */
  get messages(): readonly LoggedMessage[] {
    return (this.#root ?? this.#latest)?.messages ?? [];
  }

  /** An agent, or the team it is. `given`: what it was written, where it works itself. */
  #work(path: string, agent: SubmittedAgent, work: Work, given: readonly LoggedMessage[]): Promise<MemberResult> {
    switch (agent.team?.kind) {
      case 'workflow':
        return this.#workflow(path, agent.team, work);
      case 'handoff':
        return this.#handoff(path, agent, agent.team, work);
      case 'leader':
      case undefined:
        return this.#alone(path, agent, work, given);
    }
  }

  async #alone(
    path: string,
    agent: SubmittedAgent,
    { opening: { asked }, parent, budget, handoffs }: Work,
    given: readonly LoggedMessage[],
  ): Promise<MemberResult> {
    const members = agent.team?.kind === 'leader' ? agent.team.members : [];
    const worker = this.#crew.agent({
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
    const opening = await this.#crew.opening(path, agent, asked);
    const end = await worker.run([...opening, ...given]);
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
              opening: { asked: false, mail: [task] },
              budget,
              handoffs: [],
            }),
        };
      },
      began: (path) => this.#crew.parts.history.members.has(path),
      over: () => this.#crew.parts.stop.reason,
    });
  }

  // ---- a workflow

  /** Its ends give the answer; where it may hand the work on, they do. */
  async #workflow(path: string, team: SubmittedTeam, work: Work): Promise<MemberResult> {
    const results = new Map<string, Promise<Result>>();
    const names = new Set(endsOf(team.members));
    for (const member of inOrder(team.members)) {
      const before = (member.after ?? []).flatMap((name) => results.get(name) ?? []);
      const how: How = runsBeside(team.members, member) ? 'parallel' : 'team';
      results.set(
        member.name,
        this.#node(path, member, { ...work, how, handoffs: names.has(member.name) ? work.handoffs : [] }, before),
      );
    }
    // All have ended before anything is made of it, also where one of them ended the rollout.
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
      return { name: member.name, path: `${path}/${member.name}#${first}`, error: this.#own(thrown) };
    }
  }

  // ---- a handoff

  /**
   * Whoever has the work may also hand it to those whom the team as a whole may; of two of one name the nearer one gets
   * it.
   */
  async #handoff(path: string, agent: SubmittedAgent, team: SubmittedTeam, work: Work): Promise<MemberResult> {
    const { opening } = work;
    const all: SubmittedMember[] = [...(team.itself ? [{ name: agent.name, agent }] : []), ...team.members];
    const isHere = (name: string): boolean => all.some((member) => member.name === name);
    const beyond = work.handoffs.filter(({ name }) => !isHere(name));
    let [current] = all;
    let call: Call = { ...work, how: 'team' };
    while (current !== undefined) {
      const { name, to } = current;
      const here = all
        .filter((other) => other.name !== name && to?.includes(other.name) !== false)
        .map((other) => ({ name: other.name, description: other.agent.description }));
      const first = this.#instance(path, current);
      const { worked, path: from } = await this.#member(path, current, first, {
        ...call,
        handoffs: [...here, ...beyond],
        itself: current.agent === agent,
      });
      const { end } = worked;
      if ('answer' in end || !isHere(end.handTo)) return worked;
      current = all.find((member) => member.name === end.handTo);
      call = {
        ...work,
        how: 'handoff',
        opening: {
          ...opening,
          mail: [{ from, topic: 'handoff', text: end.message === '' ? `${name} hands the work to you.` : end.message }],
        },
      };
    }
    throw new ClassedError('invalid_arguments', 'The work was handed to no one.');
  }

  // ---- members

  /**
   * A member's turn, or turns until the rule of its loop holds. Throws ClassedError, of class `infrastructure` and the
   * like where the whole is over.
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
      if (new RegExp(loop.until).test(answer)) return { worked, path };
      opening = {
        ...call.opening,
        mail: [
          ...call.opening.mail,
          { from: path, topic: 'again', text: `Work on it again. Your last answer:\n${answer}` },
        ],
      };
    }
  }

  /** One instance from its `agent.start` to its `agent.end`; of one whose end is recorded nothing is written again. */
  async #turn(path: string, agent: SubmittedAgent, { how, itself = false, ...work }: Call): Promise<MemberResult> {
    const { log, history, time, watch, world } = this.#crew.parts;
    const recorded = history.members.get(path);
    // A team without an agent of its own passes its input on.
    const direct = itself || agent.team === undefined || agent.team.kind === 'leader';
    const { messages, drafts } = deliver(direct ? work.opening.mail : [], path, log, history);
    const m = messages.at(-1)?.m;
    const over = recorded?.ended === true;
    const span = over
      ? recorded.seq
      : log.append([
          { kind: 'agent.start', agent: path, parent: work.parent, data: { how, ...(m === undefined ? {} : { m }) } },
          ...drafts,
        ]);
    if (over && drafts.length > 0) log.append(drafts);
    const began = time.monotonic();
    const end = (data: EventData['agent.end']): void => {
      if (log.isOpen(span))
        log.append([
          { kind: 'agent.end', agent: path, span, data: { ...data, ms: roundMs(time.monotonic() - began) } },
        ]);
    };
    // The agent of a handoff's own file has its limits as its team's.
    const turn = itself ? undefined : new Turn(agent, work.budget);
    // One that has ended had time enough.
    if (!over) turn?.start(watch, recorded?.activeMs ?? watch.activeMs);
    const within: Work = { ...work, parent: span, budget: turn ?? work.budget };
    try {
      const worked = await (itself
        ? this.#alone(path, agent, within, messages)
        : this.#work(path, agent, within, messages));
      end({ status: 'ok', ...(worked.m === undefined ? {} : { m: worked.m }) });
      return worked;
    } catch (thrown) {
      const error = this.#fault(thrown, turn?.over);
      end({ status: 'error', error: error.toTrace() });
      throw error;
    } finally {
      turn?.end();
      world?.forget(path);
    }
  }

  /**
   * The number of a member's next instance. Those of a loop are kept free, for calls beside it must not change them.
   */
  #instance(team: string, { name, loop }: SubmittedMember): number {
    const key = `${team}/${name}`;
    const first = (this.#instances.get(key) ?? 0) + 1;
    this.#instances.set(key, first + (loop?.most ?? 1) - 1);
    return first;
  }

  /**
   * What a member threw, with a class; what ends the whole rollout ends the others' work with it. `over`: its own time
   * was.
   */
  #fault(thrown: unknown, over?: ClassedError): ClassedError {
    const { stop } = this.#crew.parts;
    const error =
      thrown instanceof PrefixDivergence
        ? new ClassedError('infrastructure', thrown.message)
        : faultOf(thrown, 'tool_error', 'infrastructure');
    if (error.class === 'infrastructure' || error.class === 'cancelled') stop.stop(error);
    return stop.reason ?? over ?? error;
  }

  /** The error that is a member's own; throws what is that of the whole. */
  #own(thrown: unknown): ClassedError {
    const error = this.#fault(thrown);
    if (this.#crew.parts.stop.reason !== undefined) throw error;
    return error;
  }
}

/** The end of a workflow. Throws ClassedError when all of its ends failed. */
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
    : `${result.name} hands the work on:\n${result.end.message}`;
}
