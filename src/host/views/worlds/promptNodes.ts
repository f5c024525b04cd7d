/** Builds the items of a simulated world's prompt and of its parts. */
import { plural } from '../../../common/text.ts';
import type { PromptPartRef, SimulationRef } from '../../worlds/simulationRef.ts';
import type { ItemContent } from '../itemContent.ts';

export function promptItem({ domain, parts }: SimulationRef): ItemContent {
  return {
    label: 'Prompt',
    description: `${domain} · ${plural(parts.length, 'part')}`,
    tooltip: 'Show the prompt as the model gets it.\nReads what it is taken from, as a launch does.',
    icon: { id: 'comment-discussion' },
    context: 'worldPrompt',
    ariaLabel: `Prompt of the domain ${domain}, ${plural(parts.length, 'part')}`,
  };
}

export function partItem({ heading, about, place }: PromptPartRef): ItemContent {
  return {
    label: heading,
    description: about,
    tooltip: `${heading}: ${about}\n${place === undefined ? 'Show it in the prompt.' : place.path}`,
    icon: { id: place === undefined ? 'library' : 'note' },
    context: 'worldPromptPart',
    ariaLabel: `${heading}, ${about}`,
  };
}
