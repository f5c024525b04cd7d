import type { Json } from '../../common/json.ts';
import { nounFor } from '../../common/text.ts';
import type { SubmittedRecordedWorld } from '../../config/submission/world.ts';
import type { Observed, ToolCall, ToolCallContext, ToolOutcome, ToolSpec, WorldSession } from '../../rollout/ports.ts';
import { ClassedError } from '../../trace/classedError.ts';
import { type RecordedAnswer, type RecordedTool, recordedAnswer } from '../../trace/recordedCalls/schema.ts';
import { type Attempt, comparable, type Entry, keyOf } from './recordedCalls.ts';
import { type Called, type Track, trackOf } from './tracks.ts';

interface SessionParts {
  readonly world: SubmittedRecordedWorld;
  readonly tools: readonly RecordedTool[];
  readonly attempts: readonly Attempt[];
  readonly readBlob: (sha: string, signal: AbortSignal) => Promise<Uint8Array>;
  /** Answers the calls that no attempt has. */
  readonly otherwise: WorldSession | undefined;
}

/** An attempt that the session walks along. */
interface Walk {
  readonly attempt: Attempt;
  readonly track: Track;
  /** Whether it has all calls of the session so far. */
  isOn: boolean;
  /** Whether it also has their responses. */
  agrees: boolean;
}

interface Found {
  readonly walk: Walk;
  readonly entry: Entry;
}

/** What `match` compares, for the error of a call that no attempt has. */
const MISSING = {
  sequence: 'with these arguments after these calls',
  arguments: 'with these arguments as often',
  order: 'as often',
} as const;

/**
 * A session that answers from recorded attempts. Its state is what the agents saw: where it is in each attempt follows
 * from the calls so far.
 */
export class RecordedSession implements WorldSession {
  readonly specs: readonly ToolSpec[];
  readonly #parts: SessionParts;
  readonly #walks: readonly Walk[];
  readonly #pure: ReadonlySet<string>;

  constructor(parts: SessionParts) {
    const { world, tools, attempts, otherwise } = parts;
    this.#parts = parts;
    this.#walks = attempts.map((attempt) => ({
      attempt,
      track: trackOf(world.match, attempt),
      isOn: true,
      agrees: true,
    }));
    const own = tools.map(
      ({ name, description, parameters, pure }): ToolSpec => ({
        name,
        description,
        parameters,
        effect: pure === true ? 'pure' : 'restorable',
        sessionBound: false,
        from: { kind: 'world', name: world.name },
      }),
    );
    const names = new Set(own.map(({ name }) => name));
    this.specs = [...own, ...(otherwise?.specs ?? []).filter(({ name }) => !names.has(name))];
    this.#pure = new Set(this.specs.flatMap(({ name, effect }) => (effect === 'pure' ? [name] : [])));
  }

  async call(call: ToolCall, context: ToolCallContext): Promise<ToolOutcome> {
    const called = { name: call.name, key: keyOf(call.name, call.arguments) };
    const all = this.#find(called);
    const found = all.filter(({ entry }) => entry.answer !== undefined || entry.blob !== undefined);
    if (found.length === 0) return this.#otherwise(call, context, all.length > 0);
    const agreeing = found.filter(({ walk }) => walk.agrees);
    const { chosen, same, of } = chosenOf(agreeing.length > 0 ? agreeing : found);
    if (same < of)
      context.onLog(
        'err',
        `The recorded attempts differ here: ${same} of ${of} ${nounFor(same, 'has', 'have')} this answer.\n`,
      );
    return this.#answered(chosen, await this.#answerOf(chosen.entry, context.signal));
  }

  observed(call: ToolCall, response: Json, how: Observed): void {
    const { otherwise } = this.#parts;
    if (how.made) this.#pass({ name: call.name, key: keyOf(call.name, call.arguments) }, comparable(response));
    otherwise?.observed?.(call, response, how);
  }

  async close(): Promise<void> {
    await this.#parts.otherwise?.close();
  }

  /** Moves on in the attempts that have this call. One that has another call is left, if this one changed something. */
  #pass(called: Called, seen: string): void {
    const found = new Map(this.#find(called).map(({ walk, entry }) => [walk, entry]));
    const { world, otherwise } = this.#parts;
    // Nobody knows what a call did that no attempt has; only an error of this world changed nothing.
    const leaves = world.match === 'sequence' && (found.size > 0 || otherwise !== undefined);
    for (const walk of this.#walks) {
      const entry = found.get(walk);
      if (entry !== undefined) {
        if (entry.seen !== seen) walk.agrees = false;
        walk.track.pass(called, entry);
      } else if (leaves && !this.#pure.has(called.name)) {
        walk.isOn = false;
      }
    }
  }

  #find(called: Called): Found[] {
    return this.#walks.flatMap((walk) => {
      const entry = walk.isOn ? walk.track.find(called) : undefined;
      return entry === undefined ? [] : [{ walk, entry }];
    });
  }

  async #otherwise(call: ToolCall, context: ToolCallContext, isLost: boolean): Promise<ToolOutcome> {
    const { world, otherwise } = this.#parts;
    if (otherwise?.specs.some(({ name }) => name === call.name) === true) return await otherwise.call(call, context);
    throw new ClassedError(
      'tool_error',
      isLost
        ? `The recording has lost the answer of this call of ${call.name}.`
        : `This call is not in the recording: no attempt called ${call.name} ${MISSING[world.match]}.`,
    );
  }

  async #answerOf({ answer, blob = '' }: Entry, signal: AbortSignal): Promise<RecordedAnswer> {
    if (answer !== undefined) return answer;
    const bytes = await this.#parts.readBlob(blob, signal);
    return recordedAnswer.parse(JSON.parse(new TextDecoder().decode(bytes)));
  }

  #answered({ walk, entry }: Found, { response, parts, error }: RecordedAnswer): ToolOutcome {
    const place = { rollout: walk.attempt.rollout, seq: entry.seq };
    if (error !== undefined) throw new ClassedError(error.class, error.message, { recorded: { place, response } });
    return { response, ...(parts === undefined ? {} : { parts }), source: 'recorded', recorded: place };
  }
}

/** Returns the answer of most attempts, and among as many, that of the first attempt. */
function chosenOf(found: readonly Found[]): { readonly chosen: Found; readonly same: number; readonly of: number } {
  const groups = [...Map.groupBy(found, ({ entry }) => entry.seen).values()];
  const largest = groups.reduce((best, group) => (group.length > best.length ? group : best));
  const [chosen] = largest;
  if (chosen === undefined) throw new Error('a group has a member');
  return { chosen, same: largest.length, of: found.length };
}
