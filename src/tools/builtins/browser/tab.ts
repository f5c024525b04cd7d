/**
 * One tab of a browser: what can be done with its page. Playwright does it; what stays here are refs, errors, and notes
 * as agents get them.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Dialog, errors, type FileChooser, type Locator, type Page, type Request } from 'playwright-core';
import { ClassedError } from '../../../trace/classedError.ts';
import { plainMessage, shortMessage } from './playwrightErrors.ts';
import { accessibleTree, snapshotText } from './snapshot.ts';

const LOAD_MS = 30_000;
/** How long an element may take until it can be used. */
const ACTION_MS = 5000;
/** What an action leads to begins within this time. */
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
  /** The request for the page that comes next, until that page is there. */
  #next: Request | undefined;
  /** Set while the page waits for files. */
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

  async about(): Promise<{ readonly title: string; readonly url: string }> {
    // A page that hangs does not tell its title.
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

  /** Goes to the previous page; false when there is none. */
  async back(signal: AbortSignal): Promise<boolean> {
    const page = this.#page;
    const moved = page.waitForEvent('framenavigated', { predicate: (frame) => frame === page.mainFrame(), timeout: 0 });
    const there = moved.then(
      () => true,
      () => false,
    );
    await page.goBack({ waitUntil: 'commit', timeout: LOAD_MS, signal });
    const went = await Promise.race([there, delay(0, false)]);
    await this.#load(signal);
    return went;
  }

  async snapshot(signal: AbortSignal): Promise<string> {
    // Until then the browser answers nothing about the page.
    if (this.#next !== undefined) return '[the page has not answered yet]';
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

  /** Replaces what is in a field; `slowly`: key by key after what is there. */
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

  /** Chooses options of a list by their values or their texts. Returns the texts that are chosen then. */
  async select(ref: string, values: readonly string[], signal: AbortSignal): Promise<string[]> {
    const chosen = await this.#use(ref, signal, async (element) => {
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
    return chosen;
  }

  /** Gives files to the field with the ref, else to the one whose file dialog the page has opened. */
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
          'The page is not waiting for a file. Click what opens its file dialog, or pass the ref of its file field.',
        );
      else await chooser.setFiles([...files], options);
    } catch (error) {
      if (!plainMessage(error).includes('can only accept single file')) throw error;
      throw new ClassedError('tool_error', 'The page accepts only one file.', { cause: error });
    }
    this.#chooser = undefined;
    await this.settle(signal);
  }

  /** Puts the mouse over something. */
  async hover(ref: string, signal: AbortSignal): Promise<void> {
    await this.#use(ref, signal, (element) => element.hover({ timeout: ACTION_MS, signal }));
    await this.settle(signal);
  }

  /** What a function of JavaScript returns in the page; of an element with a ref, which it is called with. */
  async run(code: string, ref: string | undefined, signal: AbortSignal): Promise<unknown> {
    if (ref === undefined) return this.#page.evaluate(`(${code})()`);
    const element = await this.#use(ref, signal, (found) => found.elementHandle({ timeout: ACTION_MS }));
    const frame = await element.ownerFrame();
    const call = await frame?.evaluateHandle(`(${code})`);
    return call?.evaluate((own, given) => (own as (of: unknown) => unknown)(given), element);
  }

  /** As PNG, in base64. */
  async screenshot(fullPage: boolean, ref: string | undefined, signal: AbortSignal): Promise<string> {
    const png =
      ref === undefined
        ? await this.#page.screenshot({ fullPage, timeout: LOAD_MS })
        : await this.#use(ref, signal, (element) => element.screenshot({ timeout: ACTION_MS }));
    return png.toString('base64');
  }

  /** Waits until a text is on the page, or is not; false after `ms`. */
  async waitForText(text: string, there: boolean, ms: number): Promise<boolean> {
    const found = `(document.body?.innerText ?? '').includes(${JSON.stringify(text)})`;
    try {
      await this.#page.waitForFunction(`${found} === ${there}`, undefined, { polling: POLL_MS, timeout: ms });
      return true;
    } catch (error) {
      if (error instanceof errors.TimeoutError) return false;
      throw error;
    }
  }

  /** Lets time pass. Throws when the page crashes meanwhile. */
  async pause(ms: number): Promise<void> {
    await this.#page.waitForTimeout(ms);
  }

  async bringToFront(): Promise<void> {
    await this.#page.bringToFront();
  }

  async close(): Promise<void> {
    await this.#page.close();
  }

  /** Lets what an action began come to its end: a page that it leads to is loaded. */
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
    const over = (request: Request): void => {
      if (this.#next === request) this.#next = undefined;
    };
    page.on('request', (request) => {
      if (this.#page === page && isMain(request)) this.#next = request;
    });
    page.on('requestfailed', over);
    // Not every answer is a page: some say that there is nothing to show.
    page.on('requestfinished', (request) => void delay(POLL_MS).then(() => over(request)));
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

  /** Answers a dialog of the page (`alert`, `confirm` …) at once, and reports it with the next result. */
  async #answer(dialog: Dialog): Promise<void> {
    this.#notes.push(`The page showed a dialog (${dialog.type()}): ${dialog.message()}`);
    const answered = dialog.type() === 'prompt' ? dialog.dismiss() : dialog.accept();
    await answered.catch(() => undefined); // it went with its page
  }

  /** False when the page runs a script without end, or waits for a page that does not come. */
  async #isResponsive(): Promise<boolean> {
    const answer = this.#page.evaluate('0').then(
      () => true,
      () => true,
    );
    return Promise.race([answer, delay(HUNG_MS, false)]);
  }

  /** A page that has crashed or hangs stays so: another one takes its place. */
  async #replace(): Promise<void> {
    const left = this.#page;
    this.#page = await left.context().newPage();
    this.#crashed = false;
    this.#next = undefined;
    this.#follow(this.#page);
    void left.close().catch(() => undefined);
  }

  async #use<T>(ref: string, signal: AbortSignal, act: (element: Locator) => Promise<T>): Promise<T> {
    if (!REF.test(ref))
      throw new ClassedError(
        'invalid_arguments',
        `"${ref}" is not a ref. Refs look like e12 and are listed in snapshots.`,
      );
    try {
      const element = this.#page.getByRef(ref);
      if ((await element.count()) === 0) throw new Error('It is not on the page');
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
