/**
 * The model of a trajectory: its steps, spans, messages, tool calls, agents, and changes of the world. It is built
 * incrementally from a rollout's events, in constant time per event. Events are stored once and returned by reference.
 */
import { StudioError } from '../common/errors.ts';
import type { Json } from '../common/json.ts';
import { AgentBook, type AgentDraft } from './model/agents.ts';
import { ChangeLog } from './model/changes.ts';
import { type EditedValue, EditLog, messageOf } from './model/edits.ts';
import { type Hold, HoldLog } from './model/holds.ts';
import { Intervals } from './model/intervals.ts';
import { MessageBook, type MessageEntry, responseIn } from './model/messages.ts';
import { Scores } from './model/scores.ts';
import {
  closeSpan,
  type EndEvent,
  errorOf,
  isEnd,
  isStart,
  type Span,
  type StartEvent,
  spanOf,
  type ToolSpan,
} from './model/spans.ts';
import type { Agent, Failure, Step } from './model/step.ts';
import { StepBook, type StepDraft } from './model/stepBook.ts';
import { NodeTree } from './model/tree.ts';
import { UsageLog, type UsageTotals } from './model/usage.ts';
import type { EventOf, TraceEvent, UnknownEvent } from './schema.ts';

export type AnyEvent = TraceEvent | UnknownEvent;

export class TrajectoryModel {
  readonly #events: AnyEvent[] = [];
  readonly #steps = new StepBook();
  readonly #spans = new Map<number, Span>();
  readonly #openSpans = new Intervals();
  readonly #calls = new Map<string, ToolSpan>();
  readonly #tools: ToolSpan[] = [];
  readonly #agents = new AgentBook();
  readonly #tree = new NodeTree();
  readonly #messages = new MessageBook();
  readonly #edits = new EditLog();
  readonly #changes = new ChangeLog();
  readonly #usage = { agents: new UsageLog(), side: new UsageLog() };
  readonly #holds = new HoldLog();
  readonly #scores = new Scores();
  readonly #logs: EventOf<'log'>[] = [];
  readonly #leases: EventOf<'rollout.lease'>[] = [];
  readonly #errors: Failure[] = [];
  #newestStart = 0;
  #skipped: { readonly from: number; readonly to: number } | undefined;
  #start: EventOf<'rollout.start'> | undefined;
  #end: EventOf<'rollout.end'> | undefined;

  /**
   * Adds the next events, in order of their seq. The shared prefix of a fork comes first. Ignores events that were
   * added before, so a repeated page is harmless. Throws StudioError `internal` for a gap.
   */
  push(events: readonly AnyEvent[]): void {
    for (const event of events) {
      if (event.seq <= this.last) continue;
      if (event.seq !== this.last + 1) {
        throw new StudioError(
          'internal',
          `The trajectory is incomplete: event ${event.seq} followed event ${this.last}.`,
          { hint: 'Open the trajectory again.' },
        );
      }
      this.#add(event);
    }
  }

  /**
   * Skips the events up to `seq`, and the steps up to `step`, to show a part of a trajectory while the rest is still
   * being read. Queries about the whole trajectory (counts, states, the first of something) are not valid for a part.
   */
  skip(seq: number, step: number): void {
    if (seq <= this.last) return;
    this.#skipped = { from: this.last + 1, to: seq };
    this.#events.length = seq;
    this.#steps.skip(seq, step);
  }

  /** The skipped events; undefined for a complete trajectory. */
  get skipped(): { readonly from: number; readonly to: number } | undefined {
    return this.#skipped;
  }

  // ---- the whole

  /** seq of the last event; 0 if there is none. */
  get last(): number {
    return this.#events.length;
  }

  get events(): readonly AnyEvent[] {
    return this.#events;
  }

  event(seq: number): AnyEvent | undefined {
    return this.#events[seq - 1];
  }

  /** The `rollout.start` of this rollout; in a fork, not that of its parent. */
  get start(): EventOf<'rollout.start'> | undefined {
    return this.#start;
  }

  get end(): EventOf<'rollout.end'> | undefined {
    return this.#end;
  }

  /** Whether events have times. False for recordings without times, where `at` only reflects the order. */
  get timed(): boolean {
    return this.#start?.data.times !== 'none';
  }

  // ---- steps

  /** All steps, step 0 first. */
  get steps(): readonly Step[] {
    return this.#steps.all;
  }

  step(index: number): Step | undefined {
    return this.#steps.all[index];
  }

  stepOf(seq: number): Step | undefined {
    return this.#steps.of(seq);
  }

