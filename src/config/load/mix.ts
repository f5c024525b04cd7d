/** Checks of the mix of a batch: its shares, its prompts, and whether the agent has what they replace. */

import { type MixSection, SHARE_UNITS, shareUnits } from '../schema/mixSection.ts';
import type { ParsedFile } from '../source/parse.ts';
import type { AgentParts } from './agent.ts';
import type { DatasetLook } from './dataset.ts';
import { checkPlaceholders } from './placeholders.ts';
import type { PromptText, Reading } from './reading.ts';
import { worksItself } from './team.ts';

/** Reads the prompts of the parts; undefined if one cannot be read. */
export async function readMix(
  reading: Reading,
  parsed: ParsedFile,
  mix: MixSection,
  agent: AgentParts | undefined,
  tasks: DatasetLook['head'],
): Promise<(PromptText | undefined)[] | undefined> {
  checkShares(reading, parsed, mix);
  const prompts: (PromptText | undefined)[] = [];
  let whole = true;
  for (const [index, { prompt: written, sampling }] of mix.entries()) {
    const at = ['mix', index, 'prompt'];
    const prompt = written === undefined ? undefined : await reading.prompt(parsed, at, written);
    prompts.push(prompt);
    if (written !== undefined && prompt === undefined) whole = false;
    if (prompt !== undefined) checkPlaceholders(reading, parsed, at, prompt, tasks, { mayKnowAnswer: false });
    if (agent === undefined) continue;
    if (written !== undefined && !worksItself(agent.value))
      reading.report(parsed, at, {
        code: 'conflict',
        message: 'the members of the team do all the work, so the agent has no prompt to replace',
        hint: 'Set `sampling`, or choose an agent that works itself.',
        fixes: [{ do: 'remove', path: at }],
      });
    const [tokens, most] = [sampling?.max_tokens, agent.value.limits?.tokens];
    if (tokens !== undefined && most !== undefined && tokens > most)
      reading.report(parsed, ['mix', index, 'sampling', 'max_tokens'], {
        code: 'conflict',
        message: `a reply may have ${tokens} tokens, but the whole rollout only ${most}`,
        hint: 'Decrease `max_tokens`, or increase `limits.tokens` in the agent file.',
      });
  }
  return whole ? prompts : undefined;
}

/** Reports a part without a share, and shares that do not add up. */
function checkShares(reading: Reading, parsed: ParsedFile, mix: MixSection): void {
  const units = mix.map(({ share }) => shareUnits(share));
  const none = units.findIndex((share) => share < 1);
  if (none !== -1) {
    reading.report(parsed, ['mix', none, 'share'], {
      code: 'value',
      message: 'no attempt is of a part with a share of 0',
      hint: 'Remove the part, or increase its share.',
    });
    return;
  }
  const sum = units.reduce((total, share) => total + share, 0);
  if (sum === SHARE_UNITS) return;
  const last = (units.at(-1) ?? 0) + SHARE_UNITS - sum;
  const at = ['mix', mix.length - 1, 'share'];
  reading.report(parsed, at, {
    code: 'conflict',
    message: `the shares of the parts add up to ${percent(sum)}, not 100%`,
    hint: last > 0 ? `For example, write \`share: ${percent(last)}\` here.` : 'Decrease the other shares.',
    ...(last > 0 ? { fixes: [{ do: 'replace' as const, text: percent(last) }] } : {}),
  });
}

function percent(units: number): string {
  return `${Number(((units / SHARE_UNITS) * 100).toFixed(4))}%`;
}
