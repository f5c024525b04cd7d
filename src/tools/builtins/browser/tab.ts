/**
 * One tab of a browser, with the actions on its page. Adds refs, and errors and notes for agents, to Playwright's.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Dialog, errors, type FileChooser, type Locator, type Page, type Request } from 'playwright-core';
import { ClassedError } from '../../../trace/classedError.ts';
import { plainMessage, shortMessage } from './playwrightErrors.ts';
import { accessibleTree, snapshotText } from './snapshot.ts';

const LOAD_MS = 30_000;
/** How long to wait until an element can be used. */
const ACTION_MS = 5000;
/** How long to wait after an action for its effects, such as loading a page, to start. */
const SETTLE_MS = 100;
const POLL_MS = 100;
const HUNG_MS = 2000;
const REF = /^(f\d+)?e\d+$/;

/** An HTMLSelectElement. */
interface OptionList {
  readonly selectedOptions: Iterable<{ readonly label: string }>;
}

export class Tab {
  readonly #notes: string[];
  readonly #onPopup: (page: Page) => void;
  readonly #onClosed: (tab: Tab) => void;
  #page: Page;
  #crashed = false;
  /** The pending request for the next page. */
  #next: Request | undefined;
  /** The open file dialog, if the page waits for files. */
  #chooser: FileChooser | undefined;

  constructor(page: Page, notes: string[], onPopup: (page: Page) => void, onClosed: (tab: Tab) => void) {
    this.#notes = notes;
    this.#onPopup = onPopup;
    this.#onClosed = onClosed;
    this.#page = page;
    this.#follow(page);
  }

  get crashed(): boolean {
    return this.#crashed;
  }

