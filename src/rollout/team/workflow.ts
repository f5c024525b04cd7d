/** The graph of a workflow: each member with those it comes after. */

import type { SubmittedMember } from '../../config/submission.ts';
import { ClassedError } from '../../trace/classedError.ts';

type Node = Pick<SubmittedMember, 'name' | 'after'>;

/** Each behind all that it comes after, else as written. Throws ClassedError where members wait for one another. */
export function inOrder<N extends Node>(members: readonly N[]): N[] {
  const left = [...members];
  const ordered: N[] = [];
  const done = new Set<string>();
  while (left.length > 0) {
    const index = left.findIndex(({ after = [] }) => after.every((name) => done.has(name)));
    const [next] = left.splice(index, index === -1 ? 0 : 1);
    if (next === undefined)
      throw new ClassedError(
        'invalid_arguments',
        `The members ${left.map(({ name }) => name).join(', ')} of the workflow wait for one another, or for one ` +
          'that it does not have.',
      );
    ordered.push(next);
    done.add(next.name);
  }
  return ordered;
}

/** Names of the members that nobody comes after. */
export function endsOf(members: readonly Node[]): string[] {
  const used = new Set(members.flatMap(({ after = [] }) => after));
  return members.map(({ name }) => name).filter((name) => !used.has(name));
}

/** Whether a member and another one may work at the same time. */
export function runsBeside(members: readonly Node[], member: Node): boolean {
  const behind = reachedFrom(members, member.name);
  return members.some(
    ({ name }) => name !== member.name && !behind.has(name) && !reachedFrom(members, name).has(member.name),
  );
}

/** Names of all that come, directly or not, before a member. */
function reachedFrom(members: readonly Node[], name: string): Set<string> {
  const found = new Set<string>();
  const queue = [name];
  for (let at = queue.pop(); at !== undefined; at = queue.pop()) {
    for (const before of members.find((candidate) => candidate.name === at)?.after ?? []) {
      if (found.has(before)) continue;
      found.add(before);
      queue.push(before);
    }
  }
  return found;
}
