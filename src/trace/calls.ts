/** Calls of one tool among each other: the one before, the one after, the how-many-th, how often it was the same. */

import { countUpTo } from './model/search.ts';
import type { ToolSpan } from './model/spans.ts';
import type { TrajectoryModel } from './model.ts';
import { Repeats } from './repeats.ts';

interface Index {
  taken: number;
  readonly repeats: Repeats;
  readonly byName: Map<string, { readonly spans: ToolSpan[]; readonly seqs: number[] }>;
}

const indexes = new WeakMap<TrajectoryModel, Index>();

/** All calls of a tool so far, in order. Kept up to date as the model grows, so asking costs little. */
export function callsOf(model: TrajectoryModel, name: string): readonly ToolSpan[] {
  return indexOf(model).byName.get(name)?.spans ?? [];
}

/** Which call of its tool this is, from 1. */
export function callNumber(model: TrajectoryModel, span: ToolSpan): number {
  return countUpTo(indexOf(model).byName.get(span.start.data.name)?.seqs ?? [], span.seq);
}

/** The call of the same tool before this one. */
export function previousCall(model: TrajectoryModel, span: ToolSpan): ToolSpan | undefined {
  return callsOf(model, span.start.data.name)[callNumber(model, span) - 2];
}

/** The call of the same tool after this one. */
export function nextCall(model: TrajectoryModel, span: ToolSpan): ToolSpan | undefined {
  return callsOf(model, span.start.data.name)[callNumber(model, span)];
}

/** How often the tool was called with the very same arguments before. */
export function repeatsOf(model: TrajectoryModel, span: ToolSpan): number {
  return indexOf(model).repeats.of(span.seq);
}

function indexOf(model: TrajectoryModel): Index {
  let index = indexes.get(model);
  if (index === undefined) indexes.set(model, (index = { taken: 0, repeats: new Repeats(), byName: new Map() }));
  for (; index.taken < model.tools.length; index.taken++) {
    const span = model.tools[index.taken];
    if (span === undefined) continue;
    index.repeats.add(span.start);
    const { name } = span.start.data;
    let calls = index.byName.get(name);
    if (calls === undefined) index.byName.set(name, (calls = { spans: [], seqs: [] }));
    calls.spans.push(span);
    calls.seqs.push(span.seq);
  }
  return index;
}