  async info(): Promise<{ readonly title: string; readonly url: string }> {
    // A page that hangs does not return its title.
    return { title: await Promise.race([this.#page.title(), delay(HUNG_MS, '')]), url: this.#page.url() };
  }

  async navigate(url: string, signal: AbortSignal): Promise<void> {
    if (this.#crashed || !(await this.#isResponsive())) await this.#replace();
    this.#chooser = undefined;
    try {
      await this.#page.goto(url, { waitUntil: 'commit', timeout: 0, signal });
    } catch (error) {
      const message = plainMessage(error);
      const problem = /net::\w+/.exec(message)?.[0];
      if (problem !== undefined) throw new ClassedError('tool_error', `${url} cannot be shown: ${problem}.`);
      if (!message.startsWith('Download is starting')) throw error;
    }
    await this.#load(signal);
  }

  /** Goes back to the previous page. Returns false if there is none. */
  async back(signal: AbortSignal): Promise<boolean> {
    const page = this.#page;
    const navigated = page.waitForEvent('framenavigated', {
      predicate: (frame) => frame === page.mainFrame(),
      timeout: 0,
    });
    const hasNavigated = navigated.then(
      () => true,
      () => false,
    );
    await page.goBack({ waitUntil: 'commit', timeout: LOAD_MS, signal });
    const wentBack = await Promise.race([hasNavigated, delay(0, false)]);
    await this.#load(signal);
    return wentBack;
  }

  async snapshot(signal: AbortSignal): Promise<string> {
    // Until the next page responds, the browser does not return a snapshot.
    if (this.#next !== undefined) return '[the page has not responded yet]';
    const tree: unknown = await this.#page.ariaSnapshotJSON({ mode: 'ai', timeout: 0, signal });
    const base = String(await this.#page.evaluate('document.baseURI'));
    return snapshotText(accessibleTree.parse(tree), base);
  }

  async click(ref: string, double: boolean, signal: AbortSignal): Promise<void> {
    await this.#use(ref, signal, async (element) => {
      try {
        await element[double ? 'dblclick' : 'click']({ timeout: ACTION_MS, signal });
      } catch (error) {
        // Playwright also waits for the page that a click leads to.
        if (!(error instanceof errors.TimeoutError && this.#next !== undefined)) throw error;
      }
    });
    await this.settle(signal);
  }

  /** Replaces the text of a field; with `slowly`, appends key by key. */
  async type(
    ref: string,
    text: string,
    options: { readonly slowly: boolean; readonly submit: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    await this.#use(ref, signal, async (element) => {
      if (options.slowly) {
        await element.focus({ timeout: ACTION_MS, signal });
        await this.#page.keyboard.type(text);
      } else await element.fill(text, { timeout: ACTION_MS, signal });
    });
    if (options.submit) await this.#page.keyboard.press('Enter');
    await this.settle(signal);
  }

  async press(key: string, signal: AbortSignal): Promise<void> {
    const { keyboard } = this.#page;
    try {
      await keyboard.press(key.replaceAll('Ctrl+', 'Control+'));
    } catch (error) {
      if (!plainMessage(error).startsWith('Unknown key')) throw error;
      if (!/^.$/u.test(key))
        throw new ClassedError(
          'invalid_arguments',
          `Unknown key "${key}". Write keys like Enter, ArrowDown, a, or Control+a.`,
          { cause: error },
        );
      await keyboard.insertText(key);
    }
    await this.settle(signal);
  }

  /** Selects options of a list by their values or labels. Returns the labels of the selected options. */
  async select(ref: string, values: readonly string[], signal: AbortSignal): Promise<string[]> {
    const labels = await this.#use(ref, signal, async (element) => {
      try {
        await element.selectOption([...values], { timeout: ACTION_MS, signal });
      } catch (error) {
        const message = plainMessage(error);
        if (message.includes('not a <select> element'))
          throw new ClassedError('tool_error', `${ref} is not a list of options.`);
        if (message.includes('did not find some options'))
          throw new ClassedError('tool_error', `${ref} has no option ${values.join(', ')}.`);
        throw error;
      }
      return await element.evaluate((list) =>
        [...(list as unknown as OptionList).selectedOptions].map(({ label }) => label.trim()),
      );
    });
    await this.settle(signal);
    return labels;
  }

  /** Uploads files to the field with the ref, or otherwise to the open file dialog of the page. */
  async upload(ref: string | undefined, files: readonly string[], signal: AbortSignal): Promise<void> {
    const chooser = this.#chooser;
    const options = { timeout: ACTION_MS, signal };
    try {
      if (ref !== undefined)
        await this.#use(ref, signal, async (element) => {
          if ((await element.getAttribute('type', options))?.toLowerCase() !== 'file')
            throw new ClassedError('tool_error', `${ref} is not a file field.`);
          await element.setInputFiles([...files], options);
        });
      else if (chooser === undefined)
        throw new ClassedError(
          'tool_error',
          'The page is not waiting for a file. Open its file dialog with a click, or pass the ref of its file field.',
        );
      else await chooser.setFiles([...files], options);
    } catch (error) {
      if (!plainMessage(error).includes('can only accept single file')) throw error;
      throw new ClassedError('tool_error', 'The page accepts only one file.', { cause: error });
    }
    this.#chooser = undefined;
    await this.settle(signal);
  }

  /** Moves the mouse over an element. */
  async hover(ref: string, signal: AbortSignal): Promise<void> {
    await this.#use(ref, signal, (element) => element.hover({ timeout: ACTION_MS, signal }));
    await this.settle(signal);
  }

  /** Runs a JavaScript function in the page and returns its result. With a ref, the function gets that element. */
  async run(code: string, ref: string | undefined, signal: AbortSignal): Promise<unknown> {
    if (ref === undefined) return this.#page.evaluate(`(${code})()`);
    const element = await this.#use(ref, signal, (locator) => locator.elementHandle({ timeout: ACTION_MS }));
    const frame = await element.ownerFrame();
    const call = await frame?.evaluateHandle(`(${code})`);
    return call?.evaluate((fn, target) => (fn as (of: unknown) => unknown)(target), element);
  }

  /** Returns a PNG image in base64. */
  async screenshot(fullPage: boolean, ref: string | undefined, signal: AbortSignal): Promise<string> {
    const png =
      ref === undefined
        ? await this.#page.screenshot({ fullPage, timeout: LOAD_MS })
        : await this.#use(ref, signal, (element) => element.screenshot({ timeout: ACTION_MS }));
    return png.toString('base64');
  }

  /** Waits until a text appears on the page or disappears from it. Returns false after `ms`. */
  async waitForText(text: string, hasNavigated: boolean, ms: number): Promise<boolean> {
    const isFound = `(document.body?.innerText ?? '').includes(${JSON.stringify(text)})`;
    try {
      await this.#page.waitForFunction(`${isFound} === ${hasNavigated}`, undefined, { polling: POLL_MS, timeout: ms });
      return true;
    } catch (error) {
      if (error instanceof errors.TimeoutError) return false;
      throw error;
    }
  }

  /** Waits. Throws if the page crashes in the meantime. */
  async pause(ms: number): Promise<void> {
    await this.#page.waitForTimeout(ms);
  }

  async bringToFront(): Promise<void> {
    await this.#page.bringToFront();
  }

  async close(): Promise<void> {
    await this.#page.close();
  }

  /** Waits for the effects of an action, such as loading a page, to finish. */
  async settle(signal: AbortSignal): Promise<void> {
    await delay(SETTLE_MS, undefined, { signal });
    await this.#load(signal);
  }

  async #load(signal: AbortSignal): Promise<void> {
    const page = this.#page;
    const until = Date.now() + LOAD_MS;
    while (this.#next !== undefined && Date.now() < until) await delay(POLL_MS, undefined, { signal });
    try {
      if (this.#next === undefined) {
        await page.waitForLoadState('load', { timeout: Math.max(1, until - Date.now()), signal });
        return;
      }
    } catch (error) {
      if (!(error instanceof errors.TimeoutError)) throw error;
    }
    this.#notes.push('The page is still loading.');
  }

  #follow(page: Page): void {
    const isMain = (request: Request): boolean => request.isNavigationRequest() && request.frame() === page.mainFrame();
    const clearNext = (request: Request): void => {
      if (this.#next === request) this.#next = undefined;
    };
    page.on('request', (request) => {
      if (this.#page === page && isMain(request)) this.#next = request;
    });
    page.on('requestfailed', clearNext);
    // Not every response is a page: some have no content.
    page.on('requestfinished', (request) => void delay(POLL_MS).then(() => clearNext(request)));
    page.on('framenavigated', (frame) => {
      if (this.#page === page && frame === page.mainFrame()) this.#next = undefined;
    });
    page.on('popup', this.#onPopup);
    page.on('dialog', (dialog) => void this.#answer(dialog));
    page.on('filechooser', (chooser) => {
      this.#chooser = chooser;
      this.#notes.push('The page is waiting for a file. Upload one with browser_file_upload.');
    });
    page.on('crash', () => {
      if (this.#page === page) this.#crashed = true;
    });
    page.on('close', () => {
      if (this.#page === page) this.#onClosed(this);
    });
  }

  /** Responds to a dialog of the page (`alert`, `confirm` …) immediately, and reports it with the next result. */
  async #answer(dialog: Dialog): Promise<void> {
    this.#notes.push(`The page showed a dialog (${dialog.type()}): ${dialog.message()}`);
    const response = dialog.type() === 'prompt' ? dialog.dismiss() : dialog.accept();
    await response.catch(() => undefined); // closed with its page
  }

  /** Returns false if the page runs an endless script, or waits for a page that does not respond. */
  async #isResponsive(): Promise<boolean> {
    const answer = this.#page.evaluate('0').then(
      () => true,
      () => true,
    );
    return Promise.race([answer, delay(HUNG_MS, false)]);
  }

  /** Replaces a page that has crashed or hangs, because it does not recover. */
  async #replace(): Promise<void> {
    const previous = this.#page;
    this.#page = await previous.context().newPage();
    this.#crashed = false;
    this.#next = undefined;
    this.#follow(this.#page);
    void previous.close().catch(() => undefined);
  }

  async #use<T>(ref: string, signal: AbortSignal, act: (element: Locator) => Promise<T>): Promise<T> {
    if (!REF.test(ref))
      throw new ClassedError(
        'invalid_arguments',
        `"${ref}" is not a ref. Refs look like e12 and are listed in snapshots.`,
      );
    try {
      const element = this.#page.getByRef(ref);
      if ((await element.count()) === 0) throw new Error('it is not on the page');
      return await act(element);
    } catch (error) {
      if (error instanceof ClassedError || signal.aborted || this.#crashed || this.#page.isClosed()) throw error;
      throw new ClassedError(
        'tool_error',
        `${ref} cannot be used: ${shortMessage(error)}. Take a new snapshot: the page may have changed.`,
        { cause: error },
      );
    }
  }
}
