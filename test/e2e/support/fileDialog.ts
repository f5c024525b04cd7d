/** VS Code's own dialogs for files, in which a path can be typed. */
import { until } from './poll.ts';
import type { Workbench } from './workbench.ts';

/** Types a path and accepts it. `offered`: what the dialog proposes by itself once it is ready; what is typed before that is lost. */
export async function answerFile({ input }: Workbench, offered: RegExp, file: string): Promise<void> {
  await input.waitFor({ timeout: 60_000 });
  await until(async () => offered.test(await input.inputValue()), 60_000, 'the dialog’s own proposal');
  await until(async () => {
    if ((await input.inputValue()) === file) return true;
    await input.fill(file);
    return false;
  }, 60_000, 'the typed path');
  await input.press('Enter');
}
