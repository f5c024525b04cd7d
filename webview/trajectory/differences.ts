/** What an attempt did differently than the passed attempt from which it diverges, after the divergence. */

import { isSameJson } from '../../src/common/json.ts';
import type { Api } from '../../src/protocol/api.ts';
import { type Action, actionsOf } from '../../src/trace/align/actions.ts';
import { pairwise } from '../../src/trace/align/pairwise.ts';
import { TrajectoryModel } from '../../src/trace/model.ts';
import { readEvent } from '../../src/trace/upgrades.ts';
import type { Split } from '../data/split.ts';

/** Of a longer attempt, only the beginning is compared. */
const MAX_EVENTS = 20_000;
const PAGE = 2_000;

interface Attempt {
  readonly model: TrajectoryModel;
  readonly api: Pick<Api, 'events'>;
}

/** Returns the seqs of calls and answers after the divergence that the passed attempt does not have, ascending. */
export async function laterDifferences({ model, api }: Attempt, split: Split): Promise<number[]> {
  const other = new TrajectoryModel();
  for (let more = true; more && other.last < MAX_EVENTS; ) {
    const { events } = await api.events(split.other.rollout, { after: other.last, limit: PAGE });
    other.push(events.map((event) => readEvent(event, { checked: true })));
    more = events.length > 0;
  }
  const [own, theirs] = [actionsOf(model), actionsOf(other)];
  return pairwise(own, theirs)
    .flatMap(({ a, b }) => {
      const action = a === undefined ? undefined : own[a];
      return action === undefined ? [] : differenceIn(action, b === undefined ? undefined : theirs[b]);
    })
    .filter((seq) => seq > split.seq)
    .sort((a, b) => a - b);
}

/** Returns where an action differs from another one; nothing if it does not. */
function differenceIn(action: Action, other: Action | undefined): number[] {
  if (other?.key === action.key) return action.kind === 'text' && action.text !== other.text ? [action.seq] : [];
  const call = action.calls.find(({ name, arguments: args }, index) => {
    const held = other?.calls[index];
    return held?.name !== name || !isSameJson(held.arguments, args);
  });
  return [call?.seq ?? action.seq];
}
