/** What the process that runs SQL is asked for the facts of a world, and what it answers. */
import { z } from 'zod';
import { sourceTable } from '../../../config/facts/pages.ts';
import { json } from '../../../trace/schema/parts.ts';

export const factsRequest = z.union([
  z.object({ script: z.string() }),
  z.object({
    tables: z.array(sourceTable),
    queries: z.array(z.object({ sql: z.string(), values: z.array(z.union([z.string(), z.number(), z.null()])) })),
  }),
]);
export type FactsRequest = z.infer<typeof factsRequest>;

export const scriptResult = z.union([
  z.object({ tables: z.array(sourceTable) }),
  z.object({ wrong: z.string(), line: z.number() }),
]);

export const queryResults = z.object({
  results: z.array(
    z.union([
      z.object({ columns: z.array(z.string()), rows: z.array(z.array(json)) }),
      z.object({ error: z.string() }),
    ]),
  ),
});
