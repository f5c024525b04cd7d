/** The file of `--retention`: which ended batches a server removes or trims by itself. */
import { z } from 'zod';
import { duration, expects, fault, flag, parseDuration, text } from './values.ts';

const FACTORS: Readonly<Record<string, number>> = {
  '': 1,
  ...{ k: 1e3, M: 1e6, G: 1e9, T: 1e12 },
  ...{ Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3, Ti: 1024 ** 4 },
};

/** Parses `200Gi`, `500M`, or a number of bytes; undefined if it is invalid or 0. */
export function parseSize(written: string | number): number | undefined {
  const [, value, unit = ''] = /^\s*(\d+(?:\.\d+)?)\s*([kMGT]|[KMGT]i)?B?\s*$/.exec(String(written)) ?? [];
  const bytes = Math.round(Number(value) * (FACTORS[unit] ?? Number.NaN));
  return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : undefined;
}

const size = z
  .union([z.number(), z.string()], expects('a size: 200Gi, 500M, or a number of bytes', '200Gi'))
  .transform((value, context) => {
    const bytes = parseSize(value);
    if (bytes !== undefined) return bytes;
    context.addIssue({ code: 'custom', message: 'a size: 200Gi, 500M, or a number of bytes\n200Gi' });
    return z.NEVER;
  });

const conditions = {
  age: duration('30d').optional().describe('The batch ended at least so long ago.'),
  name: text('nightly-*').optional().describe('Its name; `*` stands for any text.'),
  user: text('ada').optional().describe('Who launched it.'),
  labeled: flag.optional().describe('Whether a person judged one of its attempts.'),
  shared: flag.optional().describe('Whether it is shared with others.'),
  imported: flag.optional().describe('Whether it was imported.'),
  stopped: flag.optional().describe('Whether it ended early: canceled, or by a stop rule.'),
};

const FOREVER_OR_DURATION = expects('forever, or a duration: 180d, 12h', '180d');

const keep = z.union([z.number(), z.string()], FOREVER_OR_DURATION).transform((value, context) => {
  if (value === 'forever') return value;
  const seconds = parseDuration(value);
  if (seconds !== undefined && seconds > 0) return seconds;
  context.addIssue({ code: 'custom', message: FOREVER_OR_DURATION.error });
  return z.NEVER;
});

const rule = z
  .strictObject({
    ...conditions,
    keep: keep
      .optional()
      .describe('How long to keep what fits after its end; then it is removed. `forever`: whatever its age and size.'),
    keep_trajectories: duration('30d')
      .optional()
      .describe(
        'How long to keep the trajectories of what fits after its end. They are dropped then; the results stay. ' +
          'Default: as long as the batch.',
      ),
    delete: z.literal(true, expects('true', 'true')).optional().describe('Remove what fits at once.'),
  })
  .superRefine((value, context) => {
    const { keep: kept, keep_trajectories: trajectories, age } = value;
    if (value.delete === true) {
      if (kept !== undefined)
        fault(context, 'a rule has either `keep` or `delete: true`', 'Remove one of them.', { path: ['delete'] });
      if (trajectories !== undefined)
        fault(
          context,
          'a rule that deletes keeps no trajectories',
          'Write `keep` with a duration instead of `delete`.',
          {
            path: ['keep_trajectories'],
          },
        );
      if (Object.keys(conditions).every((key) => !Object.hasOwn(value, key)))
        fault(context, 'this rule would remove every batch as soon as it ends', 'Add a condition, e.g. `age: 180d`.');
      return;
    }
    if (kept === undefined && trajectories === undefined)
      fault(
        context,
        'a rule needs `keep`, `keep_trajectories`, or `delete: true`',
        'Add one of them, e.g. `keep: 180d` or `keep: forever`.',
      );
    if (age !== undefined && (trajectories !== undefined || typeof kept === 'number'))
      fault(context, 'a duration of `keep` or `keep_trajectories` counts from the end of a batch', 'Remove `age`.', {
        path: ['age'],
      });
    if (typeof kept === 'number' && trajectories !== undefined && trajectories >= kept)
      fault(context, 'trajectories are kept at most as long as their batch', 'Make it shorter than `keep`.', {
        path: ['keep_trajectories'],
      });
  });

export const retentionFile = z.strictObject({
  version: z.literal(1, expects('1', '1')),
  rules: z
    .array(rule, expects('a list of rules', '[{ age: 180d, delete: true }]'))
    .default([])
    .describe('The first rule that fits an ended batch counts. One that no rule fits stays.'),
  max_bytes: size
    .optional()
    .describe(
      'Above this size, the oldest ended batches are trimmed, if they have `keep_trajectories`, and then removed, ' +
        'except labeled and shared ones.',
    ),
});
export type RetentionFile = z.output<typeof retentionFile>;
export type RetentionRule = RetentionFile['rules'][number];
