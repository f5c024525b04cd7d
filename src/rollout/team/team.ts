import type { SubmittedAgent, SubmittedMember, SubmittedTeam } from '../../config/submission.ts';
import type { Json } from '../../common/json.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { EventData } from '../../trace/schema.ts';
import { Diverged } from '../act/prefix.ts';
import { faultOf } from '../faults.ts';
import type { LoggedMessage } from '../log/messages.ts';
import type { Agent, AgentEnd } from '../loop/agent.ts';
import type { Crew } from '../loop/crew.ts';
import { roundMs } from '../time.ts';
import type { AgentTool } from '../tools/toolSet.ts';
import { MemberAllowance } from './allowance.ts';
import { answerText, deliver, type Mail } from './mail.ts';
import { delegateTool, handoffToolName, handoffTools, type Colleague } from './tools.ts';
import { endsOf, inOrder, runsBeside } from './workflow.ts';

type How = EventData['agent.start']['how'];

/** What an agent or a team begins with. */
interface Opening {
  /** Whether it is shown the task itself. */
  readonly asked: boolean;
  readonly mail: readonly Mail[];
}

interface Worked {
  readonly end: AgentEnd;
  /** Ordinal of the message it ended with. */
  readonly m: number | undefined;
}

/** What a member of a workflow gave. */
type Result = { readonly name: string; readonly path: string } & ({ readonly answer: Json } | { readonly error: ClassedError });

/** How a member gets to work. */
interface Call {
  readonly how: How;
  /** seq of the start that encloses it. */
  readonly parent: number | undefined;
  readonly opening: Opening;
  /** To whom it may hand the work. */
  readonly handoffs?: readonly Colleague[];
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
    const { agent } = this.#crew.parts.job.submission;
    const { end } = await this.#work(agent.name, agent, { asked: true, mail: [] }, undefined, []);
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

