/**
 * The browser of one rollout: starts with the first call and ends with the rollout. It adds to Playwright that calls
 * run one at a time, a browser that died is replaced, and tabs are numbered.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { ClassedError } from '../../../trace/classedError.ts';
import { abortedError } from '../../aborted.ts';
import type { ToolEnvironment } from '../../environment.ts';
import { type Chromium, startChromium } from './chromium.ts';
import type { BrowserAccess } from './network.ts';
import { plainMessage, shortMessage } from './playwrightErrors.ts';
import { Tab } from './tab.ts';

/** How long to wait for a new tab to be listed. */
const POPUP_MS = 3000;
/** How long to wait for the event with the reason after a call has failed. */
const REASON_MS = 200;

/** A running browser. */
interface Running {
  readonly chromium: Chromium;
  /** In the order in which they were opened. */
  readonly tabs: Tab[];
}

export class BrowserSession {
  readonly #environment: ToolEnvironment;
  readonly #access: BrowserAccess;
  /** Events outside of calls, reported with the next result. */
  readonly #notes: string[] = [];
  #running: Promise<Running> | undefined;
  /** The end of the previous browser. The next one waits for it, because both use the same profile folder. */
  #ending: Promise<unknown> = Promise.resolve();
  #current: Tab | undefined;
  /** Pending until all tabs that pages have opened are listed. */
  #opening: Promise<unknown> = Promise.resolve();
  readonly #closing = new AbortController();
  /** The last call in the queue: calls run one at a time, because they share the page. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(environment: ToolEnvironment, access: BrowserAccess) {
    this.#environment = environment;
    this.#access = access;
  }

  /** Runs `act` in the current tab, after all earlier calls. */
  inTab<T>(act: (tab: Tab, tabs: readonly Tab[]) => Promise<T>, signal: AbortSignal): Promise<T> {
    const aborted = new Promise<never>((_, reject) => {
      const abort = (): void => {
        reject(abortedError(signal));
      };
      if (signal.aborted) abort();
      else signal.addEventListener('abort', abort, { once: true });
    });
    const turn = this.#turn.then(async () => {
      if (signal.aborted) throw abortedError(signal);
      const running = await Promise.race([this.#started(), aborted]);
      await this.#opening;
      const tab = this.#front(running.tabs);
      try {
        // Not all methods of Playwright support a signal, and a page that hangs must not block later calls.
        return await Promise.race([act(tab, running.tabs), aborted]);
      } catch (error) {
        throw await toolError(error, running.chromium, tab, signal);
      }
    });
    this.#turn = turn.catch(() => undefined);
    // Aborts even while earlier calls are running.
    return Promise.race([turn, aborted]);
  }

  takeNotes(): string[] {
    return this.#notes.splice(0);
  }

  /** Opens an empty tab and makes it the current one. */
  async openTab(): Promise<void> {
    const { chromium, tabs } = await this.#started();
    this.#current = this.#add(await chromium.context.newPage(), tabs);
  }

  async closeTab(tab: Tab): Promise<void> {
    const { tabs } = await this.#started();
    // A browser may exit when its last page closes.
    if (tabs.length === 1) await this.openTab();
    await tab.close();
    if (this.#current === tab) this.#current = tabs.at(-1);
  }

  async bringToFront(tab: Tab): Promise<void> {
    await tab.bringToFront();
    this.#current = tab;
  }

  isFront(tab: Tab, tabs: readonly Tab[]): boolean {
    return this.#front(tabs) === tab;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const running = await this.#running?.catch(() => undefined);
    this.#running = undefined;
    await running?.chromium.end();
    await this.#ending;
  }

  #front(tabs: readonly Tab[]): Tab {
    const tab = tabs.find((one) => one === this.#current) ?? tabs[0];
    if (tab === undefined) throw new ClassedError('tool_error', 'The browser has no tab.');
    return tab;
  }

  #started(): Promise<Running> {
    if (this.#running !== undefined) return this.#running;
    const running = this.#start();
    this.#running = running;
    const forget = (): void => {
      if (this.#running === running) this.#running = undefined;
    };
    running.then(
      (started) =>
        started.chromium.ended.then(() => {
          forget();
          this.#ending = started.chromium.end();
        }),
      forget,
    );
    return running;
  }

  async #start(): Promise<Running> {
    await this.#ending;
    const chromium = await startChromium(this.#environment, this.#access, this.#closing.signal);
    try {
      const tabs: Tab[] = [];
      for (const page of chromium.context.pages()) this.#add(page, tabs);
      await this.#watch(chromium);
      return { chromium, tabs };
    } catch (error) {
      await chromium.end();
      throw error;
    }
  }

  #add(page: Page, tabs: Tab[]): Tab {
    const tab: Tab = new Tab(
      page,
      this.#notes,
      (popup) => void this.#add(popup, tabs),
      () => void tabs.splice(tabs.indexOf(tab), 1),
    );
    tabs.push(tab);
    return tab;
  }

  /**
   * Keeps the names of downloads, as any browser does, and notes new tabs immediately: Playwright renames downloads,
   * and reports a tab only when its page has responded.
   */
  async #watch({ context, session }: Chromium): Promise<void> {
    session.on('Target.targetCreated', ({ targetInfo: { type, openerId } }) => {
      if (type !== 'page' || openerId === undefined) return;
      this.#notes.push('The page has opened another tab. List it with browser_tabs.');
      const listed = context.waitForEvent('page', { timeout: POPUP_MS }).catch(() => undefined);
      this.#opening = Promise.all([this.#opening, listed]);
    });
    session.on('Browser.downloadWillBegin', ({ suggestedFilename }) => {
      this.#notes.push(`Downloading to the working directory: ${suggestedFilename}`);
    });
    await session.send('Target.setDiscoverTargets', { discover: true });
    await session.send('Browser.setDownloadBehavior', {
      behavior: 'allow',
      downloadPath: this.#environment.cwd,
      eventsEnabled: true,
    });
  }
}

/** Converts an error of Playwright to an error for the agent. */
async function toolError(error: unknown, chromium: Chromium, tab: Tab, signal: AbortSignal): Promise<Error> {
  if (error instanceof ClassedError) return error;
  if (signal.aborted) return abortedError(signal);
  if (/crashed|closed/i.test(plainMessage(error))) await Promise.race([chromium.ended, delay(REASON_MS)]);
  const message = chromium.hasEnded
    ? 'The browser has exited. The next call starts a new one.'
    : tab.crashed
      ? 'The page has crashed. Load it again with browser_navigate.'
      : shortMessage(error);
  return new ClassedError('tool_error', message, { cause: error });
}
