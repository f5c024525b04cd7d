/** Source lines of the user's tools as of the submission, from its source maps. */
import { z } from 'zod';
import { StudioError } from '../../src/common/errors.ts';
import type { Place } from '../../src/trace/schema.ts';
import type { Blobs } from './blobs.ts';

const sourceMap = z.object({ sources: z.array(z.string()), sourcesContent: z.array(z.string().nullable()).optional() });
const moduleShape = z.object({ file: z.string(), map: z.string() });

export interface SourceLines {
  /** Number of the first line. */
  readonly first: number;
  readonly lines: readonly string[];
}

/** Returns the lines around a place; undefined if the submission does not contain the file. */
export async function sourceAround(
  blobs: Blobs,
  submission: string,
  place: Place,
  around: number,
): Promise<SourceLines | undefined> {
  try {
    for (const { map } of modulesIn(await blobs.json({ $blob: submission, bytes: 0 }))) {
      const { sources, sourcesContent } = sourceMap.parse(await blobs.json({ $blob: map, bytes: 0 }));
      const index = sources.findIndex((source) => source === place.file || source.endsWith(`/${place.file}`));
      const text = sourcesContent?.[index];
      if (text === undefined || text === null) continue;
      const first = Math.max(1, place.line - around);
      return { first, lines: text.split(/\r?\n/).slice(first - 1, place.line + Math.ceil(around / 2)) };
    }
    return undefined;
  } catch (error) {
    if (StudioError.is(error, 'not_found')) return undefined;
    throw error;
  }
}

/** Returns all modules that a submission contains, at any depth. */
function modulesIn(value: unknown): z.infer<typeof moduleShape>[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = moduleShape.safeParse(value);
  return own.success ? [own.data] : Object.values(value).flatMap(modulesIn);
}