  /** An agent, or the team it is. */
  #work(path: string, agent: SubmittedAgent, opening: Opening, parent: number | undefined, given: readonly LoggedMessage[], handoffs: readonly Colleague[] = []): Promise<Worked> {
    switch (agent.team?.kind) {
      case 'workflow':
        return this.#workflow(path, agent.team, opening, parent);
      case 'handoff':
        return this.#handoff(path, agent, agent.team, opening, parent);
      case 'leader':
      case undefined:
        return this.#alone(path, agent, opening, parent, given, handoffs);
    }
  }

  async #alone(path: string, agent: SubmittedAgent, { asked }: Opening, parent: number | undefined, given: readonly LoggedMessage[], handoffs: readonly Colleague[] = []): Promise<Worked> {
    const { limits, stop, job } = this.#crew.parts;
    const root = agent === job.submission.agent && parent === undefined;
    const members = agent.team?.kind === 'leader' ? agent.team.members : [];
    const worker = this.#crew.agent({
      path, agent, parent, limits: root ? limits : new MemberAllowance(agent, limits, stop),
      agents: [...members.map((member) => this.#delegate(path, member)), ...handoffTools(handoffs)],
      handoffs: new Map(handoffs.map(({ name }) => [handoffToolName(name), name])),
    });
    this.#latest = worker;
    if (root) this.#root = worker;
    const opening = await this.#crew.opening(path, agent, asked);
    const end = await worker.run([...opening, ...given]);
    return { end, m: worker.last?.m };
  }

  // ---- a leader and its members

  #delegate(leader: string, member: SubmittedMember): AgentTool {
    return delegateTool(member, leader, {
      begin: () => {
        const first = this.#instance(leader, member);
        return { path: `${leader}/${member.name}#${first}`, run: (how, parent, task) => this.#member(leader, member, first, { how, parent, opening: { asked: false, mail: [task] } }) };
      },
      began: (path) => this.#crew.parts.history.members.has(path),
      over: () => this.#crew.parts.stop.reason,
    });
  }

  // ---- a workflow

  async #workflow(path: string, team: SubmittedTeam, opening: Opening, parent: number | undefined): Promise<Worked> {
    const results = new Map<string, Promise<Result>>();
    for (const member of inOrder(team.members)) {
      const before = (member.after ?? []).flatMap((name) => results.get(name) ?? []);
      const how: How = runsBeside(team.members, member) ? 'parallel' : 'team';
      results.set(member.name, this.#node(path, member, how, parent, opening, before));
    }
    // All have ended before anything is made of it, also where one of them ended the rollout.
    const settled = await Promise.allSettled(results.values());
    const all = settled.map((result): Result => {
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    });
    const names = new Set(endsOf(team.members));
    const ends = all.filter(({ name }) => names.has(name));
    const [first] = ends;
    const failed = ends.flatMap((end) => ('error' in end ? [end.error] : []));
    if (first === undefined || failed.length === ends.length) throw failed[0] ?? new ClassedError('invalid_arguments', 'The workflow has no end.');
    const answers = ends.map((end): [string, Json] => [end.name, 'answer' in end ? end.answer : null]);
    return { end: { answer: answers.length === 1 ? (answers[0]?.[1] ?? null) : Object.fromEntries(answers) }, m: undefined };
  }

  async #node(path: string, member: SubmittedMember, how: How, parent: number | undefined, opening: Opening, before: readonly Promise<Result>[]): Promise<Result> {
    const outputs = (await Promise.all(before)).map((result): Mail => ('answer' in result
      ? { from: result.path, topic: 'output', text: `${result.name} answered:\n${answerText(result.answer)}` }
      : { from: result.path, topic: 'output', text: `${result.name} failed (${result.error.class}): ${result.error.message}`, priority: -1 }));
    const first = this.#instance(path, member);
    try {
      const { worked, path: last } = await this.#member(path, member, first, { how, parent, opening: { ...opening, mail: [...opening.mail, ...outputs] } });
      return { name: member.name, path: last, answer: 'answer' in worked.end ? worked.end.answer : null };
    } catch (thrown) {
      return { name: member.name, path: `${path}/${member.name}#${first}`, error: this.#own(thrown) };
    }
  }

  // ---- a handoff

  async #handoff(path: string, agent: SubmittedAgent, team: SubmittedTeam, opening: Opening, parent: number | undefined): Promise<Worked> {
    const all: SubmittedMember[] = [...(team.itself ? [{ name: agent.name, agent }] : []), ...team.members];
    let [current] = all;
    let call: Call = { how: 'team', parent, opening };
    while (current !== undefined) {
      const { name, to } = current;
      const handoffs = all.filter((other) => other.name !== name && to?.includes(other.name) !== false).map((other) => ({ name: other.name, description: other.agent.description }));
      const first = this.#instance(path, current);
      const { worked, path: from } = await this.#member(path, current, first, { ...call, handoffs, itself: current.agent === agent });
      const { end } = worked;
      if ('answer' in end) return worked;
      current = all.find((member) => member.name === end.handTo);
      call = { how: 'handoff', parent, opening: { ...opening, mail: [{ from, topic: 'handoff', text: end.message === '' ? `${name} hands the work to you.` : end.message }] } };
    }
    throw new ClassedError('invalid_arguments', 'The work was handed to nobody.');
  }

  // ---- members

  /** A member's turn, or turns until the rule of its loop holds. Throws ClassedError, of class `infrastructure` and the like where the whole is over. */
  async #member(team: string, member: SubmittedMember, first: number, call: Call): Promise<{ readonly worked: Worked; readonly path: string }> {
    const { loop } = member;
    let { opening } = call;
    for (let turn = 1; ; turn++) {
      const path = `${team}/${member.name}#${first + turn - 1}`;
      const worked = await this.#turn(path, member.agent, { ...call, opening, how: loop === undefined ? call.how : 'loop' });
      if (loop === undefined || turn >= loop.most || !('answer' in worked.end)) return { worked, path };
      const answer = answerText(worked.end.answer);
      if (new RegExp(loop.until).test(answer)) return { worked, path };
      opening = { ...call.opening, mail: [...call.opening.mail, { from: path, topic: 'again', text: `Work on it again. Your last answer:\n${answer}` }] };
    }
  }

  /** One instance from its `agent.start` to its `agent.end`; of one whose end is recorded nothing is written again. */
  async #turn(path: string, agent: SubmittedAgent, { how, parent, opening, handoffs, itself = false }: Call): Promise<Worked> {
    const { log, history, time, world } = this.#crew.parts;
    const recorded = history.members.get(path);
    // A team that does not work itself passes on what it is given.
    const direct = itself || agent.team === undefined || agent.team.kind === 'leader';
    const { messages, drafts } = deliver(direct ? opening.mail : [], path, log, history);
    const m = messages.at(-1)?.m;
    const over = recorded?.ended === true;
    const span = over ? recorded.seq : log.append([{ kind: 'agent.start', agent: path, parent, data: { how, ...(m === undefined ? {} : { m }) } }, ...drafts]);
    if (over && drafts.length > 0) log.append(drafts);
    const began = time.monotonic();
    const end = (data: EventData['agent.end']): void => {
      if (log.isOpen(span)) log.append([{ kind: 'agent.end', agent: path, span, data: { ...data, ms: roundMs(time.monotonic() - began) } }]);
    };
    try {
      const worked = await (itself ? this.#alone(path, agent, opening, span, messages, handoffs) : this.#work(path, agent, opening, span, messages, handoffs));
      end({ status: 'ok', ...(worked.m === undefined ? {} : { m: worked.m }) });
      return worked;
    } catch (thrown) {
      const error = this.#fault(thrown);
      end({ status: 'error', error: error.toTrace() });
      throw error;
    } finally {
      world?.forget(path);
    }
  }

  /** The number of a member's next instance. Those of a loop are kept free, for calls beside it must not change them. */
  #instance(team: string, { name, loop }: SubmittedMember): number {
    const key = `${team}/${name}`;
    const first = (this.#instances.get(key) ?? 0) + 1;
    this.#instances.set(key, first + (loop?.most ?? 1) - 1);
    return first;
  }

  /** What a member threw, with a class; what ends the whole rollout ends the others' work with it. */
  #fault(thrown: unknown): ClassedError {
    const { stop } = this.#crew.parts;
    const error = thrown instanceof Diverged ? new ClassedError('infrastructure', thrown.message) : faultOf(thrown, 'tool_error', 'infrastructure');
    if (error.class === 'infrastructure' || error.class === 'cancelled') stop.stop(error);
    return stop.reason ?? error;
  }

  /** The error that is a member's own; throws what is that of the whole. */
  #own(thrown: unknown): ClassedError {
    const error = this.#fault(thrown);
    if (this.#crew.parts.stop.reason !== undefined) throw error;
    return error;
  }
}
