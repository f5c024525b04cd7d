/** VS Code with the .vsix installed, in a real browser: the start of an end-to-end test. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { root } from '../../../src/build/bundles.ts';
import { launchBrowser } from '../../webview/support/browser.ts';
import { CodeServer } from './codeServer.ts';
import { until } from './poll.ts';
import { Workbench } from './workbench.ts';

/**
 * Known console errors: four files that only code-server's own front end serves, and messages about accounts, about the
 * key that its front end would provide for stored secrets, about its own extensions, and about slow machines. One is of
 * `assertIsDefined` in VS Code's page around a webview, whose frame was closed before it was loaded. The last one is of
 * the workbench, which still draws, expands, or selects an item of a tree that was refreshed in the meantime.
 */
const KNOWN = new RegExp(
  [
    String.raw`vsda|/mint-key|getServerKeyPart|serviceWorker\.js|favicon|\[Service Worker\] registration`,
    "authentication provider 'github'",
    'Extension `vscode\\.[\\w-]+` is already registered',
    'Aborted onWillSaveTextDocument-event',
    String.raw`Blocked script execution in .*webview.browser.pre.index\.html`,
    String.raw`A bad HTTP response code \(404\) was received when fetching the script`,
    'Error: Found unexpected null( |$)',
    String.raw`TreeError \[rollout\.\w+\] (Data tree node|Tree element) not found: `,
  ].join('|'),
);
const OUT = path.join(root, 'test', '.out', 'e2e');
/** `ROLLOUT_TRACE=1` records the document before and after each step, which takes a tenth more processor time. */
const TRACED = process.env['ROLLOUT_TRACE'] === '1';

export interface VsCodeOptions {
  /** The workspace, which the test may change. Created when it does not exist. */
  readonly workspaceFolder: string;
  /** The extension. Default: the one that `npm run package` built. */
  readonly vsix?: string;
  /** Installs it for this test alone, as a user does. By default, all tests share one installation. */
  readonly installs?: boolean;
  /**
   * The workspace is this folder of a virtual file system instead, provided by the extension in the file `provider`.
   */
  readonly virtual?: { readonly provider: string; readonly uri: string };
  /** By default VS Code trusts the folder. With `false` it starts in Restricted Mode, as for a downloaded folder. */
  readonly trusted?: boolean;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly viewport?: { readonly width: number; readonly height: number };
}

export class VsCode {
  readonly server: CodeServer;
  readonly page: Page;
  readonly workbench: Workbench;
  readonly #browser: Browser;
  readonly #context: BrowserContext;
  readonly #errors: string[] = [];
  readonly #folder: string;
  /** Whether the page is closing: its pending reads are aborted and reported as errors. */
  #leaving = false;

