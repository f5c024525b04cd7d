/** The tools of the `browser` set, on top of Playwright. Names and arguments match those of Playwright's MCP server. */
import { z } from 'zod';
import type { BrowserSettings } from '../../../config/schema/builtinSettings.ts';
import type { ToolOutcome } from '../../../rollout/ports.ts';
import { ClassedError } from '../../../trace/classedError.ts';
import type { ToolEnvironment } from '../../environment.ts';
import { textResponse } from '../../outcome.ts';
import { type BuiltinTool, builtin } from '../builtinHost.ts';
import { browserAccess } from './network.ts';
import { copyForUpload } from './profile.ts';
import type { BrowserSession } from './session.ts';
import type { Tab } from './tab.ts';

const WAIT_SECONDS = 30;

const element = z.string().default('').describe('A description of the element, for people who read the trajectory.');
const ref = z.string().min(1).describe('The ref of the element in the last snapshot, such as e12.');

/** Creates the `browser_…` tools, which control a real Chromium. */
export function browserTools(
  environment: ToolEnvironment,
  settings: BrowserSettings,
): { readonly tools: BuiltinTool[]; close(): Promise<void> } {
  const access = browserAccess(settings, environment.sandbox);
  let opened: Promise<BrowserSession> | undefined;
  const session = (): Promise<BrowserSession> =>
    (opened ??= import('./session.ts').then(({ BrowserSession: Session }) => new Session(environment, access)));
  const reading = { effect: 'pure', sessionBound: true } as const;
  const acting = { effect: 'irreversible', sessionBound: true } as const;

  /** Runs `act` and returns its message, if any, and the resulting page. */
  const withPage = async (
    act: (tab: Tab) => Promise<string | undefined>,
    signal: AbortSignal,
  ): Promise<ToolOutcome> => {
    const browser = await session();
    return browser.inTab(async (tab) => {
      const message = await act(tab);
      return textResponse({ text: await pageText(browser, tab, message, signal) });
    }, signal);
  };

  const tools = [
    builtin('browser', {
      name: 'browser_navigate',
      ...acting,
      description: 'Opens a URL in the browser and returns a snapshot of the page.',
      input: z.object({ url: z.string().min(1).describe('The http:// or https:// URL.') }),
      run: ({ url }, { signal }) =>
        withPage(async (tab) => {
          await tab.navigate(access.gate.check(url).href, signal);
          return undefined;
        }, signal),
    }),
    builtin('browser', {
      name: 'browser_navigate_back',
      ...acting,
      description: 'Goes back to the previous page.',
      input: z.object({}),
      run: (_, { signal }) =>
        withPage(async (tab) => ((await tab.back(signal)) ? undefined : 'There is no previous page.'), signal),
    }),
    builtin('browser', {
      name: 'browser_snapshot',
      ...reading,
      description:
        'Returns the content of the page as text, with a ref for each element that can be used. Better than a ' +
        'screenshot for choosing actions.',
      input: z.object({}),
      run: (_, { signal }) => withPage(() => Promise.resolve(undefined), signal),
    }),
    builtin('browser', {
      name: 'browser_click',
      ...acting,
      description: 'Clicks an element on the page.',
      input: z.object({ element, ref, doubleClick: z.boolean().default(false) }),
      run: (args, { signal }) =>
        withPage(async (tab) => {
          await tab.click(args.ref, args.doubleClick, signal);
          return undefined;
        }, signal),
    }),
    builtin('browser', {
      name: 'browser_type',
      ...acting,
      description: 'Types text into a field, replacing its content.',
      input: z.object({
        element,
        ref,
        text: z.string(),
        submit: z.boolean().default(false).describe('Whether to press Enter afterwards.'),
        slowly: z
          .boolean()
          .default(false)
          .describe('Whether to append key by key instead of replacing, for pages that react to single keys.'),
      }),
      run: (args, { signal }) =>
        withPage(async (tab) => {
          await tab.type(args.ref, args.text, args, signal);
          return undefined;
        }, signal),
    }),
    builtin('browser', {
      name: 'browser_press_key',
      ...acting,
      description: 'Presses a key.',
      input: z.object({ key: z.string().min(1).describe('The key, e.g. Enter, ArrowDown, a, or Control+a.') }),
      run: ({ key }, { signal }) =>
        withPage(async (tab) => {
          await tab.press(key, signal);
          return undefined;
        }, signal),
    }),
    builtin('browser', {
      name: 'browser_select_option',
      ...acting,
      description: 'Selects options of a list.',
      input: z.object({
        element,
        ref,
        values: z.array(z.string()).min(1).describe('Values or labels of the options.'),
      }),
      run: (args, { signal }) =>
        withPage(async (tab) => `Selected: ${(await tab.select(args.ref, args.values, signal)).join(', ')}`, signal),
    }),
    builtin('browser', {
      name: 'browser_hover',
      ...acting,
      description: 'Moves the mouse over an element on the page, e.g. to open a menu.',
      input: z.object({ element, ref }),
      run: (args, { signal }) =>
        withPage(async (tab) => {
          await tab.hover(args.ref, signal);
          return undefined;
        }, signal),
    }),
    builtin('browser', {
      name: 'browser_file_upload',
      ...acting,
      description:
        'Uploads files from the working directory: to the file dialog that a click has opened, or to the file field ' +
        'with the ref.',
      input: z.object({
        paths: z.array(z.string().min(1)).min(1).describe('Paths relative to the working directory.'),
        element,
        ref: z
          .string()
          .min(1)
          .optional()
          .describe('The ref of the file field in the last snapshot. Default: the open file dialog.'),
      }),
      run: (args, { signal }) =>
        withPage(async (tab) => {
          const copies = await Promise.all(args.paths.map((file) => copyForUpload(environment.cwd, file)));
          await tab.upload(args.ref, copies, signal);
          return `Uploaded: ${args.paths.join(', ')}`;
        }, signal),
    }),
    builtin('browser', {
      name: 'browser_evaluate',
      ...acting,
      description: 'Runs a JavaScript function in the page and returns its result.',
      input: z.object({
        function: z.string().min(1).describe('The function: () => { … }, or with a ref: (element) => { … }.'),
        element,
        ref: z
          .string()
          .min(1)
          .optional()
          .describe('The ref of the element in the last snapshot to pass to the function.'),
      }),
      run: async (args, { signal }) => {
        const value = await (await session()).inTab((tab) => tab.run(args.function, args.ref, signal), signal);
        return textResponse({ text: value === undefined ? 'undefined' : JSON.stringify(value, null, 2) });
      },
    }),
    builtin('browser', {
      name: 'browser_take_screenshot',
      ...reading,
      description: 'Takes a screenshot of the page.',
      input: z.object({
        fullPage: z.boolean().default(false).describe('Whether to include the whole page, not only the visible part.'),
        ref: z.string().optional().describe('The ref of an element in the last snapshot, to show only that element.'),
      }),
      run: async (args, { signal }) => {
        const content = await (await session()).inTab((tab) => tab.screenshot(args.fullPage, args.ref, signal), signal);
        return {
          response: 'A screenshot.',
          parts: [{ type: 'blob', mime_type: 'image/png', modality: 'image', content }],
        };
      },
    }),
    builtin('browser', {
      name: 'browser_tabs',
      ...acting,
      description: 'Lists, opens, closes, or selects tabs.',
      input: z.object({
        action: z.enum(['list', 'new', 'close', 'select']),
        index: z
          .number()
          .int()
          .min(0)
          .optional()
          .describe('The tab to close or select, from 0. By default, `close` closes the current tab.'),
      }),
      run: async ({ action, index }, { signal }) => {
        const browser = await session();
        return browser.inTab(async (front, tabs) => {
          await actOnTabs(browser, action, index === undefined && action === 'close' ? front : tabs[index ?? -1]);
          return { response: (await tabLines(browser, tabs)).join('\n') };
        }, signal);
      },
    }),
    builtin('browser', {
      name: 'browser_wait_for',
      ...reading,
      description: `Waits until a text appears or disappears, up to ${WAIT_SECONDS} seconds, or waits for some time.`,
      input: z
        .object({
          time: z.number().positive().max(300).optional().describe('The time to wait, in seconds.'),
          text: z.string().min(1).optional().describe('The text to wait for.'),
          textGone: z.string().min(1).optional().describe('The text whose disappearance to wait for.'),
        })
        .refine(
          ({ time, text, textGone }) => time !== undefined || text !== undefined || textGone !== undefined,
          'one of `time`, `text`, and `textGone` is required',
        ),
      run: ({ time, text, textGone }, { signal }) =>
        withPage(async (tab) => {
          if (time !== undefined) await tab.pause(time * 1000);
          if (text !== undefined) await waitForText(tab, text, true);
          if (textGone !== undefined) await waitForText(tab, textGone, false);
          return undefined;
        }, signal),
    }),
  ];
  return { tools, close: async () => (await opened)?.close() };
}

