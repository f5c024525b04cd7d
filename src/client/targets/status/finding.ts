/** Findings about a target. */
import { errorText, StudioError } from '../../../common/errors.ts';

/** `unknown`: no permission to read it. */
type FindingState = 'ok' | 'missing' | 'wrong' | 'unknown';

export interface TargetFinding {
  readonly name:
    | 'cluster'
    | 'namespace'
    | 'security'
    | 'policy'
    | 'clock'
    | 'server'
    | 'user'
    | 'queue'
    | 'pods'
    | 'nodes'
    | 'gpus'
    | 'quota'
    | 'objects'
    | 'rights'
    | 'access'
    | 'limits'
    | 'network'
    | 'model'
    | 'outside';
  readonly state: FindingState;
  readonly text: string;
  readonly hint?: string;
  /** Machine-readable values. */
  readonly data?: Readonly<Record<string, unknown>>;
}

/** Returns the finding for a failed request. */
export function trouble(name: TargetFinding['name'], error: unknown): TargetFinding {
  if (!StudioError.is(error)) return { name, state: 'wrong', text: errorText(error) };
  const unreadable = error.code === 'forbidden' && name !== 'cluster' && name !== 'server';
  return {
    name,
    state: unreadable ? 'unknown' : 'wrong',
    text: unreadable ? `no permission to read: ${error.message}` : error.message,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  };
}

/** Returns a finding for an installation that a GitOps tool, its owner, keeps: `install` and `upgrade` refuse. */
export function forOwner(finding: TargetFinding, owner: string | undefined): TargetFinding {
  const { hint } = finding;
  if (owner === undefined || hint === undefined || !/rollout cluster (install|upgrade)/.test(hint)) return finding;
  return {
    ...finding,
    hint: `${hint} The installation is kept by ${owner}: there, render it again and commit it instead.`,
  };
}