  private constructor(server: CodeServer, browser: Browser, context: BrowserContext, page: Page, folder: string) {
    this.server = server;
    this.#browser = browser;
    this.#context = context;
    this.page = page;
    this.#folder = folder;
    this.workbench = new Workbench(page);
    page.on('console', (message) => {
      if (message.type() === 'error' && !this.#leaving)
        this.#errors.push(`${message.text().slice(0, 400)} ${message.location().url}`);
    });
    page.on('framenavigated', (frame) => {
      if (frame === page.mainFrame()) this.#leaving = false;
    });
    page.on('pageerror', (error) => this.#errors.push(String(error)));
  }

  /** Resolves to VS Code once its workbench is ready and extensions are known. */
  static async start(options: VsCodeOptions): Promise<VsCode> {
    const vsix = options.vsix ?? process.env['ROLLOUT_VSIX'] ?? path.join(root, 'dist', 'rollout-studio.vsix');
    mkdirSync(options.workspaceFolder, { recursive: true });
    const workspace = options.virtual?.uri ?? options.workspaceFolder;
    const starting = CodeServer.start({
      extensions: [
        ...(options.installs === true ? [vsix] : []),
        ...(options.virtual === undefined ? [] : [options.virtual.provider]),
      ],
      ...(options.installs === true ? {} : { shared: vsix }),
      trusted: options.trusted ?? true,
      ...(options.settings === undefined ? {} : { settings: options.settings }),
      ...(options.env === undefined ? {} : { env: options.env }),
    });
    const launching = launchBrowser();
    try {
      const [server, browser] = await Promise.all([starting, launching]);
      const context = await browser.newContext({
        viewport: options.viewport ?? { width: 1400, height: 900 },
        permissions: ['clipboard-read', 'clipboard-write'],
        reducedMotion: 'reduce', // without a GPU, an animation occupies a processor as long as it runs
      });
      context.setDefaultTimeout(30_000);
      if (TRACED) await context.tracing.start({ snapshots: true });
      await context.addInitScript(stopEndlessAnimations);
      const code = new VsCode(server, browser, context, await context.newPage(), workspace);
      await code.page.goto(server.url(workspace), { timeout: 60_000 });
      await code.workbench.ready();
      return code;
    } catch (error) {
      for (const started of await Promise.allSettled([launching, starting]))
        if (started.status === 'fulfilled') await started.value.close();
      throw error;
    }
  }

  /**
   * Reloads the window like "Developer: Reload Window". `shown`: a text in the state of the panel in front that is to
   * be restored.
   */
  async reload(shown: string): Promise<void> {
    await until(
      () => this.page.evaluate(isKept, shown),
      60_000,
      'the editors to be kept: a browser’s VS Code writes them every few seconds only',
    );
    this.#leaving = true;
    await this.page.goto(this.server.url(this.#folder), { timeout: 60_000 });
    await this.workbench.ready();
  }

  /** The page's console errors, without the known ones. */
  consoleErrors(): readonly string[] {
    return this.#errors.filter((error) => !KNOWN.test(error));
  }

  /**
   * Ends everything. With the name of a failed test, leaves its picture, the hosts' logs, and its trace, if it was
   * recorded, in test/.out/e2e.
   */
  async close(failed?: string): Promise<void> {
    try {
      if (failed === undefined) {
        if (TRACED) await this.#context.tracing.stop();
      } else {
        mkdirSync(OUT, { recursive: true });
        const name = path.join(OUT, failed.replace(/[^\w-]+/g, '_').slice(0, 80));
        await this.page.screenshot({ path: `${name}.png` });
        if (TRACED) await this.#context.tracing.stop({ path: `${name}.zip` });
        writeFileSync(`${name}.log`, `${this.#errors.join('\n')}\n\n${this.server.log}\n${this.server.hostLogs()}`);
        console.error(
          TRACED
            ? `See ${path.relative(root, name)}.png, .log and .zip (npx playwright-core show-trace).`
            : `See ${path.relative(root, name)}.png and .log. ROLLOUT_TRACE=1 also records every step.`,
        );
      }
    } finally {
      await this.#browser.close();
      await this.server.close();
    }
  }
}

/**
 * Runs in each document: the workbench turns its icons and moves its progress bars although it is told to reduce
 * motion.
 */
function stopEndlessAnimations(): void {
  const still = new CSSStyleSheet();
  still.replaceSync(
    ':is(.codicon-modifier-spin, .codicon-loading, .codicon-tree-item-loading, .progress-bit) ' +
      '{ animation: none !important; }',
  );
  document.adoptedStyleSheets.push(still);
}

/**
 * Runs in the page: returns whether the workbench has saved an editor with this in its state, which is text within
 * text, as the one in front of its group: the order in which they were used begins with it.
 */
async function isKept(shown: string): Promise<boolean> {
  const isInFront = (part: unknown): boolean => {
    if (typeof part !== 'object' || part === null) return false;
    if ('editors' in part && 'mru' in part && Array.isArray(part.editors) && Array.isArray(part.mru))
      return JSON.stringify(part.editors[Number(part.mru[0])] ?? '')
        .replaceAll('\\', '')
        .includes(shown);
    return Object.values(part).some(isInFront);
  };
  const read = <T>(request: IDBRequest<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error ?? new Error('the store of the workbench cannot be read'));
    });
  for (const { name } of await indexedDB.databases()) {
    if (name?.startsWith('vscode-web-state-db-') !== true) continue;
    const database = await read(indexedDB.open(name));
    try {
      if (!database.objectStoreNames.contains('ItemTable')) continue;
      const state: unknown = await read(
        database.transaction('ItemTable').objectStore('ItemTable').get('memento/workbench.parts.editor'),
      );
      if (typeof state === 'string' && isInFront(JSON.parse(state))) return true;
    } finally {
      database.close();
    }
  }
  return false;
}
