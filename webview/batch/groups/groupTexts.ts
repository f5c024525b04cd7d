/** What the page says about groups and their members. */
import { plural } from '../../../src/common/text.ts';
import { advantageText, noSignalText, rewardText } from '../../../src/trace/groups/text.ts';
import type { TaskGroup } from './groupsModel.ts';

/** Returns two digits of a figure of rewards; a dash without any. */
export function figureText(value: number | null): string {
  return value === null ? '–' : value.toFixed(2);
}

/** `7 of 8 attempts count`. */
export function countText({ scored, members }: Pick<TaskGroup, 'scored' | 'members'>): string {
  return `${scored} of ${plural(members.length, 'attempt')} ${scored === 1 ? 'counts' : 'count'}`;
}

/** Returns the state of a group: what is missing, and which members are excluded. */
export function stateText(group: TaskGroup): string {
  const noSignal = noSignalText(group);
  if (noSignal !== undefined) return noSignal;
  const open = group.open === 0 ? [] : [`${group.open} open`];
  return [...open, ...excludedTexts(group)].join(', ');
}

/** Names the excluded members by what excludes them: `3, 7: it was cancelled`. */
export function excludedTexts({ members }: Pick<TaskGroup, 'members'>): string[] {
  const reasons = new Map<string, number[]>();
  for (const { attempt, why } of members) {
    if (why === undefined) continue;
    const attempts = reasons.get(why);
    if (attempts === undefined) reasons.set(why, [attempt]);
    else attempts.push(attempt);
  }
  return [...reasons].map(([why, attempts]) => `${listed(attempts)}: ${why}`);
}

/** More attempts are counted. */
const MAX_LISTED = 4;

function listed(attempts: readonly number[]): string {
  const more = attempts.length - MAX_LISTED;
  return `${attempts.slice(0, MAX_LISTED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Returns what a member has: `reward 1, advantage +1.50`, or why it has none. */
export function memberText({ members, advantages }: TaskGroup, attempt: number): string {
  const member = members[attempt - 1];
  if (member === undefined) return '';
  if (member.open) return 'not ended yet';
  if (member.why !== undefined || member.reward === null) return `excluded: ${member.why ?? 'it has no reward'}`;
  return `reward ${rewardText(member.reward)}, advantage ${advantageText(advantages[attempt - 1] ?? 0)}`;
}

/** Describes a group for assistive technology. `attempt`: the member at the cursor. */
export function groupName(task: string, group: TaskGroup, attempt: number | undefined): string {
  const figures =
    group.mean === null ? 'no rewards' : `mean ${figureText(group.mean)}, spread ${figureText(group.spread)}`;
  const state = stateText(group);
  return [
    `${task}: ${figures}, ${countText(group)}`,
    ...(state === '' ? [] : [state]),
    ...(attempt === undefined ? [] : [`attempt ${attempt}: ${memberText(group, attempt)}`]),
  ].join('; ');
}
