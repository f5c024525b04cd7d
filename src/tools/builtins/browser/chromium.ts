/**
 * Starts and ends the browser of one rollout. Playwright starts the process. This file adds what it lacks: finding the
 * browser of this machine, registering the process group with the worker's reaper, and deleting the profile.
 */
import { mkdir } from 'node:fs/promises';
import { type BrowserContext, type CDPSession, chromium, type LaunchOptions } from 'playwright-core';
import { CHROMIUM, installHint } from '../../../config/needs.ts';
import { removeTree } from '../../../disk/removeTree.ts';
import { ClassedError } from '../../../trace/classedError.ts';
import { abortedError } from '../../aborted.ts';
import { findChromium, mayHaveSandbox } from '../../chromium.ts';
import type { ToolEnvironment } from '../../environment.ts';
import { killTree } from '../../processes/processTree.ts';
import { endStrays, marked, newOwner } from '../../processes/strays.ts';
import { openLauncher } from './launcher.ts';
import { type BrowserAccess, BrowserNetwork } from './network.ts';
import { plainMessage } from './playwrightErrors.ts';
import { profileOf } from './profile.ts';

const START_MS = 60_000;
const STDERR_LINES = 5;
/** Added to Playwright's own arguments. */
const ARGS = ['--window-size=1280,800', '--force-webrtc-ip-handling-policy=disable_non_proxied_udp'];
/** Playwright's arguments to omit: pages may only open windows when the user acts, as in any browser. */
const OMITTED_ARGS = ['--disable-popup-blocking'];

export interface Chromium {
  readonly context: BrowserContext;
  /** DevTools session of the browser itself, for commands without a method in Playwright. */
  readonly session: CDPSession;
  readonly hasEnded: boolean;
  /** Resolves when the browser ends, including on its own. */
  readonly ended: Promise<void>;
  end(): Promise<void>;
}

/**
 * Starts a browser. Throws ClassedError `tool_error` if none is installed, or if it does not start. `closing` ends a
 * browser that hangs while it starts.
 */
export async function startChromium(
  environment: ToolEnvironment,
  access: BrowserAccess,
  closing: AbortSignal,
): Promise<Chromium> {
  const {
    cwd,
    pools: { env, processGroups },
  } = environment;
  const browser = findChromium();
  if (browser === undefined)
    throw new ClassedError(
      'tool_error',
      `${CHROMIUM} is not installed on the machine of this rollout. ${installHint(CHROMIUM)}.`,
    );
  const profile = profileOf(cwd);
  if (closing.aborted) throw abortedError(closing);
  const removeProfile = async (): Promise<void> => {
    await processGroups.toolServer?.clear(profile);
    await removeTree(profile);
  };
  await removeProfile(); // perhaps a link
  await mkdir(profile);
  const network = new BrowserNetwork(access, processGroups);
  const launcher = await openLauncher(browser, profile, environment, network.view).catch(async (error: unknown) => {
    await Promise.all([network.end(), removeProfile()]);
    throw error;
  });
  // Playwright does not support a signal while it starts a browser.
  const owner = newOwner(processGroups.owner);
  const stop = (): void => void endStrays(owner);
  closing.addEventListener('abort', stop, { once: true });
  const launch = (options: Pick<LaunchOptions, 'proxy' | 'chromiumSandbox'>): Promise<BrowserContext> =>
    chromium.launchPersistentContext(profile, {
      executablePath: launcher?.file ?? browser,
      args: ARGS,
      ignoreDefaultArgs: OMITTED_ARGS,
      artifactsDir: profile,
      env: marked({ ...env, ...launcher?.env }, owner),
      handleSIGHUP: false,
      handleSIGINT: false,
      handleSIGTERM: false,
      timeout: START_MS,
      viewport: null,
      ...options,
    });
  let pid: number | undefined;
  let context: BrowserContext | undefined;
  const end = async (): Promise<void> => {
    if (pid !== undefined) killTree(pid);
    await launcher?.end().catch(() => undefined); // what is left in its folder is removed with the worker's
    await context?.close().catch(() => undefined);
    await network.end();
    if (pid !== undefined) processGroups.remove(pid);
    // Files that cannot be deleted now are deleted with the working directory.
    await removeProfile().catch(() => undefined);
  };
  try {
    closing.throwIfAborted();
    const options = await network.launchOptions(launcher !== undefined);
    const chromiumSandbox = mayHaveSandbox();
    context = await launch({ ...options, chromiumSandbox }).catch((error: unknown) => {
      // Containers often cannot provide a sandbox.
      if (chromiumSandbox && !closing.aborted && /sandbox|namespace/i.test(plainMessage(error))) return launch(options);
      throw error;
    });
    let hasEnded = false;
    const ended = new Promise<void>((resolve) => {
      context?.once('close', () => {
        hasEnded = true;
        resolve();
      });
    });
    const session = await context.browser()?.newBrowserCDPSession();
    if (session === undefined) throw new Error('Playwright returned a context without its browser.');
    // Playwright makes it the leader of a process group.
    pid = launcher === undefined ? await ownPid(session) : await launcher.pid();
    if (pid !== undefined) processGroups.add(pid);
    return {
      context,
      session,
      get hasEnded() {
        return hasEnded;
      },
      ended,
      end,
    };
  } catch (error) {
    await end();
    throw new ClassedError('tool_error', `Cannot start the browser ${browser}: ${startProblem(error)}`, {
      cause: error,
    });
  } finally {
    closing.removeEventListener('abort', stop);
  }
}

async function ownPid(session: CDPSession): Promise<number | undefined> {
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  return processInfo.find(({ type }) => type === 'browser')?.id;
}

/** Returns how the browser ended, or otherwise Playwright's message, and the last lines that the browser wrote. */
function startProblem(error: unknown): string {
  const message = plainMessage(error);
  const code = /process did exit: exitCode=(\w+)/.exec(message)?.[1];
  const [first = '', ...log] = message.split('\n');
  const stderr = log.flatMap((line) => /\[err\] (.*)/.exec(line)?.[1] ?? []);
  return [code === undefined ? first : `it exited with code ${code}.`, ...stderr.slice(-STDERR_LINES)].join('\n');
}
