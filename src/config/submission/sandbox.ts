import { z } from 'zod';
import { DEFAULTS } from '../defaults.ts';
import { MODULE_PROCESSES, SANDBOX_MODES } from '../schema/sandboxSection.ts';

/** Where the programs that a rollout's tools start run (see `tools/sandbox`). Paths are absolute. */
export const submittedSandbox = z.object({
  mode: z.enum(SANDBOX_MODES),
  network: z.union([z.boolean(), z.literal('filtered')]),
  /** Addresses that a filtered network reaches besides the public internet. */
  allow: z.array(z.string()).optional(),
  /** What programs may read, and what they may also change, besides the working directory. */
  read: z.array(z.string()),
  write: z.array(z.string()),
  /** What programs never see: the dataset, which has the expected answers. */
  hide: z.array(z.string()),
  modules: z.enum(MODULE_PROCESSES).default(DEFAULTS.sandbox.modules),
});
export type SubmittedSandbox = z.infer<typeof submittedSandbox>;

/** Without `sandbox` in a batch file. */
export const DEFAULT_SANDBOX: SubmittedSandbox = { ...DEFAULTS.sandbox, read: [], write: [], hide: [] };
