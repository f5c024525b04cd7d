/** Stores what the pods of a copied batch used elsewhere. */
import { z } from 'zod';
import { damaged } from '../../protocol/archive.ts';
import { copiedUid } from '../logic/usage.ts';
import { quote, unquote } from '../sql/row.ts';
import { POD_USE } from '../sql/schema.ts';
import type { Row, Transaction, Value } from '../sql/sql.ts';

const MAX_MS = 366 * 24 * 60 * 60 * 1000;
/** Thousandths of CPUs and GPUs. */
const MAX_MILLI = 1e7;

const quoted = z.string().refine((text) => isQuoted(text));
const milli = z.int().min(0).max(MAX_MILLI);
/** The bounds keep sums exact. */
const podRow = z
  .object({
    uid: quoted,
    queue: quoted,
    owner: quoted,
    model: quoted,
    from_at: z.int().min(0),
    until_at: z.int(),
    cpus: milli,
    gpus: milli,
  })
  .refine(({ from_at: from, until_at: until }) => until >= from && until - from <= MAX_MS);

/** Throws `usage` for rows that are not valid. */
export async function insertPods(tx: Transaction, batch: string, rows: readonly Row[]): Promise<void> {
  const columns = Object.keys(POD_USE.columns);
  const values = rows.map((row) => {
    const { success, data } = podRow.safeParse(row);
    if (!success) throw damaged('the use of a pod is not valid');
    const uid = quote(copiedUid(batch, unquote(data.uid)));
    const own: Readonly<Record<string, Value>> = { ...data, uid, batch: quote(batch) };
    return columns.map((column) => own[column] ?? null);
  });
  await tx.insert(POD_USE, columns, values);
}

function isQuoted(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'string';
  } catch {
    return false;
  }
}
