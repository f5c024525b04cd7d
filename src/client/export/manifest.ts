/** The manifest next to an exported file: what was taken, what was left out and why, and by which rules. */
import type { JsonObject } from '../../common/json.ts';
import { PRODUCT } from '../../common/product.ts';
import type { BatchRow } from '../../protocol/client.ts';
import type { Selection } from '../../trace/selection/selection.ts';

export interface ManifestFacts {
  readonly format: string;
  readonly batches: readonly BatchRow[];
  readonly selection: Selection;
  /** Absent for formats without the rule. */
  readonly null_reward?: string;
  readonly taken: { readonly attempts: number; readonly groups: number; readonly lines: number };
  readonly left_out: {
    readonly attempts: Readonly<Record<string, number>>;
    readonly parts: Readonly<Record<string, number>>;
  };
  readonly redaction: Readonly<Record<string, number>>;
  readonly files: readonly { readonly name: string; readonly bytes: number; readonly sha256: string }[];
}

/** Returns the text of the manifest. It has no times, so the same export gives the same text. */
export function manifestText({ batches, left_out: leftOut, redaction, ...facts }: ManifestFacts): string {
  const manifest = {
    schema: 1,
    product: PRODUCT,
    batches: batches.map(({ batch, name }) => ({ batch, name })),
    ...facts,
    left_out: { attempts: sorted(leftOut.attempts), parts: sorted(leftOut.parts) },
    redaction: sorted(redaction),
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/** Attempts are read at the same time, so their reasons may come in another order. */
function sorted(counts: Readonly<Record<string, number>>): JsonObject {
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)));
}
