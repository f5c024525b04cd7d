/** VS Code's own file dialogs, which accept a typed path. */
import { until } from './poll.ts';
import type { Workbench } from './workbench.ts';

/** A dialog that has not closed by then missed the key. */
const AGAIN_MS = 2_000;

/**
 * Types a path and accepts it. `offered`: the dialog's own proposal once it is ready; anything typed before that is
 * lost.
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
  // Immediately: waiting for a field's value would wait for a dialog that is gone.
  const isOpen = async (): Promise<boolean> =>
    (await input.evaluateAll((inputs) => inputs.map((each) => (each as HTMLInputElement).value))).includes(file);
  // It ignores keys while it still reads the folder of the typed path.
  await until(
    async () => {
      await input.press('Enter', { timeout: AGAIN_MS }).catch(() => undefined);
      return until(async () => !(await isOpen()), AGAIN_MS).catch(() => false);
    },
    60_000,
    'the dialog to take it',
  );
}
