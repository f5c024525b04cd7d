/**
 * The state of a rollout at any seq: the model's context, open spans, usage, world changes, and scores. Queries use
 * indexes of the model, so they cost the size of their answer, not of the trajectory.
 */
import { StudioError } from '../common/errors.ts';
import type { ChangedRow } from './model/changes.ts';
import type { Hold } from './model/holds.ts';
import type { MessageEntry } from './model/messages.ts';
import { countUpTo } from './model/search.ts';
import type { Span } from './model/spans.ts';
import type { Step } from './model/step.ts';
import type { UsageSoFar } from './model/usage.ts';
import type { TrajectoryModel } from './model.ts';
import type { EventOf, RolloutEndStatus, TraceError } from './schema.ts';

/** After the event `seq`, that event included. Costly parts are made when first asked for. */
export class RolloutState {
  readonly seq: number;
  /** Whose context `messages` is. */
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

  /** What it waits for; the newest where several calls wait. */
  get hold(): Hold | undefined {
    return this.#model.holdsAt(this.seq).at(-1);
  }

  /** Outermost first. */
  get openSpans(): readonly Span[] {
    return this.#model.openSpans(this.seq);
  }

  get usage(): UsageSoFar {
    return this.#model.usageAt(this.seq);
  }

  /** Scores given so far, newest last. */
  get scores(): readonly EventOf<'score'>[] {
    return this.#model.scores.filter((score) => score.seq <= this.seq);
  }

  /** null = none yet, or unscorable. */
  get reward(): number | null {
    const end = this.#end;
    return end === undefined ? (this.scores.at(-1)?.data.value ?? null) : end.data.reward;
  }

  get passed(): boolean | null {
    const end = this.#end;
    return end === undefined ? (this.scores.at(-1)?.data.passed ?? null) : end.data.passed;
  }

  /** Why the rollout ended as it did. */
  get error(): TraceError | undefined {
    return this.#end?.data.error;
  }

  /** Rows and files that differ from the start, by `rowName`. */
  get world(): ReadonlyMap<string, ChangedRow> {
    this.#world ??= this.#model.worldChanges.at(this.seq);
    return this.#world;
  }

  /**
   * The context of the agent, whole: what its newest model call was given and what was added since, each message as
   * the newest edit up to here left it. Before its first call: all messages so far.
   */
  get messages(): readonly MessageEntry[] {
    this.#messages ??= contextAt(this.#model, this.seq, this.agent);
    return this.#messages;
  }
}

/**
 * The state after event `seq` (0 = before anything). `agent`: whose context; by default that of the event.
 * Throws StudioError `not_found` for a seq the model does not have.
 */
export function stateAt(model: TrajectoryModel, seq: number, agent?: string): RolloutState {
  if (!Number.isInteger(seq) || seq < 0 || seq > model.last) {
    throw new StudioError('not_found', `This trajectory has no event ${seq}; its last event is ${model.last}.`);
  }
  return new RolloutState(model, seq, agent ?? agentAt(model, seq));
}

/** The agent of the event, or of the step it belongs to, or the first that said anything. */
function agentAt(model: TrajectoryModel, seq: number): string {
  return model.event(seq)?.agent ?? model.stepOf(seq)?.model?.agent ?? model.agents[0]?.path ?? '';
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
        const current = model.shownMessage(m, seq);
        // An edit from before the call was known to it: what its context then names is what it was given.
        const entry = current !== undefined && current.event.seq > from ? current : model.message(m);
        if (entry !== undefined) entries.push(entry);
      }
    }
  }
  // Messages that name no agent are everybody's.
  const own = since(agent?.messages ?? [], from, seq);
  const shared = path === '' ? [] : since(model.agent('')?.messages ?? [], from, seq);
  for (const messageSeq of shared.length === 0 ? own : [...own, ...shared].sort((a, b) => a - b)) {
    const event = model.event(messageSeq);
    const entry = event?.kind === 'message' && !('unknown' in event) ? model.message(event.data.m) : undefined;
    if (entry === undefined || entry.editOf !== undefined) continue; // an edited form stands where its original stood
    entries.push(model.shownMessage(entry.m, seq) ?? entry);
  }
  return entries;
}

/** Those of the ascending seqs behind `from`, up to `to`. */
function since(seqs: readonly number[], from: number, to: number): number[] {
  return seqs.slice(countUpTo(seqs, from), countUpTo(seqs, to));
}
