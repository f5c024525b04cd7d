/** The browser of one rollout: started at its first use, ended with it. */
import { z } from 'zod';
import { ClassedError } from '../../../trace/classedError.ts';
import { abortedError } from '../../aborted.ts';
import type { ToolEnvironment } from '../../environment.ts';
import type { Gate } from '../web/addresses.ts';
import type { Outgoing } from '../web/outgoing.ts';
import { type Chromium, startChromium } from './chromium.ts';
import { browserEnded, Protocol } from './protocol.ts';
import { type Proxy, startProxy } from './proxy.ts';
import { Tab } from './tab.ts';

const anything = z.looseObject({});

/** Those of a browser that runs. */
interface Running {
  readonly chromium: Chromium;
  readonly protocol: Protocol;
  readonly proxy: Proxy | undefined;
  /** In the order they were opened. */
  readonly tabs: Tab[];
}

export class BrowserSession {
  readonly #environment: ToolEnvironment;
  readonly #gate: Gate;
  readonly #open: boolean;
  readonly #outgoing: Outgoing;
  /** What happened that nobody asked for: told with the next result. */
  readonly #notes: string[] = [];
  #running: Promise<Running> | undefined;
  /** The end of the browser before: its profile lies where that of the next one will. */
  #ending: Promise<unknown> = Promise.resolve();
  #current: string | undefined;
  /** Tabs that pages have opened, until they can be used. */
  #opening: Promise<unknown> = Promise.resolve();
  /** Calls go one after the other: they share the page. */
  #turn: Promise<unknown> = Promise.resolve();

  /** `open`: it may go everywhere. */
  constructor(environment: ToolEnvironment, gate: Gate, open: boolean, outgoing: Outgoing) {
    this.#environment = environment;
    this.#gate = gate;
    this.#open = open;
    this.#outgoing = outgoing;
  }

