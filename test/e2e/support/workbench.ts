/** The workbench as a page object: what a person sees and presses. */
import type { FrameLocator, Locator, Page } from 'playwright-core';

const QUICK_INPUT = '.quick-input-widget:not([style*="display: none"])';
const ROWS = `${QUICK_INPUT} .quick-input-list .monaco-list-row`;
const ATTEMPTS = 5;

export class Workbench {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  /** Waits until editors and views are restored and extensions are known. */
  async ready(): Promise<void> {
    await this.page.locator('.monaco-workbench .part.statusbar').waitFor({ timeout: 60_000 });
    await this.page.waitForFunction(
      () =>
        ['code/LifecyclePhase/Restored', 'code/didLoadExtensions'].every(
          (mark) => performance.getEntriesByName(mark).length > 0,
        ),
      undefined,
      { timeout: 60_000 },
    );
  }

  // ---- palette and quick input

  /** Runs a command by its full title ("Rollout: Show Log") through the palette. */
  async command(title: string): Promise<void> {
    // The list is filtered a moment after typing, and a late change of focus closes it: look for the row, else try
    // again.
    for (let attempt = 1; ; attempt += 1) {
      await this.#quickOpen(`>${title}`, 'F1');
      try {
        await this.#row(title).click({ timeout: 5_000 });
        return;
      } catch (error) {
        if (attempt === ATTEMPTS) throw error;
        await this.page.keyboard.press('Escape');
      }
    }
  }

  /** Whether the palette offers a command now. */
  async offers(title: string): Promise<boolean> {
    await this.#quickOpen(`>${title}`, 'F1');
    const label = await Promise.any([
      this.#row(title)
        .waitFor({ timeout: 10_000 })
        .then(() => true),
      this.page
        .locator(ROWS)
        .filter({ hasText: /No matching|similar commands/i })
        .first()
        .waitFor({ timeout: 10_000 })
        .then(() => false),
    ]).catch(() => false);
    await this.page.keyboard.press('Escape');
    return label;
  }

  /** The open input: a quick pick or an input box. */
  get input(): Locator {
    return this.page.locator(`${QUICK_INPUT} .quick-input-box input`);
  }

  /** The label of the open input. */
  get inputTitle(): Locator {
    return this.page.locator(`${QUICK_INPUT} .quick-input-title`);
  }

  /** Types into the open input and accepts. */
  async answer(text: string): Promise<void> {
    await this.input.fill(text);
    await this.input.press('Enter');
  }

  /** Answers the input box that follows a quick pick, in which the answer would filter the rows. */
  async answerNext(text: string): Promise<void> {
    await this.picks.first().waitFor({ state: 'hidden' });
    await this.answer(text);
  }

  /** Picks a row of the open quick pick: by its exact label, or the first one that matches. */
  async pick(label: string | RegExp): Promise<void> {
    await this.#choose(typeof label === 'string' ? this.#row(label) : this.picks.filter({ hasText: label }).first());
  }

  /** Returns to the previous question. */
  async back(): Promise<void> {
    await this.page.locator(QUICK_INPUT).getByRole('button', { name: 'Back' }).click();
  }

  /** Picks the first row with each text, in one quick pick after the other. They may take `patienceMs` to come. */
  async pickEach(texts: readonly (string | RegExp)[], patienceMs: number): Promise<void> {
    for (const text of texts) await this.#choose(this.picks.filter({ hasText: text }).first(), patienceMs);
  }

  /** The rows of the open quick pick. */
  get picks(): Locator {
    return this.page.locator(ROWS);
  }

