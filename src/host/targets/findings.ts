/** What `rollout target status` finds of a target, and what follows from it. */
import { StudioError } from '../../common/errors.ts';

export interface Finding {
  /** What it is about: cluster, server, queue, … */
  readonly name: string;
  /** `unknown`: it may not be read. */
  readonly state: 'ok' | 'missing' | 'wrong' | 'unknown';
  readonly text: string;
  /** What to do about it. */
  readonly hint?: string | undefined;
}

/** Whether there is a server in the target; undefined: that is not known. */
export function hasServer(findings: readonly Finding[] | undefined): boolean | undefined {
  const server = findings?.find(({ name }) => name === 'server');
  return server === undefined || server.state === 'unknown' ? undefined : server.state !== 'missing';
}

/** The first thing that keeps a target from being used, but that its server is missing. */
export function troubleOf(findings: readonly Finding[]): StudioError | undefined {
  const found = findings.find(({ name, state }) => state === 'wrong' && (name === 'cluster' || name === 'server'));
  return found === undefined
    ? undefined
    : new StudioError('unavailable', found.text, found.hint === undefined ? {} : { hint: found.hint });
}
