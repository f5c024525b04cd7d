/**
 * Puts the browser into a sandbox. Playwright starts one program, so it starts a script that enters the sandbox and
 * becomes the browser there; the pipe that Playwright uses is inherited.
 */
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ClassedError } from '../../../trace/classedError.ts';
import type { ToolEnvironment } from '../../environment.ts';
import { quoted } from '../../processes/quoted.ts';
import { scratchIn } from '../../sandbox/folders.ts';
import { openSandbox } from '../../sandbox/open.ts';
import type { View } from '../../sandbox/sandbox.ts';

/** Longer files are programs, not scripts. */
const SCRIPT_BYTES = 64 * 1024;

export interface Launcher {
  /** The program that Playwright starts. */
  readonly file: string;
  readonly env: Readonly<Record<string, string>>;
  /** Returns the leader of the browser's process group. The browser itself only knows its ID inside the sandbox. */
  pid(): Promise<number | undefined>;
  end(): Promise<void>;
}

/**
 * Opens a sandbox for the browser, in which it sees its profile and the working directory. Returns undefined without a
 * sandbox: on macOS, where Chromium cannot use its own one inside of another, with `sandbox: off`, and where
 * there is none. Throws as `openSandbox`, and ClassedError `tool_error` for a browser that cannot run in one.
 */
export async function openLauncher(
  browser: string,
  profile: string,
  { cwd, sandbox, pools }: Pick<ToolEnvironment, 'cwd' | 'sandbox' | 'pools'>,
  network: View['network'],
): Promise<Launcher | undefined> {
  if (process.platform !== 'linux') return undefined;
  if (sandbox.mode !== 'off' && isSnap(browser)) {
    if (sandbox.mode === 'on') return undefined;
    throw new ClassedError(
      'tool_error',
      `The browser ${browser} is a snap, which does not run in a sandbox. Install Google Chrome, or set CHROME_PATH ` +
        'to another Chromium.',
    );
  }
  const scratch = scratchIn(pools.scratch);
  const view = {
    // What the browser consists of, e.g. in Playwright's cache; the font cache, without which it starts slowly.
    read: [path.dirname(realpathSync(browser)), '/var/cache/fontconfig'],
    write: [cwd, profile],
    own: [cwd, profile],
    hide: sandbox.hide,
    caches: [],
    scratch,
    network,
  };
  const opened = await openSandbox(sandbox, view, pools.processGroups);
  if (opened === undefined) return undefined;
  const [file, pidFile] = [path.join(scratch, 'browser'), path.join(scratch, 'pid')];
  const { file: program, args } = opened.command({ file: browser, args: [], cwd, setup: '' });
  const script = `#!/bin/sh\necho $$ > ${quoted(pidFile)}\nexec ${[program, ...args].map(quoted).join(' ')} "$@"\n`;
  try {
    await writeFile(file, script, { mode: 0o700 });
  } catch (error) {
    await opened.end();
    throw error;
  }
  return {
    file,
    env: opened.env,
    pid: async () => {
      const text = await readFile(pidFile, 'utf8').catch(() => ''); // it has not started
      return text === '' ? undefined : Number(text);
    },
    end: () => opened.end(),
  };
}

/** Whether a browser comes as a snap, which the system starts with rights that a sandbox does not have. */
function isSnap(browser: string): boolean {
  const file = realpathSync(browser);
  if (file.startsWith('/snap/') || path.basename(file) === 'snap') return true;
  return (
    existsSync('/snap') && statSync(file).size < SCRIPT_BYTES && readFileSync(file, 'latin1').includes('/snap/bin/')
  );
}