  async #choose(row: Locator, patienceMs?: number): Promise<void> {
    await this.page.mouse.move(0, 0); // the hover of one row would cover others
    await row.click(patienceMs === undefined ? {} : { timeout: patienceMs });
  }

  #row(label: string): Locator {
    return this.page
      .locator(ROWS)
      .filter({ has: this.page.locator('.label-name').getByText(label, { exact: true }) })
      .first();
  }

  async #quickOpen(text: string, key: string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.page.keyboard.press(key);
        await this.input.fill(text, { timeout: 10_000 });
        return;
      } catch (error) {
        if (attempt === ATTEMPTS) throw error;
        await this.page.keyboard.press('Escape');
      }
    }
  }

  /** An entry of the open menu, by its whole title. */
  menuItem(title: string | RegExp): Locator {
    return this.page
      .locator('.monaco-menu .action-item')
      .filter({ has: this.page.locator('.action-label').getByText(title, { exact: true }) })
      .first();
  }

  /** Chooses an entry of the open menu. A menu ignores clicks right after it opens. */
  async chooseFromMenu(title: string | RegExp): Promise<void> {
    const item = this.menuItem(title);
    await item.waitFor();
    for (let attempt = 1; await item.isVisible(); attempt += 1) {
      try {
        await item.click({ timeout: 5_000 });
        await item.waitFor({ state: 'hidden', timeout: 3_000 });
      } catch (error) {
        if (attempt === ATTEMPTS) throw error;
      }
    }
  }

  // ---- messages

  toast(text: string | RegExp): Locator {
    return this.page.locator('.notifications-toasts .notification-list-item').filter({ hasText: text }).first();
  }

  /** Presses a button of a toast. */
  async toastButton(text: string | RegExp, button: string | RegExp): Promise<void> {
    await this.page
      .locator('.notification-toast')
      .filter({ hasText: text })
      .getByRole('button', { name: button, exact: true })
      .click();
  }

  async clearToasts(): Promise<void> {
    await this.command('Notifications: Clear All Notifications');
  }

  /** A modal dialog. */
  dialog(text: string | RegExp): Locator {
    return this.page.locator('.monaco-dialog-box').filter({ hasText: text });
  }

  /** Trusts the folder of a VS Code that was started with `trusted: false`, in Restricted Mode. */
  async trust(): Promise<void> {
    await this.statusBar('Restricted Mode').click();
    await this.page.locator('.workspace-trust-editor').getByRole('button', { name: 'Trust', exact: true }).click();
    await this.statusBar('Restricted Mode').waitFor({ state: 'hidden' });
  }

  statusBar(text: string | RegExp): Locator {
    return this.page.locator('.statusbar-item').filter({ hasText: text }).first();
  }

  // ---- editors

  /** Opens a file of the workspace through Quick Open. */
  async openFile(name: string): Promise<void> {
    const base = name.split('/').at(-1) ?? name;
    for (let attempt = 1; ; attempt += 1) {
      await this.#quickOpen(name, 'Control+P');
      try {
        await this.page
          .locator(`${QUICK_INPUT} .monaco-list-row[aria-label^="${base}"]`)
          .first()
          .click({ timeout: 5_000 });
        await this.tab(base).waitFor({ timeout: 10_000 }); // rows may move under the click
        break;
      } catch (error) {
        if (attempt === ATTEMPTS) throw error;
        await this.page.keyboard.press('Escape');
      }
    }
    await this.editorFocused();
  }

  /** Waits until the active editor takes the keyboard, which is after it is visible. */
  async editorFocused(): Promise<void> {
    await this.page.locator('.editor-group-container.active .monaco-editor.focused').first().waitFor();
  }

  /** Saves the active editor, and waits until that is done. */
  async save(): Promise<void> {
    await this.command('File: Save');
    await this.page.locator('.editor-group-container.active .tab.active:not(.dirty)').waitFor();
  }

  /** The active tab, by a part of its title. */
  tab(title: string | RegExp): Locator {
    return this.page.locator('.editor-group-container.active .tab.active').filter({ hasText: title });
  }

  codeLens(text: string | RegExp): Locator {
    return this.page.locator('.codelens-decoration a').filter({ hasText: text }).first();
  }

  /** The squiggles in the active editor. */
  squiggle(severity: 'error' | 'warning'): Locator {
    return this.page.locator(`.editor-group-container.active .squiggly-${severity}`).first();
  }

  /** Puts the cursor at the first match of a text in the active editor, with Find. */
  async goTo(text: string): Promise<void> {
    await this.page.keyboard.press('Control+Home');
    await this.page.keyboard.press('Control+F');
    const input = this.page.locator('.editor-group-container.active .find-widget.visible textarea').first();
    await input.fill(text);
    await this.page
      .locator('.editor-group-container.active .find-widget.visible .matchesCount')
      .getByText(/^1 of/)
      .waitFor();
    await input.press('Escape');
    await this.page.locator('.editor-group-container.active .find-widget.visible').waitFor({ state: 'hidden' });
  }

  /** The cursor's current line; `atLine` waits for one. */
  async cursorLine(): Promise<number> {
    const text = await this.statusBar(/Ln \d+, Col \d+/).innerText();
    return Number(/Ln (\d+)/.exec(text)?.[1]);
  }

  /** Resolves once the cursor is in this line. */
  atLine(line: number): Locator {
    return this.statusBar(new RegExp(`Ln ${line}, Col`));
  }

  /** The document of the front webview: page > its service worker's frame > the active frame. */
  webview(): FrameLocator {
    return this.page.frameLocator('iframe.webview.ready:visible').frameLocator('iframe#active-frame');
  }

  // ---- side bar

  /** Opens a container of the activity bar. */
  async openView(title: string): Promise<void> {
    const label = `a.action-label[aria-label^="${title}"]`;
    const item = this.page
      .locator('.activitybar .action-item')
      .filter({ has: this.page.locator(label) })
      .first();
    // A click on the open container closes it.
    if (!(await item.evaluate((element) => element.classList.contains('checked')))) await item.locator(label).click();
  }

  /** A row of a tree: by its exact accessible name, or by a pattern. */
  treeItem(name: string | RegExp): Locator {
    return this.page.getByRole('treeitem', typeof name === 'string' ? { name, exact: true } : { name }).first();
  }

  /** A row of the Testing view. */
  testItem(name: string | RegExp): Locator {
    return this.page.locator('.test-explorer .monaco-list-row').filter({ hasText: name }).first();
  }

  /**
   * Parks the mouse, so that no tooltip is in the picture. `part`: the size of the cutout, from the upper left corner.
   */
  async picture(file: string, part?: { readonly width: number; readonly height: number }): Promise<void> {
    const { width, height } = this.page.viewportSize() ?? { width: 0, height: 0 };
    await this.page.mouse.move(width / 2, height - 2);
    await this.page.screenshot({ path: file, ...(part === undefined ? {} : { clip: { x: 0, y: 0, ...part } }) });
  }
}
