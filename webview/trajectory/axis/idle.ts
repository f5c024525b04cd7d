/** When nothing ran: while the debugger held the rollout, and before the first step. The axis collapses these times. */
import { duration } from '../../../src/common/units.ts';
import type { Hold } from '../../../src/trace/model/holds.ts';
import { holdLabel } from '../../../src/trace/text/labels.ts';
import type { Item, Lanes } from './lanes.ts';
import type { Range } from './scale.ts';

export interface Idle extends Range {
  readonly held: boolean;
  /** For the tooltip: what it was, and how long it took. */
  readonly text: string;
}

const cache = new WeakMap<Lanes, { readonly version: number; readonly idle: readonly Idle[] }>();

/** Returns the idle times in order. */
export function idleTimes(lanes: Lanes): readonly Idle[] {
  const cached = cache.get(lanes);
  if (cached?.version === lanes.version) return cached.idle;
  const idle = lanes.model.timed ? findIdle(lanes) : [];
  cache.set(lanes, { version: lanes.version, idle });
  return idle;
}

function findIdle(lanes: Lanes): Idle[] {
  const { holds } = lanes.model;
  const held = holds.flatMap((hold) => {
    const { event, release } = hold;
    return release === undefined ? [] : [{ from: lanes.at(event), to: lanes.at(release), hold }];
  });
  const first = firstStart(lanes);
  const waits: Range[] = first === undefined ? [] : [{ from: 0, to: first }];
  const free = without(merged([...waits, ...held]), merged(held.length === 0 ? [] : busyTimes(lanes)));
  return free.map(({ from, to }) => {
    const inside = held.filter((other) => other.from < to && other.to > from);
    return {
      from,
      to,
      held: inside.length > 0,
      text: textOf(
        to - from,
        inside.map(({ hold }) => hold),
        from === 0,
      ),
    };
  });
}

function textOf(ms: number, holds: readonly Hold[], isFirst: boolean): string {
  const [hold] = holds;
  if (hold === undefined || isFirst) return `${duration(ms)} before the first step`;
  return `Held for ${duration(ms)}: ${holds.length === 1 ? holdLabel(hold.event.data.why) : `${holds.length} times`}`;
}

/** Returns when the first model call started, after its waits. */
function firstStart(lanes: Lanes): number | undefined {
  const step = lanes.steps[0];
  const span = step === undefined ? undefined : lanes.model.span(step.seq);
  return step === undefined || span === undefined ? undefined : lanes.startOf({ span, from: step.from });
}

/** When calls ran, without the time that they were held themselves. */
function busyTimes(lanes: Lanes): Range[] {
  return lanes.lanes.flatMap(({ items }) =>
    items.flatMap((item) => (item.form === 'model' || item.form === 'tool' ? busyOf(lanes, item) : [])),
  );
}

function busyOf(lanes: Lanes, item: Item): readonly Range[] {
  const from = lanes.startOf(item);
  if (from === undefined) return [];
  const busy = [{ from, to: lanes.endOf(item) }];
  const own = lanes.model.holdsOf(item.seq);
  if (own.length === 0) return busy;
  return without(
    busy,
    merged(own.map((hold) => ({ from: lanes.at(hold.event), to: lanes.at(hold.release ?? hold.event) }))),
  );
}

/** Returns ranges in order, overlapping ones as one. */
export function merged(ranges: readonly Range[]): Range[] {
  const result: { from: number; to: number }[] = [];
  for (const { from, to } of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = result.at(-1);
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
    else result.push({ from, to });
  }
  return result;
}

/** Returns what is left of ranges. Both are in order and disjoint. */
export function without(ranges: readonly Range[], taken: readonly Range[]): Range[] {
  let index = 0;
  return ranges.flatMap(({ from, to }) => {
    const left: Range[] = [];
    let at = from;
    while ((taken[index]?.to ?? Infinity) <= from) index += 1;
    for (let next = index; (taken[next]?.from ?? Infinity) < to; next++) {
      const other = taken[next];
      if (other === undefined) break;
      if (other.from > at) left.push({ from: at, to: other.from });
      at = Math.max(at, other.to);
    }
    if (at < to) left.push({ from: at, to });
    return left;
  });
}
