/** The tools of the `browser` set: names, arguments, and results as agents get them. Playwright has none to call. */
import { stat } from 'node:fs/promises';
import { z } from 'zod';
import type { BrowserSettings } from '../../../config/schema/builtinSettings.ts';
import type { ToolOutcome } from '../../../rollout/ports.ts';
import { ClassedError } from '../../../trace/classedError.ts';
import type { ToolEnvironment } from '../../environment.ts';
import { textResponse } from '../../outcome.ts';
import { type BuiltinTool, builtin } from '../builtinHost.ts';
import { confine } from '../confine.ts';
import { withFileErrors } from '../fileErrors.ts';
import { Gate } from '../web/addresses.ts';
import { Outgoing } from '../web/outgoing.ts';
import type { BrowserSession } from './session.ts';
import type { Tab } from './tab.ts';

const WAIT_SECONDS = 30;

const element = z.string().default('').describe('What it is, for people who read this.');
const ref = z.string().min(1).describe('Its ref in the last snapshot, like e12.');

/** `browser_…`: a real Chromium, named as Playwright's MCP server names its tools. */
export function browserTools(
  environment: ToolEnvironment,
  settings: BrowserSettings,
): { readonly tools: BuiltinTool[]; close(): Promise<void> } {
  const open = settings.private_addresses === true;
  const gate = new Gate(open);
  let opened: Promise<BrowserSession> | undefined;
  const session = (): Promise<BrowserSession> =>
    (opened ??= import('./session.ts').then(
      ({ BrowserSession: Session }) => new Session(environment, gate, open, new Outgoing(settings.proxy)),
    ));
  const looking = { effect: 'pure', sessionBound: true } as const;
  const acting = { effect: 'irreversible', sessionBound: true } as const;

  /** Does something, and gives the page as it is then. */
  const shown = async (act: (tab: Tab) => Promise<string | undefined>, signal: AbortSignal): Promise<ToolOutcome> => {
    const browser = await session();
    return browser.inTab(async (tab) => {
      const said = await act(tab);
      return textResponse({ text: await pageText(browser, tab, said, signal) });
    }, signal);
  };

  const tools = [
    builtin('browser', {
      name: 'browser_navigate',
      ...acting,
      description: 'Opens an address in the browser and gives a snapshot of the page.',
      input: z.object({ url: z.string().min(1).describe('The address, with http:// or https://.') }),
      run: ({ url }, { signal }) =>
        shown(async (tab) => {
          await tab.navigate(gate.check(url).href, signal);
          return undefined;
        }, signal),
    }),
    builtin('browser', {
      name: 'browser_navigate_back',
      ...acting,
      description: 'Goes back to the page before.',
      input: z.object({}),
      run: (_, { signal }) =>
        shown(async (tab) => ((await tab.back(signal)) ? undefined : 'There is no previous page.'), signal),
    }),
    builtin('browser', {
      name: 'browser_snapshot',
      ...looking,
      description:
        'Gives what is on the page as text, with a ref for each thing that can be used. Better than a screenshot ' +
        'to act by.',
      input: z.object({}),
      run: (_, { signal }) => shown(() => Promise.resolve(undefined), signal),
    }),
    builtin('browser', {
      name: 'browser_click',
      ...acting,
      description: 'Clicks something on the page.',
      input: z.object({ element, ref, doubleClick: z.boolean().default(false) }),
      run: (args, { signal }) =>
        shown(async (tab) => {
          await tab.click(args.ref, args.doubleClick, signal);
          return undefined;
        }, signal),
    }),
    builtin('browser', {
      name: 'browser_type',
      ...acting,
      description: 'Writes into a field, in place of what was there.',
      input: z.object({
        element,
        ref,
        text: z.string(),
        submit: z.boolean().default(false).describe('Press Enter after it.'),
        slowly: z.boolean().default(false).describe('Key by key, behind what is there: for pages that listen to keys.'),
      }),
      run: (args, { signal }) =>
        shown(async (tab) => {
          await tab.type(args.ref, args.text, args, signal);
          return undefined;
        }, signal),
    }),
    builtin('browser', {
      name: 'browser_press_key',
      ...acting,
      description: 'Presses a key.',
      input: z.object({ key: z.string().min(1).describe('Like Enter, ArrowDown, a, Control+a.') }),
      run: ({ key }, { signal }) =>
        shown(async (tab) => {
          await tab.press(key, signal);
          return undefined;
        }, signal),
    }),
    builtin('browser', {
      name: 'browser_select_option',
      ...acting,
      description: 'Chooses options of a list.',
      input: z.object({ element, ref, values: z.array(z.string()).min(1).describe('Values or texts of the options.') }),
      run: (args, { signal }) =>
        shown(async (tab) => `Chosen: ${(await tab.select(args.ref, args.values, signal)).join(', ')}`, signal),
    }),
    builtin('browser', {
      name: 'browser_hover',
      ...acting,
      description: 'Puts the mouse over something on the page, as for menus that open then.',
      input: z.object({ element, ref }),
      run: (args, { signal }) =>
        shown(async (tab) => {
          await tab.hover(args.ref, signal);
          return undefined;
        }, signal),
    }),
    builtin('browser', {
      name: 'browser_file_upload',
      ...acting,
      description:
        'Gives files of the working directory to a page that asks for them: to the field whose choice was opened ' +
        'by a click, or to the one with the ref.',
      input: z.object({
        paths: z.array(z.string().min(1)).min(1).describe('Paths relative to the working directory.'),
        element,
        ref: z
          .string()
          .min(1)
          .optional()
          .describe("The field's ref in the last snapshot. Absent: the choice that the page has opened."),
      }),
      run: async (args, { signal }) => {
        const files = await Promise.all(
          args.paths.map((given) => withFileErrors(given, () => fileAt(environment.cwd, given))),
        );
        return shown(async (tab) => {
          await tab.upload(args.ref, files, signal);
          return `Uploaded: ${args.paths.join(', ')}`;
        }, signal);
      },
    }),
    builtin('browser', {
      name: 'browser_evaluate',
      ...acting,
      description: 'Calls a function of JavaScript in the page and gives what it returns.',
      input: z.object({
        function: z.string().min(1).describe('() => { … }, or (element) => { … } with a ref.'),
        element,
        ref: z.string().min(1).optional().describe('Its ref in the last snapshot: what the function is called with.'),
      }),
      run: async (args, { signal }) => {
        const value = await (await session()).inTab((tab) => tab.run(args.function, args.ref, signal), signal);
        return textResponse({ text: value === undefined ? 'undefined' : JSON.stringify(value, null, 2) });
      },
    }),
    builtin('browser', {
      name: 'browser_take_screenshot',
      ...looking,
      description: 'Gives a picture of the page, to look at.',
      input: z.object({
        fullPage: z.boolean().default(false).describe('The whole page, not only what is in view.'),
        ref: z.string().optional().describe('Only this thing of the last snapshot.'),
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
      description: 'Lists, opens, closes or chooses tabs.',
      input: z.object({
        action: z.enum(['list', 'new', 'close', 'select']),
        index: z
          .number()
          .int()
          .min(0)
          .optional()
          .describe('Which tab to close or choose, from 0. Absent, `close` closes the one in front.'),
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
      ...looking,
      description:
        `Waits for a text on the page, for its end, or for some time; for texts up to ${WAIT_SECONDS} ` + `seconds.`,
      input: z
        .object({
          time: z.number().positive().max(300).optional().describe('Seconds.'),
          text: z.string().min(1).optional().describe('Until it is there.'),
          textGone: z.string().min(1).optional().describe('Until it is gone.'),
        })
        .refine(
          ({ time, text, textGone }) => time !== undefined || text !== undefined || textGone !== undefined,
          'one of time, text and textGone is needed',
        ),
      run: ({ time, text, textGone }, { signal }) =>
        shown(async (tab) => {
          if (time !== undefined) await tab.pause(time * 1000);
          if (text !== undefined) await waited(tab, text, true);
          if (textGone !== undefined) await waited(tab, textGone, false);
          return undefined;
        }, signal),
    }),
  ];
  return { tools, close: async () => (await opened)?.close() };
}

async function fileAt(cwd: string, given: string): Promise<string> {
  const file = await confine(cwd, given);
  if (!(await stat(file)).isFile()) throw new ClassedError('tool_error', `${given} is not a file.`);
  return file;
}

async function pageText(
  browser: BrowserSession,
  tab: Tab,
  said: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const { title, url } = await tab.about();
  const snapshot = await tab.snapshot(signal);
  const notes = [...(said === undefined ? [] : [said]), ...browser.takeNotes()];
  return [
    ...notes,
    `Page: ${title === '' ? url : `${title} (${url})`}`,
    '',
    snapshot === '' ? '[nothing is on the page]' : snapshot,
  ].join('\n');
}

async function waited(tab: Tab, text: string, there: boolean): Promise<void> {
  if (await tab.waitForText(text, there, WAIT_SECONDS * 1000)) return;
  throw new ClassedError(
    'tool_error',
    `After ${WAIT_SECONDS} s the text ${JSON.stringify(text)} is ${there ? 'not on the page' : 'still on the page'}.`,
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
  if (tab === undefined) throw new ClassedError('invalid_arguments', 'index: there is no such tab.');
  if (action === 'close') await browser.closeTab(tab);
  else await browser.bringToFront(tab);
}

async function tabLines(browser: BrowserSession, tabs: readonly Tab[]): Promise<string[]> {
  return Promise.all(
    tabs.map(async (tab, index) => {
      const { title, url } = tab.crashed ? { title: '', url: '[has crashed]' } : await tab.about();
      return `${index}: ${browser.isFront(tab, tabs) ? '(in front) ' : ''}${title === '' ? url : `${title} (${url})`}`;
    }),
  );
}
