import { type EffectKind, isComplete, type RecordedAction } from './recorded.ts';

/**
 * How to handle a request that matches no recorded action although answers are left. `strict`: it diverged (resuming
 * the same code). `in_order`: use the next answer of the same kind and name (a fork, which may have another prompt or
 * model). `none`: there is no answer (recorded worlds, `replay:` models).
 */
export type MatchPolicy = 'strict' | 'in_order' | 'none';

/** A request for a prefix. */
export interface PrefixRequest {
  readonly agent: string;
  /** For a side model's call inside a tool call: seq of that call as it was recorded. */
  readonly within?: number | undefined;
  /** Inside a tool call: the next recorded answer is used even if the question differs. */
  readonly inOrder?: boolean | undefined;
  readonly kind: EffectKind;
  readonly name: string;
  /** The key of the request as of this seq: later edits do not count. */
  key(before: number): string;
}

export type Match<K extends EffectKind = EffectKind> =
  /** The recorded answer. `exact` is false if it was only selected by order. */
  | { readonly how: 'answered'; readonly action: RecordedAction<K>; readonly exact: boolean }
  /** It was requested but never answered, so it is performed again. */
  | { readonly how: 'repeat'; readonly action: RecordedAction<K> }
  /** It is not recorded. */
  | { readonly how: 'new'; readonly diverged: boolean };

/** Thrown by policy `strict`. */
export class PrefixDivergence extends Error {
  constructor(request: PrefixRequest, expected: RecordedAction) {
    super(
      `The run diverged from its record: ${request.agent} requested ${nameOf(request)}, but ${nameOf(expected)} ` +
        `was recorded (event ${expected.seq}). ` +
        'The code of the agent has changed, or depends on time, randomness, or its environment.',
    );
    this.name = 'Diverged';
  }
}

function nameOf(action: { readonly kind: EffectKind; readonly name: string }): string {
  return action.kind === 'model' ? 'a model call' : `${action.kind} "${action.name}"`;
}

function matchesRequest<K extends EffectKind>(
  action: RecordedAction,
  request: PrefixRequest & { readonly kind: K },
): action is RecordedAction<K> {
  return action.kind === request.kind && action.name === request.name;
}

/**
 * The recorded actions of one agent, in the order they were requested; those of a side model inside a tool call have a
 * lane of their own, so a recorded answer of the call takes everything inside it.
 */
interface Lane {
  /** Neither used nor discarded. */
  readonly left: RecordedAction[];
  /** After an unanswerable divergence, everything is new. */
  lost: boolean;
}

/** Answers requests from recorded actions, each at most once. */
export class Prefix {
  readonly #policy: (expected: RecordedAction) => MatchPolicy;
  readonly #lanes = new Map<string, Lane>();
  /** The side models that were asked inside a tool call, by its seq. */
  readonly #sides = new Map<number, Set<string>>();

  /** `policy` may depend on the expected answer. */
  constructor(actions: readonly RecordedAction[], policy: MatchPolicy | ((expected: RecordedAction) => MatchPolicy)) {
    this.#policy = typeof policy === 'function' ? policy : () => policy;
    for (const action of actions) {
      const lane = this.#lanes.get(laneOf(action));
      if (lane === undefined) this.#lanes.set(laneOf(action), { left: [action], lost: false });
      else lane.left.push(action);
      if (action.within !== undefined) this.#inside(action.within).add(action.agent);
    }
    this.#joinTries(actions);
  }

  /**
   * Adds what was asked inside a lost try of a tool call to the next one, which was lost before it asked as much. The
   * tries began with the same questions, because the answers were recorded in each.
   */
  #joinTries(actions: readonly RecordedAction[]): void {
    const tries = new Map<string, number>();
    for (const action of actions) {
      if (action.kind !== 'tool') continue;
      const call = `${laneOf(action)} ${action.key}`;
      const earlier = tries.get(call);
      if (isComplete(action)) tries.delete(call);
      else tries.set(call, action.seq);
      if (earlier === undefined || isComplete(action)) continue;
      for (const agent of this.#inside(earlier)) {
        const before = this.#lanes.get(laneOf({ agent, within: earlier }))?.left ?? [];
        const within = laneOf({ agent, within: action.seq });
        const { left } = this.#lanes.get(within) ?? { left: [] };
        const asked = Map.groupBy(left, ({ key }) => key);
        const more = [...Map.groupBy(before, ({ key }) => key)].flatMap(([key, same]) =>
          same.slice(asked.get(key)?.length ?? 0),
        );
        this.#lanes.set(within, { left: [...left, ...more], lost: false });
        this.#inside(action.seq).add(agent);
      }
    }
  }

  #inside(span: number): Set<string> {
    let sides = this.#sides.get(span);
    if (sides === undefined) this.#sides.set(span, (sides = new Set()));
    return sides;
  }

  /** Whether this agent has no recorded answer left. */
  spent(agent: string): boolean {
    const lane = this.#lanes.get(agent);
    return lane === undefined || lane.lost || !lane.left.some(isComplete);
  }

  /** Returns the seq at which the agent's next recorded action after `seq` starts; Infinity if it has no more. */
  nextStart(agent: string, seq: number): number {
    return this.#lanes.get(agent)?.left.find((action) => action.seq > seq)?.seq ?? Infinity;
  }

  /**
   * Returns the recorded answer to a request: the first complete action that matches, otherwise the newest incomplete
   * one, otherwise by policy. Each answer is used only once. Throws PrefixDivergence. Inside a tool call that is made
   * again, policies do not apply: what it asks may depend on anything, so only equal requests are answered, unless it
   * asks the same in order.
   */
  take<K extends EffectKind>(request: PrefixRequest & { readonly kind: K }): Match<K> {
    const lane = this.#lanes.get(laneOf(request));
    if (lane === undefined || lane.lost || lane.left.length === 0) return { how: 'new', diverged: false };
    let open: RecordedAction<K> | undefined;
    let next: RecordedAction<K> | undefined;
    for (const action of lane.left) {
      if (!matchesRequest(action, request)) continue;
      const complete = isComplete(action);
      if (action.key === request.key(action.seq)) {
        if (complete) return { how: 'answered', action: this.#use(lane, action), exact: true };
        open = action;
      }
      if (complete) next ??= action;
    }
    if (next !== undefined && request.inOrder === true)
      return { how: 'answered', action: this.#use(lane, next), exact: true };
    if (open !== undefined) return { how: 'repeat', action: this.#use(lane, open) };
    const expected = lane.left.find(isComplete);
    const policy = expected === undefined || request.within !== undefined ? 'none' : this.#policy(expected);
    if (expected === undefined || policy === 'none') return { how: 'new', diverged: false };
    if (policy === 'strict') throw new PrefixDivergence(request, expected);
    if (next !== undefined) return { how: 'answered', action: this.#use(lane, next), exact: false };
    lane.lost = true;
    return { how: 'new', diverged: true };
  }

  #use<K extends EffectKind>(lane: Lane, action: RecordedAction<K>): RecordedAction<K> {
    lane.left.splice(lane.left.indexOf(action), 1);
    return action;
  }
}

function laneOf({ agent, within }: { readonly agent: string; readonly within?: number | undefined }): string {
  return within === undefined ? agent : `${within} ${agent}`;
}
