/** Opens the sandboxes of rollouts, where this machine has one. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { errorText, StudioError } from '../../common/errors.ts';
import { shortageOf } from '../../common/shortage.ts';
import { noSandbox } from '../../config/needs.ts';
import type { SubmittedSandbox } from '../../config/submission.ts';
import type { ProcessGroups } from '../processes/processGroups.ts';
import { openNamespaces } from './namespaces.ts';
import { Networks } from './network/networks.ts';
import type { Sandbox, View } from './sandbox.ts';
import { openSeatbelt } from './seatbelt.ts';

/** Whether this machine has a sandbox, and if not, why. */
export type SandboxSupport = { readonly works: true } | { readonly works: false; readonly reason: string };

const NO_GROUPS: ProcessGroups = { owner: '', add: () => undefined, remove: () => undefined };

let support: Promise<SandboxSupport> | undefined;

/**
 * Tries the sandbox of this machine, once per process: whether it works depends on the kernel and its settings. Throws
 * StudioError `unavailable` if the machine is too short of something to try.
 */
export function sandboxSupport(): Promise<SandboxSupport> {
  support ??= trySandbox().catch((error: unknown) => {
    support = undefined; // try again: it says nothing about this machine
    throw error;
  });
  return support;
}

/**
 * Opens a sandbox. Returns undefined if its policy is `off`, or if this machine has none and the policy does not
 * require one. Throws StudioError `config` if the policy requires one, and `unavailable` if it does not open although
 * this machine has one.
 */
export async function openSandbox(
  { mode }: Pick<SubmittedSandbox, 'mode'>,
  view: View,
  groups: ProcessGroups,
): Promise<Sandbox | undefined> {
  if (groups.toolServer !== undefined) return await groups.toolServer.openSandbox({ mode }, view, groups.owner);
  if (mode === 'off') return undefined;
  // The first one is its own trial: another one would double the time until the first call of a worker's tools.
  const first = support === undefined ? await openHere(view, groups).catch(() => undefined) : undefined;
  if (first !== undefined) {
    support ??= Promise.resolve({ works: true });
    return first;
  }
  const supported = await sandboxSupport();
  if (supported.works) return await openHere(view, groups);
  if (mode === 'required') throw noSandbox(supported.reason);
  return undefined;
}

async function openHere(view: View, groups: ProcessGroups): Promise<Sandbox> {
  switch (process.platform) {
    case 'linux':
      return await openNamespaces(view, groups);
    case 'darwin':
      return await openSeatbelt(view);
    default:
      throw new StudioError('unavailable', `${process.platform === 'win32' ? 'Windows' : process.platform} has none`);
  }
}

/** Returns why programs cannot have a filtered network here; undefined if they can, or if there is no sandbox. */
export async function filterProblem(): Promise<string | undefined> {
  if (!(await sandboxSupport()).works) return undefined;
  const networks = new Networks(NO_GROUPS);
  try {
    await networks.open([]);
    return undefined;
  } catch (error) {
    return errorText(error);
  } finally {
    await networks.close();
  }
}

async function trySandbox(): Promise<SandboxSupport> {
  try {
    const scratch = await mkdtemp(path.join(tmpdir(), 'rollout-sandbox-'));
    const view = { read: [], write: [], hide: [], caches: [], scratch, network: true };
    const sandbox = await openHere(view, NO_GROUPS);
    await sandbox.end();
    return { works: true };
  } catch (error) {
    if (shortageOf(error) !== undefined) throw new StudioError('unavailable', errorText(error), { cause: error });
    return { works: false, reason: errorText(error).replace(/^Cannot open a sandbox: |\.$/g, '') };
  }
}
