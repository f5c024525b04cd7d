/** VS Code's debug views as a person uses them. */
import type { Locator, Page } from 'playwright-core';
import { until } from './poll.ts';
import type { Workbench } from './workbench.ts';

export type DebugMove = 'continue' | 'step-over' | 'step-into' | 'step-out' | 'step-back';

export class Debugging {
  readonly #code: () => { readonly page: Page; readonly workbench: Workbench };

  constructor(code: () => { readonly page: Page; readonly workbench: Workbench }) {
    this.#code = code;
  }

  get #page(): Page {
    return this.#code().page;
  }

  frame(name: string | RegExp): Locator {
    return this.#page.locator('.debug-call-stack .stack-frame').filter({ hasText: name }).first();
  }

  variable(name: RegExp): Locator {
    return this.#page.locator('.debug-variables .monaco-list-row').filter({ hasText: name }).first();
  }

  get ended(): Locator {
    return this.#page.getByText('End of the trajectory').first();
  }

  async move(move: DebugMove): Promise<void> {
    await this.#page.locator(`.debug-toolbar .codicon-debug-${move}`).click();
  }

  /**
   * Types a value over a variable's. The view is redrawn when the editor requests values again, which removes the
   * field: then it is opened again.
   */
  async setVariable(name: RegExp, value: string, shown: RegExp): Promise<void> {
    const field = this.#page.locator('.debug-variables input').filter({ visible: true });
    await until(
      async () => {
        try {
          await this.variable(name).dblclick({ timeout: 2_000 });
          await field.fill(value, { timeout: 2_000 });
          await field.press('Enter', { timeout: 2_000 });
          await this.variable(shown).waitFor({ timeout: 5_000 });
          return true;
        } catch {
          return false;
        }
      },
      60_000,
      `${value} in the variables`,
    );
  }

  /** Sets a conditional breakpoint on a line of a file. */
  async breakAt(file: string, line: number, condition: string): Promise<void> {
    const { page, workbench } = this.#code();
    await workbench.openFile(file);
    await page.keyboard.press('Control+G');
    await workbench.answer(`:${line}`);
    await workbench.atLine(line).waitFor();
    await workbench.command('Debug: Add Conditional Breakpoint...');
    // It takes the keyboard only after it is visible; until then, keys would change the file.
    await page.locator('.breakpoint-widget .inputContainer .monaco-editor.focused').waitFor();
    await page.keyboard.type(condition);
    await page.keyboard.press('Enter');
    await page
      .locator('.codicon-debug-breakpoint-conditional, .codicon-debug-breakpoint-conditional-unverified')
      .first()
      .waitFor();
  }

  /** Presses F5 on a batch file and waits for the first stop. */
  async launch(file: string): Promise<void> {
    const { page, workbench } = this.#code();
    await workbench.openFile(file);
    await page.keyboard.press('F5');
    await page.locator('.debug-toolbar').waitFor({ timeout: 90_000 });
    await page.keyboard.press('Control+Shift+D'); // its badge covers the icon
    await this.frame('step 1').waitFor({ timeout: 90_000 });
  }
}
