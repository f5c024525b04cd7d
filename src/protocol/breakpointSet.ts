/** Compiled breakpoints with their hit counts: they hold a live rollout at its gates, and stop a recorded one. */
import type { QueryEnvironment } from '../trace/query/vocabulary.ts';
import { compileCondition, compileExpression, type Query } from '../trace/query.ts';
import type { Breakpoint } from './commands.ts';

/** One side (before or after) of an outside effect. */
export interface GateSide {
  readonly side: Breakpoint['side'];
  readonly kind: string;
  /** The tool's name, for a tool call. */
  readonly name: string;
  /** For a call of a side model: which one. */
  readonly sideModel?: string | undefined;
}

/** A piece of a logpoint's text: literal, or an expression to evaluate. */
type Piece = string | ReturnType<typeof compileExpression>;

interface Compiled {
  readonly breakpoint: Breakpoint;
  readonly when: Query | undefined;
  /** The text of a logpoint. */
  readonly pieces: readonly Piece[] | undefined;
}

export interface MatchedBreakpoint {
  readonly breakpoint: Breakpoint;
  /** The text that a logpoint writes; undefined if the breakpoint holds. */
  readonly text: string | undefined;
}

export class BreakpointSet {
  #compiled: readonly Compiled[] = [];
  readonly #hits = new Map<string, number>();

  /** Whether there are any breakpoints. */
  get any(): boolean {
    return this.#compiled.length > 0;
  }

  /** Whether any breakpoint counts its hits. */
  get counts(): boolean {
    return this.#compiled.some(({ breakpoint }) => breakpoint.hits !== undefined);
  }

  /**
   * Replaces the breakpoints, and keeps the hits of unchanged ones. Throws StudioError `usage` for an invalid
   * expression, without changing anything.
   */
  set(breakpoints: readonly Breakpoint[]): void {
    this.#compiled = breakpoints.map(compile);
    const ids = new Set(breakpoints.map(({ id }) => id));
    for (const id of this.#hits.keys()) if (!ids.has(id)) this.#hits.delete(id);
  }

  /**
   * Returns the breakpoints that match here and have enough hits, in order. Counts a hit of each match. `environment`
   * is created only when a condition needs it.
   */
  matches(gate: GateSide, environment: () => QueryEnvironment): MatchedBreakpoint[] {
    const once = lazy(environment);
    return this.#compiled.flatMap((compiled) => {
      const { breakpoint, pieces } = compiled;
      if (!this.#hit(compiled, gate, once)) return [];
      return [
        { breakpoint, text: pieces === undefined ? undefined : pieces.map((piece) => textOf(piece, once())).join('') },
      ];
    });
  }

  /** Counts hits without stopping, for an effect that is replayed. */
  count(gate: GateSide, environment: () => QueryEnvironment): void {
    const once = lazy(environment);
    for (const compiled of this.#compiled) if (compiled.breakpoint.hits !== undefined) this.#hit(compiled, gate, once);
  }

  #hit({ breakpoint, when }: Compiled, gate: GateSide, environment: () => QueryEnvironment): boolean {
    if (breakpoint.side !== gate.side) return false;
    if (breakpoint.kind !== undefined && breakpoint.kind !== gate.kind) return false;
    // Model calls are those of agents, unless the condition names the side model.
    if (gate.sideModel !== undefined && when?.variables.has('side') !== true) return false;
    if (breakpoint.tool !== undefined && (gate.kind !== 'tool' || breakpoint.tool !== gate.name)) return false;
    if (when !== undefined && (isUnrelated(when, gate) || !when.matches(environment()).matched)) return false;
    const hits = (this.#hits.get(breakpoint.id) ?? 0) + 1;
    this.#hits.set(breakpoint.id, hits);
    return hits >= (breakpoint.hits ?? 1);
  }
}

/**
 * Returns whether the condition is about a tool call and this gate is not. This is the case at half of all gates, and
 * needs no environment.
 */
function isUnrelated(when: Query, gate: GateSide): boolean {
  return gate.kind !== 'tool' && when.needs.includes('tool');
}

/**
 * Compiled texts are shared by all rollouts of a worker, since each of them gets its breakpoints in a separate message.
 */
const compiledTexts = new Map<string, Pick<Compiled, 'when' | 'pieces'>>();
const MAX_TEXTS = 200;

function compile(breakpoint: Breakpoint): Compiled {
  const { when, log } = breakpoint;
  const text = JSON.stringify([when, log]);
  let compiled = compiledTexts.get(text);
  if (compiled === undefined) {
    compiled = {
      when: when === undefined ? undefined : compileCondition(when),
      pieces: log === undefined ? undefined : piecesOf(log),
    };
    if (compiledTexts.size >= MAX_TEXTS) compiledTexts.clear();
    compiledTexts.set(text, compiled);
  }
  return { breakpoint, ...compiled };
}

/** Parses a logpoint's text: `{expression}` is evaluated, `{{` and `}}` are braces. */
function piecesOf(text: string): Piece[] {
  return text
    .split(/(\{\{|\}\}|\{[^{}]*\})/)
    .filter((piece) => piece !== '')
    .map((piece) => {
      if (piece === '{{' || piece === '}}') return piece.slice(1);
      return piece.startsWith('{') && piece.endsWith('}') ? compileExpression(piece.slice(1, -1)) : piece;
    });
}

function textOf(piece: Piece, environment: QueryEnvironment): string {
  if (typeof piece === 'string') return piece;
  const result = piece.evaluate(environment);
  if (!result.ok) return `{${piece.text}: ${result.why}}`;
  return typeof result.value === 'string' ? result.value : JSON.stringify(result.value);
}

function lazy<T>(create: () => T): () => T {
  let cached: { readonly value: T } | undefined;
  return () => (cached ??= { value: create() }).value;
}
