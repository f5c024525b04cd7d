/** Loads the steps of the shown attempt: only a part of it, once the pointer rests, and only while it is shown. */
import { useEffect, useReducer, useRef } from 'preact/hooks';
import { sleep } from '../../../../src/common/abort.ts';
import { errorText } from '../../../../src/common/errors.ts';
import type { Api } from '../../../../src/protocol/api.ts';
import type { RolloutRow } from '../../../../src/trace/summary.ts';
import { readEvent } from '../../../../src/trace/upgrades.ts';
import { Outline } from '../../model/outline.ts';

/** The pointer must rest this long before anything is requested. */
const REST_MS = 150;
/** Minimum interval of updates for a running attempt. */
const NEWS_MS = 500;
/** Number of events loaded from the beginning and from the end of a long trajectory. */
const EVENTS_AT_AN_END = 150;
const KEPT = 30;

interface OutlineState {
  readonly outline: Outline | undefined;
  readonly problem: string | undefined;
}

interface OutlineEntry {
  readonly outline: Outline;
  problem: string | undefined;
}

export function useOutline(api: Api, { rollout, last }: Pick<RolloutRow, 'rollout' | 'last'>): OutlineState {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const kept = useRef(new Map<string, OutlineEntry>());
  const newest = useRef(last);
  newest.current = last;
  useEffect(() => {
    const left = new AbortController();
    void keepUp(
      api,
      rollout,
      { kept: kept.current, last: () => newest.current, changed: () => draw(undefined) },
      left.signal,
    );
    return () => left.abort();
  }, [api, rollout]);
  const shown = kept.current.get(rollout);
  return {
    outline: shown === undefined || shown.outline.last === 0 ? undefined : shown.outline,
    problem: shown?.problem,
  };
}

interface OutlineReader {
  readonly kept: Map<string, OutlineEntry>;
  readonly last: () => number;
  readonly changed: () => void;
}

async function keepUp(
  api: Api,
  rollout: string,
  { kept, last, changed }: OutlineReader,
  signal: AbortSignal,
): Promise<void> {
  const own = kept.get(rollout) ?? { outline: new Outline(), problem: undefined };
  try {
    if (own.outline.last === 0) await sleep(REST_MS, signal);
    kept.delete(rollout); // The newest steps are at the end.
    kept.set(rollout, own);
    for (const oldest of kept.keys()) if (kept.size > KEPT) kept.delete(oldest);
    for (;;) {
      if (last() > own.outline.last) {
        await readOn(api, rollout, own.outline, last(), signal);
        own.problem = undefined;
        changed();
      }
      if (own.outline.ended) return;
      await sleep(NEWS_MS, signal);
    }
  } catch (error) {
    if (signal.aborted) return;
    own.problem = errorText(error);
    changed();
  }
}

async function readOn(api: Api, rollout: string, outline: Outline, last: number, signal: AbortSignal): Promise<void> {
  const read = async (after: number, limit: number): Promise<void> => {
    const { events } = await api.events(rollout, { after, limit }, signal);
    outline.push(events.map((event) => readEvent(event)));
  };
  if (outline.last === 0) await read(0, last <= 2 * EVENTS_AT_AN_END ? 2 * EVENTS_AT_AN_END : EVENTS_AT_AN_END);
  if (outline.last < last) await read(Math.max(outline.last, last - EVENTS_AT_AN_END), EVENTS_AT_AN_END);
}