  /** Returns the last seq that a fork from step `index` shares. */
  cutOf(index: number): number | undefined {
    const step = this.step(index);
    return step === undefined ? undefined : Math.max(0, step.seq - 1);
  }

  // ---- spans and the tree of starts and messages

  /** Returns a span by the seq of its start. */
  span(seq: number): Span | undefined {
    return this.#spans.get(seq);
  }

  /** Returns the spans that are open after the event `seq`, by default the last one. */
  openSpans(seq = this.last): Span[] {
    return this.#openSpans.at(seq).flatMap((start) => this.#spans.get(start) ?? []);
  }

  /** seq of the newest start; 0 if there is none. */
  get newestStart(): number {
    return this.#newestStart;
  }

  /** All tool calls in order of their start. */
  get tools(): readonly ToolSpan[] {
    return this.#tools;
  }

  /** Returns the newest call with this ID. Some sources reuse IDs. */
  call(id: string): ToolSpan | undefined {
    return this.#calls.get(id);
  }

  /** Returns the seq of the enclosing start; 0 for the rollout; undefined if `seq` is not a start or message. */
  parentOf(seq: number): number | undefined {
    return this.#tree.parentOf(seq);
  }

  /** Returns the starts and messages directly inside a start, or inside the rollout for 0, ascending. */
  children(seq: number): readonly number[] {
    return this.#tree.children(seq);
  }

  nextSibling(seq: number): number | undefined {
    return this.#tree.sibling(seq, 1);
  }

  previousSibling(seq: number): number | undefined {
    return this.#tree.sibling(seq, -1);
  }

  // ---- messages, calls, and other events

  /** All messages in order of their seq. */
  get messages(): readonly MessageEntry[] {
    return this.#messages.all;
  }

  message(m: number): MessageEntry | undefined {
    return this.#messages.get(m);
  }

  /** Returns the message that replaces `m` at `seq`: its newest edited form, else itself. */
  currentMessage(m: number, seq?: number): MessageEntry | undefined {
    return this.#messages.current(m, seq);
  }

  /** Returns the arguments of a call, with edits applied. */
  argumentsOf(span: ToolSpan): EditedValue {
    return this.#edits.apply(span.seq, 'arguments', span.start.data.arguments);
  }

  /**
   * Returns the result of a call, with edits applied: `tool.end.result`, else the response in its tool message.
   * undefined while the call is open, or if no result was recorded.
   */
  resultOf(span: ToolSpan): EditedValue | undefined {
    if (span.end === undefined) return undefined;
    const { result, m } = span.end.data;
    const message = m === undefined ? undefined : this.#messages.current(m);
    const base =
      result ?? (message === undefined ? undefined : responseIn(message.event.data.parts, span.start.data.call));
    if (base === undefined) return undefined;
    const edited = this.#edits.apply(span.end.seq, 'result', base);
    return edited.edited || message?.editOf === undefined ? edited : { value: base, edited: true };
  }

