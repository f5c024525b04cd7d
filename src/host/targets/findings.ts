/** The findings of `rollout target status`, and helpers to interpret them. */
import { StudioError } from '../../common/errors.ts';

export interface Finding {
  /** Subject: cluster, server, queue, … */
  readonly name: string;
  /** `unknown`: no permission to read it. */
  readonly state: 'ok' | 'missing' | 'wrong' | 'unknown';
  readonly text: string;
  /** How to fix it. */
  readonly hint?: string | undefined;
}

/** Returns whether the target has a server, or undefined if unknown. */
export function hasServer(findings: readonly Finding[] | undefined): boolean | undefined {
  const server = findings?.find(({ name }) => name === 'server');
  return server === undefined || server.state === 'unknown' ? undefined : server.state !== 'missing';
}

/** Returns the first problem that prevents using a target, except a missing server. */
export function blockingProblem(findings: readonly Finding[]): StudioError | undefined {
  const problem = findings.find(({ name, state }) => state === 'wrong' && (name === 'cluster' || name === 'server'));
  return problem === undefined
    ? undefined
    : new StudioError('unavailable', problem.text, problem.hint === undefined ? {} : { hint: problem.hint });
}
