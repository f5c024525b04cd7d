/** Relates calls of one tool: previous, next, number, and repeats. */

import { countUpTo } from './model/search.ts';
import type { ToolSpan } from './model/spans.ts';
import type { TrajectoryModel } from './model.ts';
import { Repeats } from './repeats.ts';

interface Index {
  indexed: number;
  readonly repeats: Repeats;
  readonly byName: Map<string, { readonly spans: ToolSpan[]; readonly seqs: number[] }>;
}

const indexes = new WeakMap<TrajectoryModel, Index>();

/** Returns all calls of a tool so far, in order, from an index that grows with the model. */
export function callsOf(model: TrajectoryModel, name: string): readonly ToolSpan[] {
  return indexOf(model).byName.get(name)?.spans ?? [];
}

/** Returns the number of this call among the calls of its tool, from 1. */
export function callNumber(model: TrajectoryModel, span: ToolSpan): number {
  return countUpTo(indexOf(model).byName.get(span.start.data.name)?.seqs ?? [], span.seq);
}

/** Returns the previous call of the same tool. */
export function previousCall(model: TrajectoryModel, span: ToolSpan): ToolSpan | undefined {
  return callsOf(model, span.start.data.name)[callNumber(model, span) - 2];
}

/** Returns the next call of the same tool. */
export function nextCall(model: TrajectoryModel, span: ToolSpan): ToolSpan | undefined {
  return callsOf(model, span.start.data.name)[callNumber(model, span)];
}

/** Returns how often the tool was called with the same arguments before. */
export function repeatsOf(model: TrajectoryModel, span: ToolSpan): number {
  return indexOf(model).repeats.of(span.seq);
}

function indexOf(model: TrajectoryModel): Index {
  let index = indexes.get(model);
  if (index === undefined) indexes.set(model, (index = { indexed: 0, repeats: new Repeats(), byName: new Map() }));
  for (; index.indexed < model.tools.length; index.indexed++) {
    const span = model.tools[index.indexed];
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
