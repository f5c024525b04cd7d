import type { Json } from '../../common/json.ts';
import { BreakpointSet, type GateSide, type MatchedBreakpoint } from '../../protocol/breakpointSet.ts';
import type { Breakpoint } from '../../protocol/commands.ts';
import { type Gate, gateEnvironment } from '../../trace/query/environment.ts';
import type { QueryEnvironment } from '../../trace/query/vocabulary.ts';
import type { TaskRecord } from '../../trace/task.ts';
import type { Effects } from '../act/recorded.ts';
import type { Side, Subject } from './subject.ts';

const NONE: readonly MatchedBreakpoint[] = [];

/** Values that expressions can use in addition to the effect. */
export interface Surroundings {
  readonly task: TaskRecord;
  readonly attempt: number;
  /** Of the mix. */
  readonly part?: string | undefined;
  /** How often the same call was made before, by the seq of its start. */
  repeats(span: number): number;
  /** Tokens used so far. */
  usage(): { readonly input_tokens: number; readonly output_tokens: number; readonly cached_tokens: number };
}

/** The breakpoints of one rollout. */
export class Breakpoints {
  readonly #surroundings: Surroundings;
  readonly #set = new BreakpointSet();

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  /** Sets breakpoints, keeping hit counts of existing ones. Throws StudioError `usage` for invalid expressions. */
  set(breakpoints: readonly Breakpoint[]): void {
    this.#set.set(breakpoints);
  }

  /** Returns the matching breakpoints with enough hits, in order. Counts a hit for each match. */
  matches(side: Side, subject: Subject): readonly MatchedBreakpoint[] {
    return !this.#set.any ? NONE : this.#set.matches(gateOf(side, subject), () => this.#environment(side, subject));
  }

  /** Counts hits without holding, for recorded effects. */
  count(side: Side, subject: Subject): void {
    if (this.#set.counts) this.#set.count(gateOf(side, subject), () => this.#environment(side, subject));
  }

  #environment(side: Side, subject: Subject): QueryEnvironment {
    return gateEnvironment(new SubjectGate(side, subject, this.#surroundings));
  }
}

/** Expensive values are computed lazily, because every call of a batch is evaluated. */
class SubjectGate implements Gate {
  readonly side: Side;
  readonly #subject: Subject;
  readonly #surroundings: Surroundings;

  constructor(side: Side, subject: Subject, surroundings: Surroundings) {
    this.side = side;
    this.#subject = subject;
    this.#surroundings = surroundings;
  }

  get event(): Gate['event'] {
    const { kind, span, start, agent, end } = this.#subject;
    return this.side === 'after' && end !== undefined
      ? { seq: end.seq, kind: END[kind], data: end.data, agent, span }
      : { seq: span, kind: START[kind], data: start, agent };
  }

  get step(): number {
    return this.#subject.step;
  }

  get agent(): string {
    return this.#subject.agent;
  }

  get sideModel(): string | undefined {
    return sideModelOf(this.#subject);
  }

  get task(): TaskRecord {
    return this.#surroundings.task;
  }

  get attempt(): number {
    return this.#surroundings.attempt;
  }

  get part(): string | undefined {
    return this.#surroundings.part;
  }

  get usage(): ReturnType<Surroundings['usage']> {
    return this.#surroundings.usage();
  }

  get tool(): Gate['tool'] {
    return isTool(this.#subject) ? toolOf(this.#subject, this.#surroundings.repeats(this.#subject.span)) : undefined;
  }

  get message(): Gate['message'] {
    const message = this.#subject.end?.message;
    return message === undefined ? undefined : messageOf(message);
  }

  get observation(): Gate['observation'] {
    return isTool(this.#subject) ? responseOf(this.#subject) : undefined;
  }

  get changes(): Gate['changes'] {
    return this.#subject.changes;
  }
}

const START = { model: 'model.start', tool: 'tool.start', world: 'world.open' } as const;
const END = { model: 'model.end', tool: 'tool.end', world: 'world.close' } as const;

function gateOf(side: Side, subject: Subject): GateSide {
  return { side, kind: subject.kind, name: subject.name, sideModel: sideModelOf(subject) };
}

function sideModelOf({ start }: Subject): string | undefined {
  return 'side' in start ? start.side : undefined;
}

function isTool(subject: Subject): subject is Subject<'tool'> {
  return subject.kind === 'tool';
}

function toolOf({ start, end }: Subject<'tool'>, repeats: number): NonNullable<Gate['tool']> {
  const { name, arguments: args, effect } = start;
  if (end === undefined) return { name, arguments: args, effect, repeats };
  const { result, error, ms, injected, made, source }: Effects['tool']['end'] = end.data;
  return {
    name,
    arguments: args,
    effect,
    ms,
    repeats,
    injected,
    made,
    source,
    result: result ?? responseOf({ end }),
    error: error === undefined ? undefined : { class: error.class, message: error.message },
  };
}

function responseOf({ end }: Pick<Subject<'tool'>, 'end'>): Json | undefined {
  const part = end?.message?.parts.find(({ type }) => type === 'tool_call_response');
  return part?.type === 'tool_call_response' ? part.response : undefined;
}

function messageOf(message: NonNullable<NonNullable<Subject['end']>['message']>): NonNullable<Gate['message']> {
  const { m, role, origin, parts } = message;
  return { m, role, origin, parts };
}
