/** Programs of the system that some suites need: a browser, and ripgrep, which VS Code uses. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

type Program = 'chromium' | 'headlessShell' | 'ripgrep';

interface ProgramInfo {
  /** Names and paths where it can be found. */
  readonly names: readonly string[];
  /** Environment variable for another path. */
  readonly variable: string;
  /** Debian packages. */
  readonly packages: readonly string[];
}

const PROGRAMS: Readonly<Record<Program, ProgramInfo>> = {
  chromium: {
    names: [
      'chromium',
      'chromium-browser',
      'google-chrome',
      'google-chrome-stable',
      'chrome.exe',
      '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
      '/Applications/Chromium.app/Contents/MacOS/Chromium',
      'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
      'C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe',
    ],
    variable: 'CHROMIUM',
    packages: ['chromium', 'fonts-dejavu-core'],
  },
  headlessShell: {
    names: ['chromium-headless-shell', 'chrome-headless-shell'],
    variable: 'CHROMIUM',
    packages: ['chromium-headless-shell'],
  },
  ripgrep: { names: ['rg', 'rg.exe'], variable: 'RIPGREP', packages: ['ripgrep'] },
};

/** What is not required must not hold up tests where its source does not answer. */
const ONE_TRY = ['-o', 'Acquire::Retries=0', '-o', 'Acquire::http::Timeout=20', '-o', 'Acquire::https::Timeout=20'];
const ONE_TRY_MS = 120_000;

/** Returns the path of a program; undefined if it is not found. */
export function findProgram(program: Program): string | undefined {
  const { names, variable } = PROGRAMS[program];
  const named = process.env[variable];
  if (named !== undefined && named !== '') return existsSync(named) ? named : undefined;
  const folders = (process.env['PATH'] ?? '').split(path.delimiter).filter((folder) => folder !== '');
  return names
    .flatMap((name) => (path.isAbsolute(name) ? [name] : folders.map((folder) => path.join(folder, name))))
    .find((file) => existsSync(file));
}

/**
 * The browser that shows pages to tests: the one without a user interface, which takes a sixth less processor time, or
 * else the whole one.
 */
export function findTestBrowser(): string | undefined {
  return findProgram('headlessShell') ?? findProgram('chromium');
}

/** Installs missing programs if possible (on Debian, as root). Otherwise, returns what to do. */
export function installPrograms(programs: readonly Program[]): string | undefined {
  const missing = installMissing(programs);
  if (missing === undefined && programs.includes('chromium') && findProgram('headlessShell') === undefined)
    installHeadlessShell();
  return missing;
}

function installMissing(programs: readonly Program[]): string | undefined {
  const missing = programs.filter((program) => findProgram(program) === undefined);
  if (missing.length === 0) return undefined;
  const packages = missing.flatMap((program) => PROGRAMS[program].packages);
  const hint =
    `Install ${missing.join(' and ')}, or set ` +
    `${missing.map((program) => PROGRAMS[program].variable).join(' and ')}.`;
  if (!mayInstall()) return hint;
  console.log(`installing ${packages.join(' ')}`);
  if (!apt(['update'], 'inherit') || !apt(['install', '-y', '--no-install-recommends', ...packages], 'inherit'))
    return `apt-get could not install ${packages.join(' ')}. ${hint}`;
  return undefined;
}

/** Tests also pass without it, so lists of packages are not updated, and nothing else is removed for it. */
function installHeadlessShell(): void {
  const { packages } = PROGRAMS.headlessShell;
  if (!mayInstall()) return;
  console.log(`installing ${packages.join(' ')}`);
  const install = ['install', '-y', '--no-install-recommends', '--no-remove', ...packages];
  if (!apt([...ONE_TRY, ...install], 'ignore', ONE_TRY_MS))
    console.log('It could not be installed. Tests use the whole browser, which takes longer.');
}

function mayInstall(): boolean {
  return process.platform === 'linux' && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
}

function apt(args: readonly string[], errors: 'inherit' | 'ignore', timeout?: number): boolean {
  const done = spawnSync('/usr/bin/apt-get', ['-qq', ...args], {
    stdio: ['ignore', 'ignore', errors],
    timeout,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
  return done.status === 0;
}
