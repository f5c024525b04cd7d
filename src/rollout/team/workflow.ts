/** The graph of a workflow: each member with the members that it follows. */

import type { SubmittedMember } from '../../config/submission.ts';
import { ClassedError } from '../../trace/classedError.ts';

type Node = Pick<SubmittedMember, 'name' | 'after'>;

/**
 * Returns the members sorted so that each comes after those it follows, otherwise in the order of the file. Throws
 * ClassedError if members wait for one another.
 */
export function sortMembers<N extends Node>(members: readonly N[]): N[] {
  const left = [...members];
  const ordered: N[] = [];
  const done = new Set<string>();
  while (left.length > 0) {
    const index = left.findIndex(({ after = [] }) => after.every((name) => done.has(name)));
    const [next] = left.splice(index, index === -1 ? 0 : 1);
    if (next === undefined)
      throw new ClassedError(
        'invalid_arguments',
        `The members ${left.map(({ name }) => name).join(', ')} of the workflow wait for each other, or for a ` +
          'member that does not exist.',
      );
    ordered.push(next);
    done.add(next.name);
  }
  return ordered;
}

/** Returns the names of the members that no other member follows. */
export function lastMembers(members: readonly Node[]): string[] {
  const used = new Set(members.flatMap(({ after = [] }) => after));
  return members.map(({ name }) => name).filter((name) => !used.has(name));
}

/** Returns whether another member may run at the same time as this one. */
export function runsInParallel(members: readonly Node[], member: Node): boolean {
  const predecessors = predecessorsOf(members, member.name);
  return members.some(
    ({ name }) => name !== member.name && !predecessors.has(name) && !predecessorsOf(members, name).has(member.name),
  );
}

/** Returns the names of all members that precede a member, directly or not. */
function predecessorsOf(members: readonly Node[], name: string): Set<string> {
  const preceding = new Set<string>();
  const queue = [name];
  for (let at = queue.pop(); at !== undefined; at = queue.pop()) {
    for (const before of members.find((candidate) => candidate.name === at)?.after ?? []) {
      if (preceding.has(before)) continue;
      preceding.add(before);
      queue.push(before);
    }
  }
  return preceding;
}
