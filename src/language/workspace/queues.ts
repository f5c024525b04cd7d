/** Finds the queues that a batch file may name: those of the server where it runs. */
import { isJsonObject } from '../../common/json.ts';
import type { Workspace } from '../workspace.ts';
import type { TargetQueues } from './facts.ts';

/** Returns undefined if they are not known. `batch`: the content of a batch file. */
export function queuesFor(
  workspace: Workspace,
  batch: unknown,
): (TargetQueues & { readonly named: string | undefined }) | undefined {
  if (!isJsonObject(batch)) return undefined;
  const { target, queue } = batch;
  const known = workspace.facts.queues(typeof target === 'string' ? target : undefined);
  return known === undefined ? undefined : { ...known, named: typeof queue === 'string' ? queue : undefined };
}
