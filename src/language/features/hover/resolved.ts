/** Resolves values in shorthand notation: `15 min`, `200k`, `50%`. */

import type { FileKind } from '../../../common/fileKinds.ts';
import { agentFile } from '../../../config/schema/agentFile.ts';
import { batchFile } from '../../../config/schema/batchFile.ts';
import { parseDuration, parseShare } from '../../../config/schema/values.ts';
import { worldFile } from '../../../config/schema/worldFile.ts';
import type { Path } from '../../../config/source/parse.ts';
import { valueAt } from '../../workspace/valueAt.ts';

const SCHEMAS = { agent: agentFile, batch: batchFile, world: worldFile } as const;

export function resolvedText(kind: FileKind, path: Path, root: unknown): string | undefined {
  const [top, ...below] = path;
  const shape: Readonly<Record<string, { safeParse(value: unknown): { success: boolean; data?: unknown } }>> =
    SCHEMAS[kind].shape;
  if (typeof top !== 'string' || typeof root !== 'object' || root === null) return undefined;
  const section = (root as Readonly<Record<string, unknown>>)[top];
  const written = valueAt(section, below);
  const schema = Object.hasOwn(shape, top) ? shape[top] : undefined;
  if (typeof written !== 'string' || schema === undefined) return undefined;
  // If the file has errors, resolve the value alone.
  const parsed = [
    section,
    below.reduceRight<unknown>((inner, step) => (typeof step === 'number' ? [inner] : { [step]: inner }), written),
  ]
    .map((candidate) => schema.safeParse(candidate))
    .find(({ success }) => success);
  const value = valueAt(parsed?.data, below);
  if (typeof value !== 'number') return undefined;
  const number = value.toLocaleString('en', { maximumFractionDigits: 6 });
  if (/%\s*$/.test(written) && parseShare(written) === value) return `= ${number}`;
  return parseDuration(written) === value && /[a-z]/i.test(written) ? `= ${number} seconds` : `= ${number}`;
}
