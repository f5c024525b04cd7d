/** Where a batch is launched: asked only where there is something to choose. */
import { LOCAL } from '../../client/targets/local.ts';
import type { Answer } from '../window/questions/answer.ts';
import type { Choice } from '../window/questions/choice.ts';
import { pickOne, type StepPlace } from '../window/questions/dialogue.ts';

/** All there is to choose from, this machine first; nothing when it is the only one. */
export async function targetNames(): Promise<readonly string[]> {
  const { TargetFile } = await import('../../client/targets/targetFile.ts');
  const names = [...new TargetFile().list().keys()];
  return names.length === 0 ? [] : [LOCAL, ...names];
}

/** `named`: by the batch file. `used`: what the window works with. The batch file's comes first, else the window's. */
export function targetChoices(names: readonly string[], named: string, used: string): Choice<string>[] {
  const first = named !== LOCAL && names.includes(named) ? named : used;
  const choice = (value: string): Choice<string> => {
    const said = [
      value === LOCAL ? 'this machine' : '',
      value === named && value !== LOCAL ? 'from the file' : '',
      value === used ? 'in use' : 'the window switches to it',
    ].filter((part) => part !== '');
    return { label: value, description: said.join(' · '), icon: value === LOCAL ? 'vm' : 'server-environment', value };
  };
  return [...names].sort((a, b) => Number(b === first) - Number(a === first)).map(choice);
}

export function askTarget(
  place: StepPlace,
  names: readonly string[],
  named: string,
  used: string,
): Promise<Answer<string>> {
  return pickOne(place, targetChoices(names, named, used), { placeholder: 'Select where to run' });
}
