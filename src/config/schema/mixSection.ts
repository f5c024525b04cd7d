/** The `mix` of a batch: shares of its attempts that sample differently, or have another prompt. */
import { z } from 'zod';
import { samplingSection } from './samplingSection.ts';
import { expects, fault, listOf, share, text } from './values.ts';

const NAME = expects('a name of at most 40 letters, digits, `-`, `_` and `.`', 'short');

export const PART_NAME = /^[A-Za-z0-9][\w.-]{0,39}$/;
export const MAX_PARTS = 20;

const part = z.strictObject({
  name: z
    .string(NAME)
    .regex(PART_NAME, NAME)
    .optional()
    .describe('Name of the part in lists, reports, and filters. Default: its number in the list.'),
  share: share('25%').describe('Share of the attempts of each task that are of this part. All add up to 100%.'),
  sampling: samplingSection
    .optional()
    .describe("Sampling parameters that replace the agent's, also those of the members of its team."),
  prompt: text('prompts/short.md', 'the prompt, or the path of a .md or .txt file')
    .optional()
    .describe(
      "The system prompt that replaces the agent's: inline, or the path of a `.md` or `.txt` file, relative to this " +
        'file.',
    ),
});

/** Shares are whole numbers of these, so that they add up exactly. */
export const SHARE_UNITS = 1_000_000;

export const mixSection = listOf(part, 'a list of parts, each with `share`', '[{ share: 100% }]')
  .min(1, expects('a list of at least one part', '[{ share: 100% }]'))
  .max(MAX_PARTS, expects(`a list of at most ${MAX_PARTS} parts`, '[{ share: 100% }]'))
  .superRefine((parts, context) => {
    const names = parts.map((each, index) => partName(each, index));
    for (const [index, name] of names.entries())
      if (names.indexOf(name) < index)
        fault(context, `two parts have the name \`${name}\``, 'Give each part its own name.', {
          path: [index, ...(parts[index]?.name === undefined ? [] : ['name'])],
          code: 'conflict',
        });
  });
export type MixSection = z.output<typeof mixSection>;

/** Returns the name of a part: its own, or its number, from 1. */
export function partName({ name }: { readonly name?: string | undefined }, index: number): string {
  return name ?? String(index + 1);
}

/** Returns a share, from 0 to 1, as a whole number of `SHARE_UNITS`. */
export function shareUnits(value: number): number {
  return Math.round(value * SHARE_UNITS);
}
