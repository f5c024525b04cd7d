/** Programs of the system that some suites need: a browser, and ripgrep, which VS Code uses. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

type Program = 'chromium' | 'ripgrep';

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
  ripgrep: { names: ['rg', 'rg.exe'], variable: 'RIPGREP', packages: ['ripgrep'] },
};

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

/** Installs missing programs if possible (on Debian, as root). Otherwise, returns what to do. */
export function installPrograms(programs: readonly Program[]): string | undefined {
  const missing = programs.filter((program) => findProgram(program) === undefined);
  if (missing.length === 0) return undefined;
  const packages = missing.flatMap((program) => PROGRAMS[program].packages);
  const hint =
    `Install ${missing.join(' and ')}, or set ` +
    `${missing.map((program) => PROGRAMS[program].variable).join(' and ')}.`;
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return hint;
  console.log(`installing ${packages.join(' ')}`);
  const apt = (args: readonly string[]): boolean =>
    spawnSync('/usr/bin/apt-get', ['-qq', ...args], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    }).status === 0;
  if (!apt(['update']) || !apt(['install', '-y', '--no-install-recommends', ...packages]))
    return `apt-get could not install ${packages.join(' ')}. ${hint}`;
  return undefined;
}
