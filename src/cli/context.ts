/** The context of a command: its output, store, target, and abort signal. */
import { type Connection, connect } from '../client/connect.ts';
import { defaultStore } from '../client/folders.ts';
import type { TargetConnection } from '../client/targets/connectTarget.ts';
import { LOCAL } from '../client/targets/local.ts';
import { TargetFile } from '../client/targets/targetFile.ts';
import { placed } from '../client/text/placed.ts';
import { StudioError } from '../common/errors.ts';
import { log, print, printColored, printColoredBlocks, printJson, printJsonList } from './output.ts';

export interface Terminal {
  /** Line width in characters. */
  readonly width: number;
  readonly colour: boolean;
  /** Whether stderr is a terminal, so that progress can redraw itself. */
  readonly live: boolean;
}

export interface Context {
  readonly json: boolean;
  readonly store: string;
  /** Whether --store or ROLLOUT_STORE names a store. */
  readonly hasExplicitStore: boolean;
  /** The value of --target or ROLLOUT_TARGET: a target’s name or `local`. undefined if neither is set. */
  readonly target: string | undefined;
  readonly targets: TargetFile;
  readonly cwd: string;
  readonly terminal: Terminal;
  readonly env: NodeJS.ProcessEnv;
  /** Aborts on Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  /** Writes a line to stdout. */
  readonly print: (text: string) => void;
  /** Writes a line that has colors to stdout. */
  readonly printColored: (text: string) => void;
  readonly printColoredBlocks: typeof printColoredBlocks;
  /** Writes one JSON document to stdout. */
  readonly printJson: (value: unknown) => void;
  /** Writes one JSON document to stdout: an object with these fields, and a list as its last member. */
  readonly printJsonList: typeof printJsonList;
  /** Writes a line to stderr, for progress and logs. */
  readonly log: (text: string) => void;
  /** Completes the commands in a message for the target of --target, so that they work when copied. */
  readonly placed: (text: string) => string;
  /** Connects to a target’s server (`local`: the store’s server). Defaults to the target of --target. */
  readonly connect: (target?: string) => Promise<Connection>;
  /** Closes all connections, including port forwards. */
  readonly close: () => Promise<void>;
}

interface ContextInput {
  readonly json: boolean;
  readonly store: string | undefined;
  readonly target: string | undefined;
  readonly signal: AbortSignal;
}

export function makeContext(input: ContextInput): Context {
  const targets = new TargetFile();
  // An explicit --store takes precedence over ROLLOUT_TARGET.
  const target = input.target ?? (input.store === undefined ? process.env['ROLLOUT_TARGET'] || undefined : undefined);
  if (target !== undefined && target !== LOCAL) {
    if (input.store !== undefined)
      throw new StudioError('usage', '--store is for the local server; a target has its own store.', {
        hint: 'Remove --store or --target.',
      });
    targets.get(target); // fail early if the target does not exist
  }
  const store = input.store ?? process.env['ROLLOUT_STORE'] ?? defaultStore();
  const ending = new AbortController();
  const open = new Map<string, Promise<TargetConnection>>();
  const connectTo = async (name: string): Promise<Connection> => {
    if (name === LOCAL) return connect({ store, signal: input.signal, onNotice: log });
    // Load the Kubernetes client only when a target needs it.
    const { connectTarget } = await import('../client/targets/connectTarget.ts');
    const existing = open.get(name);
    if (existing !== undefined) return existing;
    const connecting = connectTarget(name, targets.get(name), {
      env: process.env,
      signal: AbortSignal.any([input.signal, ending.signal]),
      onNotice: log,
    });
    open.set(name, connecting);
    connecting.catch(() => open.delete(name)); // the next call retries
    return connecting;
  };
  return {
    json: input.json,
    store,
    hasExplicitStore: input.store !== undefined || process.env['ROLLOUT_STORE'] !== undefined,
    target,
    targets,
    cwd: process.cwd(),
    env: process.env,
    signal: input.signal,
    terminal: {
      width: Math.max(60, Math.min(process.stdout.columns || Number(process.env['COLUMNS']) || 100, 160)),
      colour: process.stdout.isTTY && process.env['NO_COLOR'] === undefined,
      live: process.stderr.isTTY,
    },
    print,
    printColored,
    printColoredBlocks,
    printJson,
    printJsonList,
    log,
    placed: (text) => (target === undefined || target === LOCAL ? text : placed(text, target, targets.get(target))),
    connect: (name = target ?? LOCAL) => connectTo(name),
    close: async () => {
      ending.abort();
      for (const connected of await Promise.allSettled(open.values()))
        if (connected.status === 'fulfilled') connected.value.close();
    },
  };
}
