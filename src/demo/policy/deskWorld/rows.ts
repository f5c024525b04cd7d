/** The rows of the sample's library, as the initial state of its simulation lists them. */
import { z } from 'zod';

const id = z.string();
const day = z.string();

const libraryRows = z.object({
  /** Today, for the rules of the desk: YYYY-MM-DD. */
  today: day,
  members: z.array(z.object({ id, name: z.string(), address: z.string(), card_expires: day })),
  books: z.array(z.object({ id, title: z.string(), author: z.string(), year: z.number() })),
  copies: z.array(z.object({ id, book_id: id })),
  loans: z.array(
    z.object({ id, copy_id: id, member_id: id, due: day, renewals: z.number(), returned: day.nullable() }),
  ),
  holds: z.array(z.object({ id, book_id: id, member_id: id, placed: day, status: z.string(), copy_id: id.nullable() })),
  fines: z.array(z.object({ id, member_id: id, reason: z.string(), cents: z.number(), paid: day.nullable() })),
});
export type LibraryRows = z.infer<typeof libraryRows>;

/**
 * Returns the library in a text: `Today is YYYY-MM-DD.`, and for each table a line `## NAME`, followed by its rows as
 * JSON objects, one per line. Returns undefined if the text has none.
 */
export function rowsIn(text: string): LibraryRows | undefined {
  const today = /^Today is (\d{4}-\d\d-\d\d)\./m.exec(text)?.[1];
  if (today === undefined) return undefined;
  const tables: Record<string, unknown[]> = {};
  let rows: unknown[] = [];
  for (const line of text.split('\n')) {
    const table = /^## (\w+)$/.exec(line)?.[1];
    if (table !== undefined) rows = tables[table] = [];
    else if (line.startsWith('{')) rows.push(rowIn(line));
  }
  return libraryRows.safeParse({ today, ...tables }).data;
}

function rowIn(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // no row, so the text has no library
  }
}
