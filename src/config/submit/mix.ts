import type { LoadedBatch } from '../load.ts';
import { relative } from '../paths.ts';
import { type MixSection, partName, shareUnits } from '../schema/mixSection.ts';
import type { SubmittedPart } from '../submission/mix.ts';
import { submittedSampling } from './sections.ts';

/** Returns the parts of a mix, with the prompts that they name. */
export function submittedMix(
  mix: MixSection,
  { mixPrompts = [], root }: Pick<LoadedBatch, 'mixPrompts' | 'root'>,
): SubmittedPart[] {
  return mix.map((part, index): SubmittedPart => {
    const prompt = mixPrompts[index];
    const file = prompt?.path === undefined ? {} : { file: relative(root, prompt.path) };
    return {
      name: partName(part, index),
      share: shareUnits(part.share),
      ...(part.sampling === undefined ? {} : { sampling: submittedSampling(part.sampling) }),
      ...(prompt === undefined ? {} : { prompt: { text: prompt.text, ...file } }),
    };
  });
}
