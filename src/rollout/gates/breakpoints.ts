import { BreakpointSet, type MatchedBreakpoint } from '../../protocol/breakpointSet.ts';
import type { Breakpoint } from '../../protocol/commands.ts';
import { gateEnvironment, type Gate } from '../../trace/query/environment.ts';
import type { QueryEnvironment } from '../../trace/query/vocabulary.ts';
import type { TaskRecord } from '../../trace/task.ts';
import type { Effects } from '../act/recorded.ts';
import type { Side, Subject } from './subject.ts';

const NONE: readonly MatchedBreakpoint[] = [];

/** What expressions may ask of beside the effect itself. */
export interface Surroundings {
  readonly task: TaskRecord;
  readonly attempt: number;
  /** How often the tool was called so before, by the seq of the call's start. */
  repeats(span: number): number;
  /** Tokens used so far. */
  usage(): { readonly input_tokens: number; readonly output_tokens: number; readonly cached_tokens: number };
}

/** The breakpoints of one rollout at its gates. */
export class Breakpoints {
  readonly #surroundings: Surroundings;
  readonly #set = new BreakpointSet();

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  /** Hits of breakpoints that stay are kept. Throws StudioError `usage` for an expression that is none. */
  set(breakpoints: readonly Breakpoint[]): void {
    this.#set.set(breakpoints);
  }

  /** Those that match here and have had enough hits, in order. Counts a hit of each that matches. */
  matches(side: Side, subject: Subject): readonly MatchedBreakpoint[] {
    return !this.#set.any ? NONE : this.#set.matches({ side, kind: subject.kind, name: subject.name }, () => this.#environment(side, subject));
  }

  /** Counts hits without holding: the effect is only recalled. */
  count(side: Side, subject: Subject): void {
    if (this.#set.counts) this.#set.count({ side, kind: subject.kind, name: subject.name }, () => this.#environment(side, subject));
  }

  #environment(side: Side, subject: Subject): QueryEnvironment {
    const { end } = subject;
    const after = side === 'after' && end !== undefined;
    const event = after
      ? { seq: end.seq, kind: END[subject.kind], data: end.data, agent: subject.agent, span: subject.span }
      : { seq: subject.span, kind: START[subject.kind], data: subject.start, agent: subject.agent };
    const gate: Gate = {
      side, event, step: subject.step, agent: subject.agent, task: this.#surroundings.task, attempt: this.#surroundings.attempt,
      usage: this.#surroundings.usage(),
      ...(isTool(subject) ? { tool: toolOf(subject, this.#surroundings.repeats(subject.span)) } : {}),
      ...(end?.message === undefined ? {} : { message: { ...messageOf(end.message) } }),
      ...(subject.changes === undefined ? {} : { changes: subject.changes }),
    };
    return gateEnvironment(gate);
  }
}

const START = { model: 'model.start', tool: 'tool.start', world: 'world.open' } as const;
const END = { model: 'model.end', tool: 'tool.end', world: 'world.close' } as const;

function isTool(subject: Subject): subject is Subject<'tool'> {
  return subject.kind === 'tool';
}

function toolOf({ start, end }: Subject<'tool'>, repeats: number): NonNullable<Gate['tool']> {
  if (end === undefined) return { name: start.name, arguments: start.arguments, repeats };
  const { result, error, ms }: Effects['tool']['end'] = end.data;
  const response = end.message?.parts.find((part) => part.type === 'tool_call_response');
  return {
    name: start.name, arguments: start.arguments, ms, repeats,
    result: result ?? (response?.type === 'tool_call_response' ? response.response : undefined),
    error: error === undefined ? undefined : { class: error.class, message: error.message },
  };
}

function messageOf(message: NonNullable<NonNullable<Subject['end']>['message']>): NonNullable<Gate['message']> {
  const { m, role, origin, parts } = message;
  return { m, role, origin, parts };
}
