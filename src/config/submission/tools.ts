/** Tools of a submission, as an agent or a world names them. */
import { z } from 'zod';
import { builtinSettings } from '../schema/builtinSettings.ts';
import { processLimits } from '../schema/processLimits.ts';
import { BUILTINS } from '../schema/toolEntry.ts';
import { needs, position, submittedModels, submittedModule } from './parts.ts';

export const submittedTools = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('module'),
    module: submittedModule,
    secrets: z.record(z.string(), z.string()).optional(),
    models: submittedModels,
    position: position.optional(),
    needs,
  }),
  z.object({
    kind: z.literal('mcp'),
    name: z.string(),
    position: position.optional(),
    needs,
    limits: processLimits.optional(),
    server: z.union([
      z.object({
        command: z.string(),
        args: z.array(z.string()),
        env: z.record(z.string(), z.string()),
        cwd: z.string().optional(),
      }),
      z.object({ url: z.string(), headers: z.record(z.string(), z.string()) }),
    ]),
    /** One connection for all rollouts of a worker instead of one each. */
    shared: z.boolean(),
    /** Tools to use. Default: all. */
    tools: z.array(z.string()).optional(),
  }),
  z.object({
    kind: z.literal('builtin'),
    name: z.enum(BUILTINS),
    settings: builtinSettings.optional(),
    limits: processLimits.optional(),
    position: position.optional(),
    needs,
  }),
]);
export type SubmittedTools = z.infer<typeof submittedTools>;
