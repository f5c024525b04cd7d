/**
 * The state of a rollout at any seq: the model's context, open spans, usage, world changes, and scores. Queries use
 * indexes of the model, so their cost depends on the size of the result, not of the trajectory.
 */
import { StudioError } from '../common/errors.ts';
import type { ChangedRow } from './model/changes.ts';
import type { Hold } from './model/holds.ts';
import type { MessageEntry } from './model/messages.ts';
import { countUpTo } from './model/search.ts';
import type { Span } from './model/spans.ts';
import type { Step } from './model/step.ts';
import type { UsageTotals } from './model/usage.ts';
import type { TrajectoryModel } from './model.ts';
import type { EventOf, RolloutEndStatus, TraceError } from './schema.ts';

/** The state after the event `seq`. Computes expensive parts on first use. */
export class RolloutState {
  readonly seq: number;
  /** The agent whose context is in `messages`. */
  readonly agent: string;
  readonly #model: TrajectoryModel;
  #messages: readonly MessageEntry[] | undefined;
  #world: ReadonlyMap<string, ChangedRow> | undefined;

  constructor(model: TrajectoryModel, seq: number, agent: string) {
    this.#model = model;
    this.seq = seq;
    this.agent = agent;
  }

  get step(): Step | undefined {
    return this.#model.stepOf(this.seq);
  }

  /** `rollout.end` of this rollout, once it is reached. */
  get #end(): EventOf<'rollout.end'> | undefined {
    const end = this.#model.end;
    return end !== undefined && end.seq <= this.seq ? end : undefined;
  }

  get status(): 'running' | 'held' | RolloutEndStatus {
    return this.#end?.data.status ?? (this.hold === undefined ? 'running' : 'held');
  }

  /** The current hold; the newest one if several calls are held. */
  get hold(): Hold | undefined {
    return this.#model.holdsAt(this.seq).at(-1);
  }

  /** Outermost first. */
  get openSpans(): readonly Span[] {
    return this.#model.openSpans(this.seq);
  }

  get usage(): UsageTotals {
    return this.#model.usageAt(this.seq);
  }

  /** Scores so far, newest last. */
  get scores(): readonly EventOf<'score'>[] {
    return this.#model.scores.filter((score) => score.seq <= this.seq);
  }

  /** null: none yet, or unscorable. */
  get reward(): number | null {
    const end = this.#end;
    return end === undefined ? (this.scores.at(-1)?.data.value ?? null) : end.data.reward;
  }

  get passed(): boolean | null {
    const end = this.#end;
    return end === undefined ? (this.scores.at(-1)?.data.passed ?? null) : end.data.passed;
  }

  /** The error that ended the rollout. */
  get error(): TraceError | undefined {
    return this.#end?.data.error;
  }

  /** Rows and files that differ from the start, by `rowName`. */
  get world(): ReadonlyMap<string, ChangedRow> {
    this.#world ??= this.#model.worldChanges.at(this.seq);
    return this.#world;
  }

  /**
   * The complete context of the agent: the input of its newest model call and the messages since, with all edits
   * applied. Before its first call: all messages so far.
   */
  get messages(): readonly MessageEntry[] {
    this.#messages ??= contextAt(this.#model, this.seq, this.agent);
    return this.#messages;
  }
}

/**
 * Returns the state after event `seq` (0: before the first). `agent`: the agent whose context it has, by default that
 * of the event. Throws StudioError `not_found` if there is no such event.
 */
export function stateAt(model: TrajectoryModel, seq: number, agent?: string): RolloutState {
  if (!Number.isInteger(seq) || seq < 0 || seq > model.last) {
    throw new StudioError('not_found', `This trajectory has no event ${seq}; its last event is ${model.last}.`);
  }
  return new RolloutState(model, seq, agent ?? agentAt(model, seq));
}

/** Returns the agent of the event, else of its step, else the first agent. */
function agentAt(model: TrajectoryModel, seq: number): string {
  return (
    model.event(seq)?.agent ??
    model.stepOf(seq)?.model?.agent ??
    model.agents.find(({ side }) => side === undefined)?.path ??
    ''
  );
}

function contextAt(model: TrajectoryModel, seq: number, path: string): MessageEntry[] {
  const agent = model.agent(path);
  const starts = agent?.modelStarts ?? [];
  const from = starts[countUpTo(starts, seq) - 1] ?? 0;
  const call = model.span(from);
  const entries: MessageEntry[] = [];
  if (call?.kind === 'model') {
    for (const [first, last] of call.start.data.context) {
      for (let m = first; m <= last; m++) {
        const current = model.currentMessage(m, seq);
        // The context already reflects edits from before the call.
        const entry = current !== undefined && current.event.seq > from ? current : model.message(m);
        if (entry !== undefined) entries.push(entry);
      }
    }
  }
  // Messages without an agent belong to all agents.
  const own = since(agent?.messages ?? [], from, seq);
  const shared = path === '' ? [] : since(model.agent('')?.messages ?? [], from, seq);
  for (const messageSeq of shared.length === 0 ? own : [...own, ...shared].sort((a, b) => a - b)) {
    const event = model.event(messageSeq);
    const entry = event?.kind === 'message' && !('unknown' in event) ? model.message(event.data.m) : undefined;
    if (entry === undefined || entry.editOf !== undefined) continue; // shown in place of the original
    entries.push(model.currentMessage(entry.m, seq) ?? entry);
  }
  return entries;
}

/** Returns the seqs with `from` < seq ≤ `to`. */
function since(seqs: readonly number[], from: number, to: number): number[] {
  return seqs.slice(countUpTo(seqs, from), countUpTo(seqs, to));
}
