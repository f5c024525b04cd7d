/**
 * Determines which programs tools and worlds need beyond Node.js, and whether a pod has them. Pure. Needs are declared
 * with `needs`, derived from the command of an MCP server, or implied by built-in sets.
 */

import { StudioError } from '../common/errors.ts';
import { basename } from './paths.ts';
import { type CodeSettings, languagesOf } from './schema/builtinSettings.ts';
import type { BUILTINS } from './schema/toolEntry.ts';
import {
  type Submission,
  type SubmittedPods,
  type SubmittedTools,
  type SubmittedWorld,
  toolEntriesOf,
  worldsOf,
} from './submission.ts';

/** A program that a part of a submission needs. */
export interface Need {
  readonly name: string;
  /** Display name of the part: `the MCP server search`. */
  readonly of: string;
  /** Whether the file or a built-in set declares it; otherwise it is derived from a command. */
  readonly declared: boolean;
  /** `file:line:column`, or only the file. */
  readonly at: string;
  /** An alternative to installing it. */
  readonly instead?: string;
  /** Kind of the world, if a world needs it. */
  readonly world?: WorldKind;
}

type WorldKind = SubmittedWorld['kind'];

/** What worlds of a kind run besides Node.js. */
const KIND_NEEDS: Readonly<Record<WorldKind, readonly string[]>> = {
  module: [],
  code: ['python'],
  simulated: [],
  recorded: [],
  replay: [],
};

/** Programs that every Node.js image has, including its shell and utilities. */
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
/** Matches `node:24-slim` from any registry. */
const NODE_IMAGE = /(^|\/)node(:[^/]*)?(@[^/]*)?$/;
const BROWSER = 'browser';
/** Program that the built-in browser needs. */
export const CHROMIUM = 'chromium';
const PYTHON = 'python';
/** Alternative if Python is not available. */
const NO_PYTHON = 'or add `code: { languages: [javascript] }` next to `builtin: [code]`';
/** Packages that start a browser. */
const DRIVES_BROWSER = /playwright|puppeteer|chrome-devtools/i;
const PACKAGE_RUNNERS: ReadonlySet<string> = new Set(['npx', 'npm', 'yarn', 'node']);

/** Different names of the same program. */
const ALIASES: readonly (readonly [RegExp, string])[] = [
  [/^(python[\d.]*|py|pip[\d.]*)$/, 'python'],
  [/^uvx$/, 'uv'],
  [/^(chromium(-browser)?|google-chrome(-stable)?|chrome|firefox|msedge|microsoft-edge)$/, BROWSER],
];

/**
 * Returns the program that the command of an MCP server needs; undefined if every Node.js image has it, or if it cannot
 * be determined.
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
 * Returns whether pods have a program; `unknown` for a custom image without `provides`. Without `pods`, the image is
 * that of the server, which has only Node.js.
 */
export function hasProgram(
  pods: Pick<SubmittedPods, 'image' | 'provides'> | undefined,
  need: string,
): 'yes' | 'no' | 'unknown' {
  const name = plain(need);
  if (WITH_NODE.has(name) || pods?.provides?.some((provided) => plain(provided) === name) === true) return 'yes';
  return pods?.image === undefined || pods.provides !== undefined || NODE_IMAGE.test(pods.image) ? 'no' : 'unknown';
}

/** Returns everything a submission needs. */
export function needsOf(submission: Submission): Need[] {
  return [
    ...toolEntriesOf(submission).flatMap(({ entry, file }) => toolNeeds(entry, locationOf(entry.position, file))),
    ...worldsOf(submission).flatMap(({ name: of, file, kind, position, needs = [] }) =>
      needs.map(
        (name): Need => ({
          name,
          of: `the world ${of}`,
          declared: true,
          at: locationOf(position, file),
          world: kind,
        }),
      ),
    ),
  ];
}

