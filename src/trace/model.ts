/**
 * A trajectory as people look at it: steps, spans, messages, tool calls, agents, changes of the world. Built from a
 * rollout's events as they come; an event costs the same whether it is the 1,000th or the 100,000th. Events are kept
 * once and handed out as they are.
 */
import { StudioError } from '../common/errors.ts';
import { ChangeLog } from './model/changes.ts';
import { type EditedValue, EditLog } from './model/edits.ts';
import { type Hold, HoldLog } from './model/holds.ts';
import { Intervals } from './model/intervals.ts';
import { MessageBook, type MessageEntry, responseIn } from './model/messages.ts';
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
import { UsageLog, type UsageSoFar } from './model/usage.ts';
import type { EventOf, TraceEvent, UnknownEvent } from './schema.ts';

export type AnyEvent = TraceEvent | UnknownEvent;

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer I)[] ? I[] : T[K] };

export class TrajectoryModel {
  readonly #events: AnyEvent[] = [];
  readonly #steps = new StepBook();
  readonly #spans = new Map<number, Span>();
  readonly #openSpans = new Intervals();
  readonly #calls = new Map<string, ToolSpan>();
  readonly #tools: ToolSpan[] = [];
  readonly #agents = new Map<string, Mutable<Agent>>();
  readonly #tree = new NodeTree();
  readonly #messages = new MessageBook();
  readonly #edits = new EditLog();
  readonly #changes = new ChangeLog();
  readonly #diffs: EventOf<'world.diff'>[] = [];
  /** By the span they belong to. */
  readonly #spanDiffs = new Map<number, EventOf<'world.diff'>[]>();
  readonly #usage = new UsageLog();
  readonly #holds = new HoldLog();
  readonly #scores: EventOf<'score'>[] = [];
  readonly #logs: EventOf<'log'>[] = [];
  readonly #leases: EventOf<'rollout.lease'>[] = [];
  readonly #errors: Failure[] = [];
  #newestStart = 0;
  #skipped: { readonly from: number; readonly to: number } | undefined;
  #start: EventOf<'rollout.start'> | undefined;
  #end: EventOf<'rollout.end'> | undefined;

  /**
   * Takes the next events, in order of their seq; the shared prefix of a fork comes first. Those it has already are
   * passed over, so a repeated page is harmless. Throws StudioError `internal` on a gap.
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
      this.#take(event);
    }
  }

  /**
   * Leaves out the events up to `seq`, and the steps up to `step`: for a look at a part of a trajectory whose rest is
   * still being read. What is asked of the whole (counts, states, the first of something) is not to be asked of a part.
   */
  skip(seq: number, step: number): void {
    if (seq <= this.last) return;
    this.#skipped = { from: this.last + 1, to: seq };
    this.#events.length = seq;
    this.#steps.skip(seq, step);
  }

  /** The events that were left out; undefined of a whole trajectory. */
  get skipped(): { readonly from: number; readonly to: number } | undefined {
    return this.#skipped;
  }

  // ---- the whole

  /** seq of the last event; 0 = none yet. */
  get last(): number {
    return this.#events.length;
  }

  get events(): readonly AnyEvent[] {
    return this.#events;
  }

  event(seq: number): AnyEvent | undefined {
    return this.#events[seq - 1];
  }

  /** The `rollout.start` of this very rollout: of a fork, not that of its parent. */
  get start(): EventOf<'rollout.start'> | undefined {
    return this.#start;
  }

  get end(): EventOf<'rollout.end'> | undefined {
    return this.#end;
  }

  /** False where `at` says nothing but the order (imported without times). */
  get timed(): boolean {
    return this.#start?.data.times !== 'none';
  }

  // ---- steps

  /** Step 0 first. */
  get steps(): readonly Step[] {
    return this.#steps.all;
  }

  step(index: number): Step | undefined {
    return this.#steps.all[index];
  }

  stepOf(seq: number): Step | undefined {
    return this.#steps.of(seq);
  }

  /** The last seq that a fork from step `index` shares. */
  cutOf(index: number): number | undefined {
    const step = this.step(index);
    return step === undefined ? undefined : Math.max(0, step.seq - 1);
  }

  // ---- spans and the tree of starts and messages

  /** By the seq of its start. */
  span(seq: number): Span | undefined {
    return this.#spans.get(seq);
  }

  /** Spans that are open after the event `seq`; of all events when absent. */
  openSpans(seq = this.last): Span[] {
    return this.#openSpans.at(seq).flatMap((start) => this.#spans.get(start) ?? []);
  }

  /** seq of the newest start; 0 = none yet. */
  get newestStart(): number {
    return this.#newestStart;
  }

  /** All tool calls in order of their start. */
  get tools(): readonly ToolSpan[] {
    return this.#tools;
  }

  /** The newest call with this id (sources repeat ids now and then). */
  call(id: string): ToolSpan | undefined {
    return this.#calls.get(id);
  }

  /** seq of the start that encloses a start or message; 0 = the rollout itself; undefined = not a start or message. */
  parentOf(seq: number): number | undefined {
    return this.#tree.parentOf(seq);
  }

  /** Starts and messages directly inside a start, ascending; of the rollout itself with 0. */
  children(seq: number): readonly number[] {
    return this.#tree.children(seq);
  }

  nextSibling(seq: number): number | undefined {
    return this.#tree.sibling(seq, 1);
  }

  previousSibling(seq: number): number | undefined {
    return this.#tree.sibling(seq, -1);
  }

  // ---- what was said and done

  /** All messages in order of their seq. */
  get messages(): readonly MessageEntry[] {
    return this.#messages.all;
  }

  message(m: number): MessageEntry | undefined {
    return this.#messages.get(m);
  }

