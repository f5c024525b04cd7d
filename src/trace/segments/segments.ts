/**
 * Turns the model calls of a rollout into rows for trainers: the calls of one agent for as long as each prompt begins
 * with exactly the tokens before it. No chat template and no tokenizer are needed, and the time grows with the number
 * of tokens.
 */
import type { ModelSpan } from '../model/spans.ts';
import type { TrajectoryModel } from '../model.ts';
import type { TokenRecord } from '../schema.ts';
import { floatsOf } from '../tokens.ts';
import { weightsOf } from '../weights.ts';
import { type SplitReason, splitReason } from './splitReason.ts';

/** A model call in a row. Its tokens are `response_ids[from]` to `response_ids[to - 1]`. */
export interface SegmentCall {
  /** seq of its `model.start`. */
  readonly seq: number;
  readonly from: number;
  readonly to: number;
  /** Version of the weights when it ended, and when it began, if that was another one. */
  readonly weights?: string;
  readonly weights_from?: string;
  readonly trainable: boolean;
  /** If it is not trainable. */
  readonly why_not?: string;
}

/** Why a row begins although its agent made calls before. */
export interface Split {
  readonly why: SplitReason;
  /** Position of the first token that differs, in the prompt and response of the row before. */
  readonly at: number;
  /** That token there, and in the prompt of this row; undefined at the end of the tokens. */
  readonly was: number | undefined;
  readonly is: number | undefined;
  /** Their texts, if the endpoint told them. */
  readonly was_text?: string;
  readonly is_text?: string;
}

export interface Segment {
  /** Instance path of the agent. */
  readonly agent: string;
  readonly prompt_ids: readonly number[];
  /** What the policy sampled, and what came between. */
  readonly response_ids: readonly number[];
  /** For each ID of the response: 1 if the policy sampled it and it can be trained on, otherwise 0. */
  readonly response_mask: readonly number[];
  /** Natural logarithms as they were captured; 0 where the mask is 0. */
  readonly response_logprobs: readonly number[];
  readonly calls: readonly SegmentCall[];
  /** Absent in the first row of an agent. */
  readonly split?: Split;
}

export interface Segments {
  /** In order of their first call. */
  readonly rows: readonly Segment[];
  /** Calls of agents that are in no row: seqs of their starts, and why. */
  readonly left_out: readonly { readonly seq: number; readonly why: string }[];
}

/** A row that may continue. */
interface Draft {
  readonly agent: string;
  /** Number of tokens of the first prompt. */
  readonly prompt: number;
  readonly ids: number[];
  /** Of all IDs, with those of the prompt. */
  readonly mask: number[];
  readonly logprobs: number[];
  readonly calls: SegmentCall[];
  /** Its newest call. */
  last: ModelSpan;
  readonly split: Split | undefined;
}

/** Where the tokens of a call are: those of its prompt and completion are the first `end` of a draft. */
interface Place {
  readonly draft: Draft;
  readonly end: number;
}

/** Returns the rows of a rollout that has ended. `tokens`: the token records of its calls, by seq of their start. */
export function segmentsOf(model: TrajectoryModel, tokens: ReadonlyMap<number, TokenRecord>): Segments {
  const places = new Map<number, Place>();
  const newest = new Map<string, Draft>();
  const drafts: Draft[] = [];
  const leftOut: { seq: number; why: string }[] = [];
  for (const event of model.events) {
    const span = event.kind === 'model.start' ? model.span(event.seq) : undefined;
    if (span?.kind !== 'model' || span.start.data.side !== undefined) continue;
    const record = tokens.get(span.seq);
    if (record === undefined) {
      leftOut.push({ seq: span.seq, why: span.end?.data.why_not ?? 'its tokens were not captured' });
      continue;
    }
    const base = record.prompt.of === undefined ? undefined : places.get(record.prompt.of);
    if (record.prompt.of !== undefined && base === undefined) {
      leftOut.push({ seq: span.seq, why: 'its prompt continues that of a call whose tokens are missing' });
      continue;
    }
    let draft = newest.get(span.agent);
    const { shared, added } = continuation(record, base, draft);
    if (draft !== undefined && shared === draft.ids.length) append(draft, added, 0);
    else {
      draft = newDraft(model, span, draft, shared, record, base);
      drafts.push(draft);
      newest.set(span.agent, draft);
    }
    draft.last = span;
    addCompletion(model, draft, span, record);
    places.set(span.seq, { draft, end: draft.ids.length });
  }
  return { rows: drafts.map(rowOf), left_out: leftOut };
}

