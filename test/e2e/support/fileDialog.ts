/** VS Code's own dialogs for files, in which a path can be typed. */
import { until } from './poll.ts';
import type { Workbench } from './workbench.ts';

/** A dialog that did not close after so long did not hear it. */
const AGAIN_MS = 2_000;

/**
 * Types a path and accepts it. `offered`: what the dialog proposes by itself once it is ready; what is typed before
 * that is lost.
 */
export async function answerFile({ input }: Workbench, offered: RegExp, file: string): Promise<void> {
  await input.waitFor({ timeout: 60_000 });
  await until(async () => offered.test(await input.inputValue()), 60_000, 'the dialog’s own proposal');
  await until(
    async () => {
      if ((await input.inputValue()) === file) return true;
      await input.fill(file);
      return false;
    },
    60_000,
    'the typed path',
  );
  // At once: whoever waits for a field to have a value waits for a dialog that is gone.
  const isOpen = async (): Promise<boolean> =>
    (await input.evaluateAll((inputs) => inputs.map((each) => (each as HTMLInputElement).value))).includes(file);
  // It takes nothing while it still reads the folder of what was typed.
  await until(
    async () => {
      await input.press('Enter', { timeout: AGAIN_MS }).catch(() => undefined);
      return until(async () => !(await isOpen()), AGAIN_MS).catch(() => false);
    },
    60_000,
    'the dialog to take it',
  );
}
