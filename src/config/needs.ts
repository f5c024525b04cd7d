/**
 * What tools and worlds need of the machine they run on, beyond Node.js, and whether a pod has it. Pure. Needs are
 * names of programs: those that a file tells by `needs`, those that the command of an MCP server shows, and those of
 * built-in sets.
 */

import { basename } from './paths.ts';
import { type CodeSettings, languagesOf } from './schema/builtinSettings.ts';
import type { BUILTINS } from './schema/toolEntry.ts';
import { agentsOf, type Submission, type SubmittedPods, type SubmittedTools } from './submission.ts';

/** Something that a part of a submission needs. */
export interface Need {
  readonly name: string;
  /** The part, for people: `the MCP server search`. */
  readonly of: string;
  /** The file says so itself; else its command shows it. */
  readonly told: boolean;
  /** `file:line:column`, as far as it is known. */
  readonly at: string;
  /** What one may do instead of bringing it. */
  readonly instead?: string;
}

/** What every image of Node.js has, its shell and its small programs included. */
const WITH_NODE: ReadonlySet<string> = new Set([
  'node',
  'nodejs',
  'npm',
  'npx',
  'corepack',
  'yarn',
  'yarnpkg',
  'sh',
  'bash',
  'dash',
  'env',
  'cat',
  'cp',
  'date',
  'echo',
  'false',
  'find',
  'grep',
  'head',
  'ls',
  'mkdir',
  'mv',
  'nohup',
  'perl',
  'printf',
  'rm',
  'sed',
  'sleep',
  'sort',
  'tail',
  'tar',
  'tee',
  'test',
  'timeout',
  'touch',
  'tr',
  'true',
  'uniq',
  'wc',
  'xargs',
  'gzip',
]);
/** `node:24-slim`, from whatever registry. */
const NODE_ALONE = /(^|\/)node(:[^/]*)?(@[^/]*)?$/;
const BROWSER = 'browser';
/** What the built-in browser is. */
export const CHROMIUM = 'chromium';
const PYTHON = 'python';
/** What else one may do where Python is not to be had. */
const NO_PYTHON = 'or write `code: { languages: [javascript] }` beside `builtin: [code]`';
/** Packages that start a browser. */
const DRIVES_BROWSER = /playwright|puppeteer|chrome-devtools/i;
const PACKAGE_RUNNERS: ReadonlySet<string> = new Set(['npx', 'npm', 'yarn', 'node']);

/** Names of one and the same thing. */
const ALIASES: readonly (readonly [RegExp, string])[] = [
  [/^(python[\d.]*|py|pip[\d.]*)$/, 'python'],
  [/^uvx$/, 'uv'],
  [/^(chromium(-browser)?|google-chrome(-stable)?|chrome|firefox|msedge|microsoft-edge)$/, BROWSER],
];

/**
 * The program that the command of an MCP server needs; undefined: every image of Node.js has it, or it cannot be told.
 */
export function commandNeed(command: string, args: readonly string[]): string | undefined {
  if (command.includes('${')) return undefined;
  const program = basename(command.replaceAll('\\', '/'))
    .toLowerCase()
    .replace(/\.(exe|cmd|bat)$/, '');
  if (PACKAGE_RUNNERS.has(program) && args.some((arg) => DRIVES_BROWSER.test(arg))) return BROWSER;
  return program === '' || WITH_NODE.has(program) ? undefined : plain(program);
}

/**
 * Whether pods have it. `unknown`: they have an image of their own, and nothing says what is in it.
 * Absent `pods`: the image is that of the server, Node.js alone.
 */
export function meets(
  pods: Pick<SubmittedPods, 'image' | 'provides'> | undefined,
  need: string,
): 'yes' | 'no' | 'unknown' {
  const name = plain(need);
  if (WITH_NODE.has(name) || pods?.provides?.some((provided) => plain(provided) === name) === true) return 'yes';
  return pods?.image === undefined || pods.provides !== undefined || NODE_ALONE.test(pods.image) ? 'no' : 'unknown';
}

/** All that a submission needs. */
export function needsOf(submission: Submission): Need[] {
  const { world } = submission;
  const needs = agentsOf(submission).flatMap(({ tools, file }) =>
    tools.flatMap((entry) => toolNeeds(entry, placed(entry.position, file))),
  );
  for (const name of world?.needs ?? [])
    needs.push({
      name,
      of: `the world ${world?.name ?? ''}`,
      told: true,
      at: placed(world?.position, world?.file ?? ''),
    });
  return needs;
}

/** What a built-in set needs, beyond Node.js. */
export function builtinNeed(
  set: (typeof BUILTINS)[number],
  settings: { readonly code?: CodeSettings | undefined } | undefined,
): Pick<Need, 'name' | 'instead'> | undefined {
  if (set === 'browser') return { name: CHROMIUM };
  return set === 'code' && languagesOf(settings?.code).includes('python')
    ? { name: PYTHON, instead: NO_PYTHON }
    : undefined;
}

function toolNeeds(entry: SubmittedTools, at: string): Need[] {
  const of =
    entry.kind === 'module'
      ? `the module ${entry.module.file}`
      : entry.kind === 'mcp'
        ? `the MCP server ${entry.name}`
        : `the built-in ${entry.name}`;
  const told = (entry.needs ?? []).map((name): Need => ({ name, of, told: true, at }));
  const own = entry.kind === 'builtin' ? builtinNeed(entry.name, entry.settings) : undefined;
  if (own !== undefined) return [...told, { ...own, of, told: true, at }];
  if (entry.kind !== 'mcp' || !('command' in entry.server)) return told;
  const shown = commandNeed(entry.server.command, entry.server.args);
  return shown === undefined || told.some(({ name }) => plain(name) === shown)
    ? told
    : [...told, { name: shown, of, told: false, at }];
}

function placed(
  position: { readonly file: string; readonly line: number; readonly column: number } | undefined,
  file: string,
): string {
  return position === undefined ? file : `${position.file}:${position.line}:${position.column}`;
}

function plain(name: string): string {
  const lower = name.toLowerCase();
  return ALIASES.find(([pattern]) => pattern.test(lower))?.[1] ?? lower;
}

/** The names that a program goes by on a PATH; undefined: it need not be on one. */
export function programNames(need: string): readonly string[] | undefined {
  switch (plain(need)) {
    case BROWSER:
      return undefined;
    case 'python':
      return ['python3', 'python', 'py', need];
    default:
      return [need];
  }
}

/** How one comes by what is missing on a machine. */
export function installHint(name: string): string {
  if (plain(name) === PYTHON) return 'Install Python 3, so that `python3` (`python` on Windows) is on the PATH';
  return name === CHROMIUM
    ? 'Install Chromium, Google Chrome or Microsoft Edge, run `npx playwright install chromium`, or name the ' +
        'program by the environment variable CHROME_PATH'
    : `Install ${name}`;
}

/** What to say of a need that no pod meets, and what to do about it. */
export function unmetText(
  of: string,
  name: string,
  instead?: string,
): { readonly message: string; readonly hint: string } {
  return {
    message: `${of} needs ${name}, which the pods do not have: their image has Node.js`,
    hint:
      `Name an image that has it (\`pods.image\`, with \`pods.provides: [${name}]\`), or run the tool as a sidecar ` +
      `that serves MCP over HTTP and give its \`url\`${instead === undefined ? '' : `, ${instead}`}.`,
  };
}