  /** What stands for message `m` at `seq`: its newest edited form, else itself. */
  shownMessage(m: number, seq?: number): MessageEntry | undefined {
    return this.#messages.shown(m, seq);
  }

  /** What a tool was called with: as the model asked, then as edits changed it. `edited` tells whether one did. */
  argumentsOf(span: ToolSpan): EditedValue {
    return this.#edits.apply(span.seq, 'arguments', span.start.data.arguments);
  }

  /**
   * What a tool gave: `tool.end.result`, else the response in its tool message. undefined while it is open, or where
   * nothing tells.
   */
  resultOf(span: ToolSpan): EditedValue | undefined {
    if (span.end === undefined) return undefined;
    const { result, m } = span.end.data;
    const message = m === undefined ? undefined : this.#messages.shown(m);
    const base =
      result ?? (message === undefined ? undefined : responseIn(message.event.data.parts, span.start.data.call));
    if (base === undefined) return undefined;
    const edited = this.#edits.apply(span.end.seq, 'result', base);
    return edited.edited || message?.editOf === undefined ? edited : { value: base, edited: true };
  }

  /** Edits that name a start or an end. */
  editsOf(seq: number): readonly EventOf<'edit'>[] {
    return this.#edits.of(seq);
  }

  /** In order of their first event. */
  get agents(): readonly Agent[] {
    return [...this.#agents.values()];
  }

  agent(path: string): Agent | undefined {
    return this.#agents.get(path);
  }

  get diffs(): readonly EventOf<'world.diff'>[] {
    return this.#diffs;
  }

  /** Changes of the world that belong to a span. */
  diffsOf(seq: number): readonly EventOf<'world.diff'>[] {
    return this.#spanDiffs.get(seq) ?? [];
  }

  get worldChanges(): ChangeLog {
    return this.#changes;
  }

  usageAt(seq = this.last): UsageSoFar {
    return this.#usage.at(seq);
  }

  get holds(): readonly Hold[] {
    return this.#holds.all;
  }

  /** By the seq of its event. */
  hold(seq: number): Hold | undefined {
    return this.#holds.get(seq);
  }

  /** Holds at the gates of a span. */
  holdsOf(seq: number): readonly Hold[] {
    return this.#holds.of(seq);
  }

  /** Holds that stand after the event `seq`. Several only where calls run at the same time. */
  holdsAt(seq = this.last): Hold[] {
    return this.#holds.at(seq);
  }

  get scores(): readonly EventOf<'score'>[] {
    return this.#scores;
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

  // ---- taking events

  #take(event: AnyEvent): void {
    this.#events.push(event);
    const step = this.#steps.add(event, this.#spans);
    if ('unknown' in event) return;
    const agent = this.#lane(event);
    if (isStart(event)) this.#open(event, step, agent);
    else if (isEnd(event)) this.#close(event);
    const error = errorOf(event);
    if (error !== undefined) this.#errors.push({ seq: event.seq, step: step.index, error });
    this.#note(event, agent);
  }

  #lane(event: TraceEvent): Mutable<Agent> | undefined {
    const path = event.agent ?? '';
    let agent = this.#agents.get(path);
    // Events of the rollout itself make no lane; one without a name is made where the work names no agent.
    if (agent === undefined && (event.agent !== undefined || isStart(event) || event.kind === 'message')) {
      this.#agents.set(path, (agent = { path, firstSeq: event.seq, modelStarts: [], messages: [] }));
    }
    return agent;
  }

  #open(event: StartEvent, step: StepDraft, agent: Mutable<Agent> | undefined): void {
    const span = spanOf(event, step.index);
    this.#spans.set(span.seq, span);
    this.#openSpans.open(span.seq);
    this.#newestStart = span.seq;
    this.#tree.add(event.seq, this.#parent(event));
    switch (span.kind) {
      case 'model':
        step.model = span;
        agent?.modelStarts.push(span.seq);
        return;
      case 'tool':
        step.tools.push(span);
        this.#tools.push(span);
        this.#calls.set(span.start.data.call, span);
        return;
      case 'agent':
        this.#steps.join(span.agent, step.index);
        // One that was lost with its worker began anew.
        if (agent !== undefined && (agent.span === undefined || agent.span.end !== undefined)) agent.span = span;
        return;
      case 'world':
    }
  }

  #close(event: EndEvent): void {
    const span = event.span === undefined ? undefined : this.#spans.get(event.span);
    if (span !== undefined && closeSpan(span, event)) this.#openSpans.close(span.seq, event.seq);
    if (event.kind === 'model.end') this.#usage.add(event);
  }

  #note(event: TraceEvent, agent: Mutable<Agent> | undefined): void {
    switch (event.kind) {
      case 'message':
        this.#messages.add(event);
        agent?.messages.push(event.seq);
        this.#tree.add(event.seq, this.#parent(event));
        return;
      case 'world.diff':
        this.#diffs.push(event);
        this.#changes.add(event);
        if (event.span !== undefined) addTo(this.#spanDiffs, event.span, event);
        return;
      case 'score':
        this.#scores.push(event);
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
    if (m !== undefined) this.#messages.edit(m, event);
    if (seq === undefined) return;
    this.#edits.add(seq, event);
    const target = this.#events[seq - 1];
    if (target === undefined || 'unknown' in target) return;
    const named =
      target.kind === 'message' || target.kind === 'model.end' || target.kind === 'tool.end'
        ? target.data.m
        : undefined;
    if (named !== undefined && m === undefined) this.#messages.edit(named, event);
  }

  #parent(event: TraceEvent): number {
    const seq = event.parent ?? (event.kind === 'message' ? event.span : undefined);
    return seq !== undefined && this.#spans.has(seq) ? seq : 0;
  }
}

function addTo<T>(lists: Map<number, T[]>, key: number, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}
