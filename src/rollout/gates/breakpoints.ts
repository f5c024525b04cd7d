import type { Breakpoint } from '../../protocol/commands.ts';
import { compileCondition, compileExpression, type Query } from '../../trace/query.ts';
import { gateEnvironment, type Gate } from '../../trace/query/environment.ts';
import type { QueryEnvironment } from '../../trace/query/vocabulary.ts';
import type { TaskRecord } from '../../trace/task.ts';
import type { Effects } from '../act/recorded.ts';
import type { Side, Subject } from './subject.ts';

/** What expressions may ask of beside the effect itself. */
export interface Surroundings {
  readonly task: TaskRecord;
  readonly attempt: number;
  /** Tokens used so far. */
  usage(): { readonly input_tokens: number; readonly output_tokens: number; readonly cached_tokens: number };
}

/** A piece of a log point's text: written as it is, or evaluated. */
type Piece = string | ReturnType<typeof compileExpression>;

interface Compiled {
  readonly breakpoint: Breakpoint;
  readonly when: Query | undefined;
  /** Of a log point. */
  readonly pieces: readonly Piece[] | undefined;
}

export interface MatchedBreakpoint {
  readonly breakpoint: Breakpoint;
  /** Of a log point: what it writes. Absent: it holds. */
  readonly text: string | undefined;
}

/** The breakpoints of one rollout, compiled once, with the hits counted so far. */
export class Breakpoints {
  readonly #surroundings: Surroundings;
  #compiled: readonly Compiled[] = [];
  readonly #hits = new Map<string, number>();

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  get any(): boolean {
    return this.#compiled.length > 0;
  }

  /** Hits of breakpoints that stay are kept. Throws StudioError `usage` for an expression that is none. */
  set(breakpoints: readonly Breakpoint[]): void {
    this.#compiled = breakpoints.map(compile);
    const ids = new Set(breakpoints.map(({ id }) => id));
    for (const id of this.#hits.keys()) if (!ids.has(id)) this.#hits.delete(id);
  }

  /** Those that match here and have had enough hits, in order. Counts a hit of each that matches. */
  matches(side: Side, subject: Subject): MatchedBreakpoint[] {
    const environment = lazy(() => this.#environment(side, subject));
    return this.#compiled.flatMap((compiled) => {
      const { breakpoint, pieces } = compiled;
      if (!this.#hit(compiled, side, subject, environment)) return [];
      return [{ breakpoint, text: pieces === undefined ? undefined : pieces.map((piece) => written(piece, environment())).join('') }];
    });
  }

  /** Counts hits without holding: the effect is only recalled. */
  count(side: Side, subject: Subject): void {
    if (!this.#compiled.some(({ breakpoint }) => breakpoint.hits !== undefined)) return;
    const environment = lazy(() => this.#environment(side, subject));
    for (const compiled of this.#compiled) if (compiled.breakpoint.hits !== undefined) this.#hit(compiled, side, subject, environment);
  }

  #hit({ breakpoint, when }: Compiled, side: Side, subject: Subject, environment: () => QueryEnvironment): boolean {
    if (breakpoint.side !== side) return false;
    if (breakpoint.kind !== undefined && breakpoint.kind !== subject.kind) return false;
    if (breakpoint.tool !== undefined && (subject.kind !== 'tool' || breakpoint.tool !== subject.name)) return false;
    if (when !== undefined && !when.matches(environment()).matched) return false;
    const hits = (this.#hits.get(breakpoint.id) ?? 0) + 1;
    this.#hits.set(breakpoint.id, hits);
    return hits >= (breakpoint.hits ?? 1);
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
      ...(isTool(subject) ? { tool: toolOf(subject) } : {}),
      ...(end?.message === undefined ? {} : { message: { ...messageOf(end.message) } }),
      ...(subject.changes === undefined ? {} : { changes: subject.changes }),
    };
    return gateEnvironment(gate);
  }
}

/** One breakpoint is that of all rollouts of a worker. */
const compiledOnce = new WeakMap<Breakpoint, Compiled>();

function compile(breakpoint: Breakpoint): Compiled {
  const known = compiledOnce.get(breakpoint);
  if (known !== undefined) return known;
  const compiled = {
    breakpoint,
    when: breakpoint.when === undefined ? undefined : compileCondition(breakpoint.when),
    pieces: breakpoint.log === undefined ? undefined : piecesOf(breakpoint.log),
  };
  compiledOnce.set(breakpoint, compiled);
  return compiled;
}

const START = { model: 'model.start', tool: 'tool.start', world: 'world.open' } as const;
const END = { model: 'model.end', tool: 'tool.end', world: 'world.close' } as const;

function isTool(subject: Subject): subject is Subject<'tool'> {
  return subject.kind === 'tool';
}

function toolOf({ start, end }: Subject<'tool'>): NonNullable<Gate['tool']> {
  if (end === undefined) return { name: start.name, arguments: start.arguments };
  const { result, error, ms }: Effects['tool']['end'] = end.data;
  const response = end.message?.parts.find((part) => part.type === 'tool_call_response');
  return {
    name: start.name, arguments: start.arguments, ms,
    result: result ?? (response?.type === 'tool_call_response' ? response.response : undefined),
    error: error === undefined ? undefined : { class: error.class, message: error.message },
  };
}

function messageOf(message: NonNullable<NonNullable<Subject['end']>['message']>): NonNullable<Gate['message']> {
  const { m, role, origin, parts } = message;
  return { m, role, origin, parts };
}

/** A log point's text: `{expression}` is evaluated, `{{` and `}}` are braces. */
function piecesOf(text: string): Piece[] {
  return text.split(/(\{\{|\}\}|\{[^{}]*\})/).filter((piece) => piece !== '').map((piece) => {
    if (piece === '{{' || piece === '}}') return piece.slice(1);
    return piece.startsWith('{') && piece.endsWith('}') ? compileExpression(piece.slice(1, -1)) : piece;
  });
}

function written(piece: Piece, environment: QueryEnvironment): string {
  if (typeof piece === 'string') return piece;
  const result = piece.evaluate(environment);
  if (!result.ok) return `{${piece.text}: ${result.why}}`;
  return typeof result.value === 'string' ? result.value : JSON.stringify(result.value);
}

function lazy<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
