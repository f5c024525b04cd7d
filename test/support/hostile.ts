/** What a hostile agent (test/fixtures/hostile) reports, and the table of it. */
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { z } from 'zod';

export const HOSTILE = path.resolve(import.meta.dirname, '../fixtures/hostile');

const results = z.array(
  z.object({
    name: z.string(),
    canaries: z.array(z.string()),
    effects: z.array(z.string()),
    wrote: z.array(z.string()),
    reasons: z.array(z.string()),
  }),
);
type Attempt = z.infer<typeof results>[number];

/** Returns a value to plant. Attempts look for this form, so that they find values wherever they are, but know none. */
export function canary(kind: string): string {
  return `canary-${kind}-${randomBytes(8).toString('hex')}`;
}

/** Parses what an agent reported. */
export function readAttempts(text: string): Attempt[] {
  return results.parse(JSON.parse(text));
}

/** The attempts by name, and which of them succeeded. */
export class AttemptTable {
  readonly #rows = new Map<string, { tried: number; readonly succeeded: string[] }>();

  get size(): number {
    return this.#rows.size;
  }

  /** `success`: what the attempt got or did; undefined if it failed. */
  add(name: string, way: string, success: string | undefined): void {
    const row = this.#rows.get(name) ?? { tried: 0, succeeded: [] };
    row.tried += 1;
    if (success !== undefined) row.succeeded.push(`${way}: ${success}`);
    this.#rows.set(name, row);
  }

  /** Prints the table, and returns the lines of attempts that succeeded. */
  print(place: string): string[] {
    const lines = Array.from(
      this.#rows,
      ([name, { tried, succeeded }]) =>
        `${name} | ${succeeded.length === 0 ? `refused, ${tried} of ${tried}` : `SUCCESS (${succeeded.join('; ')})`}`,
    );
    console.log([`attempt | ${place}`, ...lines].join('\n'));
    return lines.filter((line) => line.includes('SUCCESS'));
  }
}