/** Disk that programs fill besides what they work on, in MiB: for a pod, and for each rollout. */
const DISK: Readonly<Record<string, { readonly base: number; readonly each: number }>> = {
  // Profiles and caches.
  [BROWSER]: { base: 0, each: 512 },
  // Packages that it downloads.
  uv: { base: 4096, each: 64 },
};

/** Returns the disk that programs of a submission need, in MiB. */
export function diskNeeds(submission: Submission): { readonly base: number; readonly each: number } {
  const programs = new Set(needsOf(submission).map(({ name }) => plain(name)));
  const amounts = [...programs].flatMap((name) => DISK[name] ?? []);
  return {
    base: amounts.reduce((sum, { base }) => sum + base, 0),
    each: amounts.reduce((sum, { each }) => sum + each, 0),
  };
}

/** Returns the programs that worlds of a kind need and that a world file does not declare itself. */
export function impliedNeeds(kind: WorldKind, declared: readonly string[] = []): string[] {
  return KIND_NEEDS[kind].filter((name) => !declared.some((other) => plain(other) === name));
}

/** Returns what a built-in set needs beyond Node.js. */
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
  const declared = (entry.needs ?? []).map((name): Need => ({ name, of, declared: true, at }));
  const own = entry.kind === 'builtin' ? builtinNeed(entry.name, entry.settings) : undefined;
  if (own !== undefined) return [...declared, { ...own, of, declared: true, at }];
  if (entry.kind !== 'mcp' || !('command' in entry.server)) return declared;
  const derived = commandNeed(entry.server.command, entry.server.args);
  return derived === undefined || declared.some(({ name }) => plain(name) === derived)
    ? declared
    : [...declared, { name: derived, of, declared: false, at }];
}

function locationOf(
  position: { readonly file: string; readonly line: number; readonly column: number } | undefined,
  file: string,
): string {
  return position === undefined ? file : `${position.file}:${position.line}:${position.column}`;
}

function plain(name: string): string {
  const lower = name.toLowerCase();
  return ALIASES.find(([pattern]) => pattern.test(lower))?.[1] ?? lower;
}

/** Returns whether a program is Python. */
export function isPython(name: string): boolean {
  return plain(name) === PYTHON;
}

/** Returns the names that a program may have on the PATH; undefined if it need not be on the PATH. */
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

/** Returns how to install a missing program, without a final period. */
export function installHint(name: string): string {
  if (isPython(name)) return 'Install Python 3 so that `python3` (`python` on Windows) is on the PATH';
  return name === CHROMIUM
    ? 'Install Chromium, Google Chrome, or Microsoft Edge, run `npx playwright install chromium`, or set the ' +
        'environment variable CHROME_PATH to the program'
    : `Install ${name}`;
}

/** Returns the message and hint for a program that the pods do not have. */
export function unmetText({ of, name, instead, world }: Pick<Need, 'of' | 'name' | 'instead' | 'world'>): {
  readonly message: string;
  readonly hint: string;
} {
  const sidecar =
    ', or run the tool as a sidecar that serves MCP over HTTP and set its `url`' +
    (instead === undefined ? '' : `, ${instead}`);
  const recipe =
    world === 'code' && isPython(name) ? '. `rollout world image` writes the recipe of one with its packages' : '';
  return {
    message: `${of} needs ${name}, which the image of the pods does not have`,
    hint:
      `Use an image that has it (\`pods.image\` with \`pods.provides: [${name}]\`)` +
      `${world === undefined ? sidecar : recipe}.`,
  };
}

/** Returns the error for a batch that requires a sandbox where there is none. */
export function noSandbox(reason: string, place: 'machine' | 'pods' = 'machine'): StudioError {
  const [text, other] =
    place === 'machine' ? ['this machine has', 'on another machine'] : ['its pods have', 'elsewhere'];
  return new StudioError('config', `The batch requires a sandbox, and ${text} none: ${reason}.`, {
    hint: `Use \`sandbox: on\` to run its programs without one, or run the batch ${other}.`,
  });
}
