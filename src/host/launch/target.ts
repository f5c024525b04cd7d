/** Asks where to launch a batch, if there is a choice. */
import { LOCAL } from '../../client/targets/local.ts';
import type { Answer, Choice } from '../window/questions/answer.ts';
import { pickOne, type StepPlace } from '../window/questions/dialogue.ts';

/** Returns the names of all targets, this machine first, or none if it is the only one. */
export async function targetNames(): Promise<readonly string[]> {
  const { TargetFile } = await import('../../client/targets/targetFile.ts');
  const names = [...new TargetFile().list().keys()];
  return names.length === 0 ? [] : [LOCAL, ...names];
}

/** Puts the batch file's target first, or else the window's current target. */
function targetChoices(names: readonly string[], fileTarget: string, current: string): Choice<string>[] {
  const first = fileTarget !== LOCAL && names.includes(fileTarget) ? fileTarget : current;
  const choice = (value: string): Choice<string> => {
    const notes = [
      value === LOCAL ? 'this machine' : '',
      value === fileTarget && value !== LOCAL ? 'from the file' : '',
      value === current ? 'in use' : 'the window switches to it',
    ].filter((part) => part !== '');
    return { label: value, description: notes.join(' · '), icon: value === LOCAL ? 'vm' : 'server-environment', value };
  };
  return [...names].sort((a, b) => Number(b === first) - Number(a === first)).map(choice);
}

export function askTarget(
  place: StepPlace,
  names: readonly string[],
  fileTarget: string,
  current: string,
): Promise<Answer<string>> {
  return pickOne(place, targetChoices(names, fileTarget, current), { placeholder: 'Select where to run' });
}
