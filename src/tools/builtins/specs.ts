/** Describes the built-in tools without a rollout. */
import os from 'node:os';
import { DEFAULT_SANDBOX } from '../../config/submission.ts';
import type { ToolSpec } from '../../rollout/ports.ts';
import { createToolPools } from '../pools.ts';
import { type BuiltinName, openBuiltin } from './open.ts';

/** Placeholder settings; no requests are sent. */
const SETTINGS = {
  search: { provider: 'searxng', url: 'http://localhost' },
  vision: { endpoint: 'http://localhost', model: '' },
  audio: { endpoint: 'http://localhost', model: '' },
} as const;

/** Returns the tools of a set without starting anything. */
export async function builtinSpecs(name: BuiltinName): Promise<readonly ToolSpec[]> {
  const directory = os.tmpdir();
  const pools = createToolPools({
    directory,
    work: directory,
    env: {},
    processGroups: { owner: '', add: () => undefined, remove: () => undefined },
  });
  const host = openBuiltin(
    name,
    {
      cwd: directory,
      pools,
      sandbox: DEFAULT_SANDBOX,
      readBlob: () => Promise.reject(new Error('no blobs available')),
    },
    SETTINGS,
  );
  try {
    return host.specs;
  } finally {
    await host.close();
    await pools.close();
  }
}
