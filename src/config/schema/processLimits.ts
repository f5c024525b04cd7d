/** Schema of `limits:` for tools that start processes. */
import type { z } from 'zod';
import { group, whole } from './values.ts';

export const processLimits = group(
  {
    memory_mb: whole(16, 2048)
      .optional()
      .describe('Maximum memory of each process, in MB. Linux only. A Node.js program needs at least 700.'),
    cpu_seconds: whole(1, 60).optional().describe('Maximum CPU time of each process, in seconds. Linux and macOS.'),
    file_mb: whole(1, 100).optional().describe('Maximum size of each written file, in MB. Linux and macOS.'),
  },
  'a group of memory_mb, cpu_seconds, file_mb',
  '{ memory_mb: 2048, cpu_seconds: 60 }',
);
export type ProcessLimits = z.output<typeof processLimits>;
