/** A Chromium of one rollout: a process group of its own, with a profile that goes with it. */
import { mkdir, rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { CHROMIUM, installHint } from '../../../config/needs.ts';
import { ClassedError } from '../../../trace/classedError.ts';
import { abortedError } from '../../aborted.ts';
import { findChromium, mayHaveSandbox } from '../../chromium.ts';
import type { ToolEnvironment } from '../../environment.ts';
import { LastLines } from '../../processes/output.ts';
import { killTree } from '../../processes/processTree.ts';
import { spawnGroup } from '../../processes/spawnGroup.ts';

const START_MS = 60_000;
const SHOWN_LINES = 5;
const ARGS = [
  '--headless=new',
  '--remote-debugging-port=0',
  '--no-first-run',
  '--no-default-browser-check',
  '--disable-background-networking',
  '--disable-sync',
  '--disable-extensions',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-dev-shm-usage',
  '--disable-search-engine-choice-screen',
  '--mute-audio',
  '--password-store=basic',
  '--use-mock-keychain',
  '--window-size=1280,800',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  // Frames of other sites stay in the page's process, where its tree is read.
  '--disable-features=Translate,MediaRouter,OptimizationHints,IsolateOrigins,site-per-process',
  '--disable-site-isolation-trials',
];

export interface Chromium {
  /** Where its debugging protocol is. */
  readonly address: string;
  /** When it ends, by itself too. */
  readonly ended: Promise<void>;
  end(): Promise<void>;
}

/**
 * Throws ClassedError `tool_error` when there is none, or it does not start. `proxy`: the port it has to go through.
 */
export async function startChromium(
  { cwd, pools }: ToolEnvironment,
  proxy: number | undefined,
  signal: AbortSignal,
): Promise<Chromium> {
  const file = findChromium();
  if (file === undefined)
    throw new ClassedError(
      'tool_error',
      `There is no ${CHROMIUM} on the machine of this rollout. ${installHint(CHROMIUM)}.`,
    );
  // Beside the working directory: no file of the agent's, and gone with it.
  const profile = `${cwd}.browser`;
  await mkdir(profile, { recursive: true });
  const args = [
    ...ARGS,
    `--user-data-dir=${profile}`,
    ...(proxy === undefined ? [] : [`--proxy-server=http://127.0.0.1:${proxy}`, '--proxy-bypass-list=<-loopback>']),
    'about:blank',
  ];
  const start = (more: readonly string[]): Promise<Chromium> =>
    started(file, [...more, ...args], profile, { cwd, pools }, signal);
  try {
    // In a container there often is none to be had.
    return await start(mayHaveSandbox() ? [] : ['--no-sandbox']);
  } catch (error) {
    if (!(error instanceof ClassedError) || !/sandbox|namespace/i.test(error.message)) throw error;
    return start(['--no-sandbox']);
  }
}

async function started(
  file: string,
  args: readonly string[],
  profile: string,
  { cwd, pools: { env, processGroups } }: Pick<ToolEnvironment, 'cwd' | 'pools'>,
  signal: AbortSignal,
): Promise<Chromium> {
  if (signal.aborted) throw abortedError(signal);
  const child = spawnGroup({ file, args, cwd, env }, processGroups);
  const { pid } = child;
  const lines = new LastLines();
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => {
      resolve();
    });
    child.once('error', () => {
      resolve();
    });
  });
  const end = async (): Promise<void> => {
    if (pid !== undefined) killTree(pid);
    await ended;
    if (pid !== undefined) processGroups.remove(pid);
    // the working directory's own end takes what is left
    await rm(profile, { recursive: true, force: true, maxRetries: 5 }).catch(() => undefined);
  };
  child.stdout.resume();
  const late = AbortSignal.any([signal, AbortSignal.timeout(START_MS)]);
  try {
    const address = await new Promise<string>((resolve, reject) => {
      const output = createInterface({ input: child.stderr });
      output.on('line', (line) => {
        lines.push(`${line}\n`);
        const found = /^DevTools listening on (ws:\S+)/.exec(line)?.[1];
        if (found !== undefined) resolve(found);
      });
      const failed = (why: string): void => {
        reject(
          new ClassedError(
            'tool_error',
            `The browser ${file} does not start: ${why}. ${lines.last(SHOWN_LINES)}`.trim(),
          ),
        );
      };
      child.once('error', (error) => {
        failed(error.message);
      });
      // What it wrote last is read before its end is told.
      child.once('close', (code) => {
        failed(`it ended with ${String(code)}`);
      });
      late.addEventListener(
        'abort',
        () => {
          if (signal.aborted) reject(abortedError(signal));
          else failed(`nothing of it was heard for ${START_MS / 1000} s`);
        },
        { once: true },
      );
    });
    return { address, ended, end };
  } catch (error) {
    await end();
    throw error;
  }
}