/** Returns how many tokens the prompt shares with the newest row of its agent, and the tokens after them. */
function continuation(
  { prompt: { keep = 0, ids } }: TokenRecord,
  base: Place | undefined,
  before: Draft | undefined,
): { readonly shared: number; readonly added: readonly number[] } {
  if (before === undefined) return { shared: 0, added: ids };
  // Usually, the prompt is written as a difference to the last call of the row, so nothing has to be compared.
  if (base !== undefined && base.draft === before && base.end === before.ids.length)
    return { shared: keep, added: ids };
  const at = (index: number): number | undefined => (index < keep ? base?.draft.ids[index] : ids[index - keep]);
  let shared = 0;
  while (shared < before.ids.length && shared < keep + ids.length && before.ids[shared] === at(shared)) shared++;
  return { shared, added: ids.slice(Math.max(0, shared - keep)) };
}

function newDraft(
  model: TrajectoryModel,
  span: ModelSpan,
  before: Draft | undefined,
  shared: number,
  { prompt: { keep = 0, ids } }: TokenRecord,
  base: Place | undefined,
): Draft {
  const prompt = [...(base?.draft.ids.slice(0, keep) ?? []), ...ids];
  return {
    agent: span.agent,
    prompt: prompt.length,
    ids: prompt,
    mask: prompt.map(() => 0),
    logprobs: prompt.map(() => 0),
    calls: [],
    last: span,
    split:
      before === undefined
        ? undefined
        : {
            why: splitReason(model, before.last, span, shared - before.prompt - (before.calls.at(-1)?.from ?? 0)),
            at: shared,
            was: before.ids[shared],
            is: prompt[shared],
            ...textsAt(span, shared),
          },
  };
}

function textsAt({ end }: ModelSpan, at: number): Pick<Split, 'was_text' | 'is_text'> {
  const drift = end?.data.drift;
  if (drift?.at !== at) return {};
  const { was, is } = drift;
  return {
    ...(was?.text === undefined ? {} : { was_text: was.text }),
    ...(is?.text === undefined ? {} : { is_text: is.text }),
  };
}

function append({ ids, mask, logprobs }: Draft, added: readonly number[], sampled: 0 | 1): void {
  for (const id of added) {
    ids.push(id);
    mask.push(sampled);
    logprobs.push(0);
  }
}

function addCompletion(model: TrajectoryModel, draft: Draft, span: ModelSpan, record: TokenRecord): void {
  const from = draft.ids.length;
  const logprobs = record.logprobs === undefined ? undefined : floatsOf(record.logprobs);
  const whyNot = whyNotTrainable(model, span, record.completion.length, logprobs?.length);
  append(draft, record.completion, whyNot === undefined ? 1 : 0);
  if (whyNot === undefined)
    for (const [index, value] of (logprobs ?? []).entries()) draft.logprobs[from + index] = value;
  const weights = weightsOf(span);
  draft.calls.push({
    seq: span.seq,
    from: from - draft.prompt,
    to: draft.ids.length - draft.prompt,
    ...(weights === undefined ? {} : { weights: weights.to }),
    ...(weights === undefined || weights.from === weights.to ? {} : { weights_from: weights.from }),
    trainable: whyNot === undefined,
    ...(whyNot === undefined ? {} : { why_not: whyNot }),
  });
}

/** Returns why nothing can be learned from a call whose tokens were captured; undefined if it can. */
function whyNotTrainable(
  model: TrajectoryModel,
  { seq, end }: ModelSpan,
  completion: number,
  logprobs: number | undefined,
): string | undefined {
  if (end === undefined) return 'the call has no end';
  const { status, trainable, why_not: whyNot, m } = end.data;
  if (!trainable) return whyNot ?? 'the call cannot be used for training';
  if (status !== 'ok') return 'the call failed';
  if (model.editsOf(seq).length > 0) return 'its request was edited';
  if (m !== undefined && (model.message(m)?.editedBy !== undefined || model.editsOf(end.seq).length > 0))
    return 'its reply was edited';
  if (logprobs !== undefined && logprobs !== completion)
    return `it has ${logprobs} log probabilities for ${completion} tokens`;
  return undefined;
}

function rowOf({ agent, prompt, ids, mask, logprobs, calls, split }: Draft): Segment {
  return {
    agent,
    prompt_ids: ids.slice(0, prompt),
    response_ids: ids.slice(prompt),
    response_mask: mask.slice(prompt),
    response_logprobs: logprobs.slice(prompt),
    calls,
    ...(split === undefined ? {} : { split }),
  };
}