  /**
   * Returns what the agent saw of a call that a rule changed; undefined for other calls, and if it saw the real result.
   */
  seenOf(span: ToolSpan): Json | undefined {
    const { injected, made, result, m } = span.end?.data ?? {};
    if (injected === undefined || m === undefined || (made !== false && result === undefined)) return undefined;
    return responseIn(this.#messages.current(m)?.event.data.parts ?? [], span.start.data.call);
  }

  /** Returns the edits of a start or an end. */
  editsOf(seq: number): readonly EventOf<'edit'>[] {
    return this.#edits.of(seq);
  }

  /** In order of their first event. */
  get agents(): readonly Agent[] {
    return this.#agents.all;
  }

  agent(path: string): Agent | undefined {
    return this.#agents.get(path);
  }

  get diffs(): readonly EventOf<'world.diff'>[] {
    return this.#changes.all;
  }

  /** Returns the changes of the world that belong to a span. */
  diffsOf(seq: number): readonly EventOf<'world.diff'>[] {
    return this.#changes.of(seq);
  }

  get worldChanges(): ChangeLog {
    return this.#changes;
  }

  /** Returns what the agents used; `of` side: what side models used. */
  usageAt(seq = this.last, of: 'agents' | 'side' = 'agents'): UsageTotals {
    return this.#usage[of].at(seq);
  }

  /** Returns whose event it is, if it is a side model's: of its call, or a message that only it sees or writes. */
  sideOf(event: AnyEvent): string | undefined {
    if ('unknown' in event) return undefined;
    if (event.kind === 'message') return event.data.side;
    const span = this.#spans.get(event.span ?? event.seq);
    return span?.kind === 'model' ? span.start.data.side : undefined;
  }

  get holds(): readonly Hold[] {
    return this.#holds.all;
  }

  /** Returns a hold by the seq of its event. */
  hold(seq: number): Hold | undefined {
    return this.#holds.get(seq);
  }

  /** Returns the holds at the gates of a span. */
  holdsOf(seq: number): readonly Hold[] {
    return this.#holds.of(seq);
  }

  /** Returns the holds that are open after the event `seq`. There are several only if calls run in parallel. */
  holdsAt(seq = this.last): Hold[] {
    return this.#holds.at(seq);
  }

  /** Scores of the rollout, not of single calls. */
  get scores(): readonly EventOf<'score'>[] {
    return this.#scores.ofRollout;
  }

  /** Returns the scores of a call, by seq of its start. */
  scoresOf(seq: number): readonly EventOf<'score'>[] {
    return this.#scores.ofCall(seq);
  }

  get logs(): readonly EventOf<'log'>[] {
    return this.#logs;
  }

  get leases(): readonly EventOf<'rollout.lease'>[] {
    return this.#leases;
  }

  get errors(): readonly Failure[] {
    return this.#errors;
  }

  // ---- adding events

  #add(event: AnyEvent): void {
    this.#events.push(event);
    const step = this.#steps.add(event, this.#spans);
    if ('unknown' in event) return;
    const agent = this.#agents.of(event);
    if (isStart(event)) this.#open(event, step, agent);
    else if (isEnd(event)) this.#close(event);
    const error = errorOf(event);
    if (error !== undefined) this.#errors.push({ seq: event.seq, step: step.index, error });
    this.#note(event, agent, step);
  }

  #open(event: StartEvent, step: StepDraft, agent: AgentDraft | undefined): void {
    const span = spanOf(event, step.index);
    this.#spans.set(span.seq, span);
    this.#openSpans.open(span.seq);
    this.#newestStart = span.seq;
    this.#tree.add(event.seq, this.#parent(event, step));
    switch (span.kind) {
      case 'model':
        if (span.start.data.side === undefined) step.model = span;
        else step.sides.push(span);
        agent?.modelStarts.push(span.seq);
        return;
      case 'tool':
        step.tools.push(span);
        this.#tools.push(span);
        this.#calls.set(span.start.data.call, span);
        return;
      case 'agent':
        this.#steps.join(span.agent, step.index);
        // A member that was lost with its worker starts again.
        if (agent !== undefined && (agent.span === undefined || agent.span.end !== undefined)) agent.span = span;
        return;
      case 'world':
    }
  }

  #close(event: EndEvent): void {
    const span = event.span === undefined ? undefined : this.#spans.get(event.span);
    if (span !== undefined && closeSpan(span, event)) this.#openSpans.close(span.seq, event.seq);
    if (event.kind === 'model.end') this.#usage[this.sideOf(event) === undefined ? 'agents' : 'side'].add(event);
  }

  #note(event: TraceEvent, agent: AgentDraft | undefined, step: StepDraft): void {
    switch (event.kind) {
      case 'message':
        this.#messages.add(event);
        agent?.messages.push(event.seq);
        this.#tree.add(event.seq, this.#parent(event, step));
        return;
      case 'world.diff':
        this.#changes.add(event);
        return;
      case 'score':
        this.#scores.add(event);
        return;
      case 'log':
        this.#logs.push(event);
        return;
      case 'edit':
        this.#edit(event);
        return;
      case 'hold':
        this.#holds.hold(event);
        return;
      case 'release':
        this.#holds.release(event);
        return;
      case 'rollout.start':
        this.#start = event;
        this.#end = undefined;
        return;
      case 'rollout.lease':
        this.#leases.push(event);
        this.#holds.abandon(event.seq);
        return;
      case 'rollout.end':
        this.#end = event;
        return;
      default:
    }
  }

  #edit(event: EventOf<'edit'>): void {
    const { seq, m } = event.data.of;
    if (seq !== undefined) this.#edits.add(seq, event);
    const message = m ?? (seq === undefined ? undefined : messageOf(this.#events[seq - 1]));
    if (message !== undefined) this.#messages.edit(message, event);
  }

  #parent(event: TraceEvent, step: StepDraft): number {
    const of = event.kind === 'message' ? event.span : undefined;
    const seq = event.parent ?? of ?? (this.sideOf(event) === undefined ? undefined : step.model?.seq);
    return seq !== undefined && this.#spans.has(seq) ? seq : 0;
  }
}
