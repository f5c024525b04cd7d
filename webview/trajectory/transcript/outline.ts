/** The outline of a transcript: its answers, calls, errors, and sub-agents, and where it diverges. */
import { oneLine, plural } from '../../../src/common/text.ts';
import { textOf } from '../../../src/trace/model/messages.ts';
import type { AnyEvent, TrajectoryModel } from '../../../src/trace/model.ts';
import { endOutcome, type Outcome } from '../../../src/trace/outcome.ts';
import { wasPredictedOtherwise } from '../../../src/trace/prediction/ofCall.ts';
import { errorLabel } from '../../../src/trace/text/labels.ts';
import { scoreText } from '../../../src/trace/text/score.ts';
import { troubleOf } from '../../../src/trace/trouble.ts';
import { TROUBLES } from '../../components/marks/glyphShapes.ts';
import type { IconName } from '../../components/marks/icon.tsx';

interface OutlineEntry {
  /** Where it is in the recording: entries are in this order. */
  readonly at: number;
  /** seq to go to. */
  readonly seq: number;
  readonly kind: 'said' | 'call' | 'agent' | 'score' | 'end' | 'divergence';
}

interface OutlineText {
  readonly icon: IconName;
  /** Replaces the icon. */
  readonly outcome?: Outcome;
  readonly step?: number;
  readonly text: string;
  /** At the right. */
  readonly detail?: string;
  /** Whether the text is the name of a tool. */
  readonly code?: boolean;
}

export class Outline {
  readonly #model: TrajectoryModel;
  readonly #entries: OutlineEntry[] = [];
  #processed = 0;
  #whole: { readonly split: number; readonly count: number; readonly entries: readonly OutlineEntry[] } | undefined;

  constructor(model: TrajectoryModel) {
    this.#model = model;
  }

  /** Returns all entries, with the divergence at `split`. */
  entries(split: number | undefined): readonly OutlineEntry[] {
    for (; this.#processed < this.#model.last; this.#processed++) {
      const event = this.#model.event(this.#processed + 1);
      if (event !== undefined && !('unknown' in event)) this.#process(event);
    }
    if (split === undefined) return this.#entries;
    const count = this.#entries.length;
    if (this.#whole?.split !== split || this.#whole.count !== count) {
      // The divergence is before the step or the call in which it is.
      const at = this.#model.stepOf(split)?.seq ?? split;
      const index = this.#entries.findIndex((entry) => entry.at >= at);
      const divergence: OutlineEntry = { at, seq: split, kind: 'divergence' };
      this.#whole = { split, count, entries: this.#entries.toSpliced(index === -1 ? count : index, 0, divergence) };
    }
    return this.#whole.entries;
  }

  #process(event: Exclude<AnyEvent, { unknown: unknown }>): void {
    const { seq, span } = event;
    const isInside = event.agent?.includes('/') === true;
    switch (event.kind) {
      case 'model.end':
        if (event.data.error === undefined && this.#model.sideOf(event) !== undefined) return;
        // What a model says with calls is in their step.
        if (span !== undefined && (event.data.error !== undefined || (!isInside && !this.#hasCalls(event.data.m))))
          this.#entries.push({ at: span, seq: span, kind: 'said' });
        return;
      case 'tool.start':
        if (!isInside) this.#entries.push({ at: seq, seq, kind: 'call' });
        return;
      case 'tool.end':
        // Of the calls of a sub-agent, only errors are listed.
        if (isInside && span !== undefined && event.data.error !== undefined)
          this.#entries.push({ at: seq, seq: span, kind: 'call' });
        return;
      case 'agent.start':
        if (isInside) this.#entries.push({ at: seq, seq, kind: 'agent' });
        return;
      case 'score':
        if (span === undefined) this.#entries.push({ at: seq, seq, kind: 'score' });
        return;
      case 'rollout.end':
        if (event.data.error !== undefined) this.#entries.push({ at: seq, seq, kind: 'end' });
        return;
      default:
    }
  }

  #hasCalls(m: number | undefined): boolean {
    const parts = m === undefined ? [] : (this.#model.message(m)?.event.data.parts ?? []);
    return parts.some(({ type }) => type === 'tool_call');
  }
}

const CHARS = 120;

/** @param other The passed attempt from which it diverges. */
export function outlineText(
  model: TrajectoryModel,
  { seq, kind }: OutlineEntry,
  other: number | undefined,
): OutlineText {
  const index = model.stepOf(seq)?.index ?? 0;
  const step = index === 0 ? {} : { step: index };
  const event = model.event(seq);
  const span = model.span(seq);
  const trouble = troubleOf(span);
  const outcome = trouble === undefined ? {} : { outcome: TROUBLES[trouble] };
  if (kind === 'divergence')
    return { icon: 'repo-forked', ...step, text: `diverges from attempt ${other ?? ''}`.trim() };
  if (event === undefined || 'unknown' in event) return { icon: 'question', text: '' };
  switch (event.kind) {
    case 'model.start': {
      const end = span?.kind === 'model' ? span.end?.data : undefined;
      if (end?.error !== undefined) return { icon: 'comment', ...outcome, ...step, text: errorLabel(end.error.class) };
      const parts = end?.m === undefined ? [] : (model.currentMessage(end.m)?.event.data.parts ?? []);
      const text = oneLine((textOf(parts) || textOf(parts, 'reasoning')).slice(0, 4 * CHARS), CHARS);
      return { icon: 'comment', ...step, text: text.replaceAll(/[*_`#]+/g, '').trim() || 'nothing' };
    }
    case 'tool.start':
      return {
        ...{ icon: 'tools', ...outcome, ...step, text: event.data.name, code: true },
        ...(wasPredictedOtherwise(model, seq) ? { detail: '≠ predicted' } : {}),
      };
    case 'agent.start': {
      const steps = model.agent(event.agent ?? '')?.modelStarts.length ?? 0;
      return { icon: 'hubot', ...outcome, ...step, text: nameOf(event.agent), detail: plural(steps, 'step') };
    }
    case 'score': {
      const { value, passed } = event.data;
      return {
        icon: 'beaker',
        outcome: passed === true ? 'passed' : passed === false ? 'failed' : 'unscored',
        text: value === null ? 'score' : `score ${scoreText(value)}`,
      };
    }
    case 'rollout.end':
      return {
        icon: 'circle-filled',
        outcome: endOutcome(event.data),
        text: errorLabel(event.data.error?.class ?? ''),
      };
    default:
      return { icon: 'question', text: event.kind };
  }
}

function nameOf(path: string | undefined): string {
  return path?.split('/').at(-1) ?? 'agent';
}
