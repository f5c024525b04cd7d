/** `limits:` of an entry whose tools start processes. */
import type { z } from 'zod';
import { group, whole } from './values.ts';

export const processLimits = group(
  {
    memory_mb: whole(16, 2048)
      .optional()
      .describe(
        'Memory that each process may have, in MB. Linux only. A Node.js program needs 700 before it does anything.',
      ),
    cpu_seconds: whole(1, 60).optional().describe('Time that each process may compute, in seconds. Linux and macOS.'),
    file_mb: whole(1, 100).optional().describe('Size of each file that is written, in MB. Linux and macOS.'),
  },
  'a group of memory_mb, cpu_seconds, file_mb',
  '{ memory_mb: 2048, cpu_seconds: 60 }',
);
export type ProcessLimits = z.output<typeof processLimits>;
