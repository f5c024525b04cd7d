/** The pages of a search world: rows of a database, read once when a batch is submitted. */
import { z } from 'zod';
import { json } from '../../trace/schema/parts.ts';

const factPage = z.object({
  table: z.string(),
  /** Of the table, from 1. */
  row: z.number().int().min(1),
  url: z.string(),
  title: z.string(),
  date: z.string().optional(),
  /** What snippets may be taken from, by column. */
  text: z.record(z.string(), z.string()),
  /** What only the page shows, by column. */
  answers: z.record(z.string(), z.union([z.string(), z.number()])),
});
export type FactPage = z.infer<typeof factPage>;

/** The blob with the pages of a world. */
export const factPages = z.object({ version: z.literal(1), pages: z.array(factPage) });

/** A table as it was read, with all its columns. */
export const sourceTable = z.object({
  name: z.string(),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  key: z.array(z.string()),
  rows: z.array(z.array(json)),
});
export type SourceTable = z.infer<typeof sourceTable>;
