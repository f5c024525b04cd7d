/** VS Code's own file dialogs, which accept a typed path. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { until } from './poll.ts';
import type { Workbench } from './workbench.ts';

/** A dialog that has not closed by then missed the key. */
const AGAIN_MS = 2_000;

/**
 * Types a path and accepts it. `offered`: the dialog's own proposal once it is ready; anything typed before that is
 * lost.
 */
export async function answerFile({ input, picks }: Workbench, offered: RegExp, file: string): Promise<void> {
  await input.waitFor({ timeout: 60_000 });
  await until(async () => offered.test(await input.inputValue()), 60_000, 'the dialog’s own proposal');
  // Immediately: waiting for a field's value would wait for a dialog that is gone.
  const values = (): Promise<string[]> =>
    input.evaluateAll((inputs) => inputs.map((each) => (each as HTMLInputElement).value));
  // The dialog has read the folder once it lists what was typed, if that exists.
  const listed = picks.filter({ hasText: path.basename(file) }).first();
  const isOpen = async (): Promise<boolean> => (await values()).some((value) => path.isAbsolute(value));
  // While it still reads a folder, it ignores keys, and may put its own proposals over the typed path.
  await until(
    async () => {
      if (!(await isOpen())) return true;
      if (!(await values()).includes(file)) await input.fill(file, { timeout: AGAIN_MS }).catch(() => undefined);
      if (existsSync(file)) await listed.waitFor({ timeout: AGAIN_MS }).catch(() => undefined);
      if ((await isOpen()) && !(await values()).includes(file)) return false;
      await input.press('Enter', { timeout: AGAIN_MS }).catch(() => undefined);
      return until(async () => !(await isOpen()), AGAIN_MS).catch(() => false);
    },
    60_000,
    'the dialog to take the typed path',
  );
}