async function pageText(
  browser: BrowserSession,
  tab: Tab,
  message: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const { title, url } = await tab.info();
  const snapshot = await tab.snapshot(signal);
  const notes = [...(message === undefined ? [] : [message]), ...browser.takeNotes()];
  return [
    ...notes,
    `Page: ${title === '' ? url : `${title} (${url})`}`,
    '',
    snapshot === '' ? '[the page is empty]' : snapshot,
  ].join('\n');
}

async function waitForText(tab: Tab, text: string, there: boolean): Promise<void> {
  if (await tab.waitForText(text, there, WAIT_SECONDS * 1000)) return;
  throw new ClassedError(
    'tool_error',
    `After ${WAIT_SECONDS} s, the text ${JSON.stringify(text)} is ${there ? 'not' : 'still'} on the page.`,
  );
}

async function actOnTabs(
  browser: BrowserSession,
  action: 'list' | 'new' | 'close' | 'select',
  tab: Tab | undefined,
): Promise<void> {
  if (action === 'list') return;
  if (action === 'new') {
    await browser.openTab();
    return;
  }
  if (tab === undefined)
    throw new ClassedError('invalid_arguments', 'There is no tab with this index. List the tabs with browser_tabs.');
  if (action === 'close') await browser.closeTab(tab);
  else await browser.bringToFront(tab);
}

async function tabLines(browser: BrowserSession, tabs: readonly Tab[]): Promise<string[]> {
  return Promise.all(
    tabs.map(async (tab, index) => {
      const { title, url } = tab.crashed ? { title: '', url: '[crashed]' } : await tab.info();
      return `${index}: ${browser.isFront(tab, tabs) ? '(current) ' : ''}${title === '' ? url : `${title} (${url})`}`;
    }),
  );
}
