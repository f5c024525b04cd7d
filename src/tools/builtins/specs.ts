/** What the built-in tools say of themselves, without any rollout. */
import os from 'node:os';
import type { ToolSpec } from '../../rollout/ports.ts';
import { createToolPools } from '../pools.ts';
import { type BuiltinName, openBuiltin } from './open.ts';

/** Settings in which a set says all it may say; nothing is asked of these addresses. */
const SETTINGS = {
  search: { provider: 'searxng', url: 'http://localhost' },
  vision: { endpoint: 'http://localhost', model: '' },
  audio: { endpoint: 'http://localhost', model: '' },
} as const;

/** The tools of a set. Nothing is started for it. */
export async function builtinSpecs(name: BuiltinName): Promise<readonly ToolSpec[]> {
  const directory = os.tmpdir();
  const pools = createToolPools({
    directory,
    env: {},
    processGroups: { owner: '', add: () => undefined, remove: () => undefined },
  });
  const host = openBuiltin(
    name,
    { cwd: directory, pools, readBlob: () => Promise.reject(new Error('there are no blobs here')) },
    SETTINGS,
  );
  try {
    return host.specs;
  } finally {
    await host.close();
    await pools.close();
  }
}