  /** Does something in the tab that is in front, when all that was asked before is done. */
  inTab<T>(act: (tab: Tab, tabs: readonly Tab[]) => Promise<T>, signal: AbortSignal): Promise<T> {
    const turn = this.#turn.then(async () => {
      if (signal.aborted) throw abortedError(signal);
      const { protocol, tabs } = await this.#started(signal);
      await this.#opening;
      // What waits for something else than an answer does not hear of its end.
      return Promise.race([
        act(this.#front(tabs), tabs),
        protocol.closed.then(() => {
          throw browserEnded();
        }),
      ]);
    });
    this.#turn = turn.catch(() => undefined);
    // Also while the calls before it still go on.
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener(
        'abort',
        () => {
          reject(abortedError(signal));
        },
        { once: true },
      );
    });
    return Promise.race([turn, aborted]);
  }

  takeNotes(): string[] {
    return this.#notes.splice(0);
  }

  /** Opens an empty tab, in front. */
  async openTab(signal: AbortSignal): Promise<Tab> {
    const { protocol, tabs } = await this.#started(signal);
    const { targetId } = await protocol.send(
      'Target.createTarget',
      { url: 'about:blank' },
      z.object({ targetId: z.string() }),
      { signal },
    );
    await this.#attached(protocol, tabs, targetId, signal);
    this.#current = targetId;
    return this.#front(tabs);
  }

  async closeTab(tab: Tab, signal: AbortSignal): Promise<void> {
    const { protocol, tabs } = await this.#started(signal);
    await protocol.send('Target.closeTarget', { targetId: tab.id }, anything, { signal });
    // The browser may have told of it already.
    if (tabs.includes(tab)) tabs.splice(tabs.indexOf(tab), 1);
    if (tabs.length === 0) await this.openTab(signal);
    else if (this.#current === tab.id) this.#current = tabs.at(-1)?.id;
  }

  async bringToFront(tab: Tab, signal: AbortSignal): Promise<void> {
    const { protocol } = await this.#started(signal);
    await protocol.send('Target.activateTarget', { targetId: tab.id }, anything, { signal });
    this.#current = tab.id;
  }

  isFront(tab: Tab, tabs: readonly Tab[]): boolean {
    return this.#front(tabs) === tab;
  }

  async close(): Promise<void> {
    const running = await this.#running?.catch(() => undefined);
    this.#running = undefined;
    if (running !== undefined) await ended(running);
    await this.#ending;
  }

  #front(tabs: readonly Tab[]): Tab {
    const tab = tabs.find(({ id }) => id === this.#current) ?? tabs[0];
    if (tab === undefined) throw new ClassedError('tool_error', 'The browser has no tab.');
    return tab;
  }

  #started(signal: AbortSignal): Promise<Running> {
    if (this.#running !== undefined) return this.#running;
    const running = this.#start(signal);
    this.#running = running;
    const forget = (): void => {
      if (this.#running === running) this.#running = undefined;
    };
    running.then(
      (own) =>
        own.protocol.closed.then(() => {
          forget();
          this.#ending = ended(own);
        }),
      forget,
    );
    return running;
  }

  async #start(signal: AbortSignal): Promise<Running> {
    await this.#ending;
    const proxy = this.#open && !this.#outgoing.any ? undefined : await startProxy(this.#gate, this.#outgoing);
    let chromium: Chromium | undefined;
    try {
      chromium = await startChromium(this.#environment, proxy?.port, signal);
      const protocol = await Protocol.connect(chromium.address);
      const tabs: Tab[] = [];
      const running = { chromium, protocol, proxy, tabs };
      this.#follow(protocol, tabs);
      await protocol.send(
        'Browser.setDownloadBehavior',
        { behavior: 'allow', downloadPath: this.#environment.cwd, eventsEnabled: true },
        anything,
        { signal },
      );
      await protocol.send('Target.setDiscoverTargets', { discover: true }, anything, { signal });
      const { targetInfos } = await protocol.send(
        'Target.getTargets',
        {},
        z.object({ targetInfos: z.array(z.object({ targetId: z.string(), type: z.string() })) }),
        { signal },
      );
      for (const { targetId, type } of targetInfos)
        if (type === 'page') await this.#attached(protocol, tabs, targetId, signal);
      return running;
    } catch (error) {
      await Promise.all([chromium?.end(), proxy?.close()]);
      throw error;
    }
  }

  /** A tab for each page, also for those that pages open. */
  #follow(protocol: Protocol, tabs: Tab[]): void {
    protocol.on('Target.targetCreated', (params) => {
      const { data } = z
        .object({ targetInfo: z.object({ targetId: z.string(), type: z.string(), openerId: z.string().optional() }) })
        .safeParse(params);
      if (data?.targetInfo.type !== 'page' || data.targetInfo.openerId === undefined) return;
      this.#notes.push('The page has opened another tab; browser_tabs shows it.');
      // it may be closed again
      const attached = this.#attached(protocol, tabs, data.targetInfo.targetId).catch(() => undefined);
      this.#opening = Promise.all([this.#opening, attached]);
    });
    protocol.on('Target.targetDestroyed', ({ targetId }) => {
      const at = tabs.findIndex(({ id }) => id === targetId);
      if (at !== -1) tabs.splice(at, 1);
    });
    protocol.on('Browser.downloadWillBegin', ({ suggestedFilename }) => {
      this.#notes.push(`A download into the working directory has begun: ${String(suggestedFilename)}`);
    });
  }

  async #attached(protocol: Protocol, tabs: Tab[], id: string, signal?: AbortSignal): Promise<void> {
    if (tabs.some((tab) => tab.id === id)) return;
    const { sessionId } = await protocol.send(
      'Target.attachToTarget',
      { targetId: id, flatten: true },
      z.object({ sessionId: z.string() }),
      { signal },
    );
    const tab = new Tab(protocol, id, sessionId, this.#notes);
    await tab.prepare();
    if (!tabs.some((other) => other.id === id)) tabs.push(tab);
  }
}

async function ended({ chromium, protocol, proxy }: Running): Promise<void> {
  protocol.close();
  await Promise.all([chromium.end(), proxy?.close()]);
}
