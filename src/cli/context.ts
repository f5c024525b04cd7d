/** What every command gets: where to print, which store, and how it is stopped. */
import { type Connection, connect } from '../client/connect.ts';
import { defaultStore } from '../client/folders.ts';
import type { TargetConnection } from '../client/targets/connectTarget.ts';
import { LOCAL } from '../client/targets/local.ts';
import { TargetFile } from '../client/targets/targetFile.ts';
import { StudioError } from '../common/errors.ts';

export interface Terminal {
  /** Characters a line may have. */
  readonly width: number;
  readonly colour: boolean;
  /** stderr is a terminal: progress may redraw itself. */
  readonly live: boolean;
}

export interface Context {
  readonly json: boolean;
  readonly store: string;
  /** A store of this machine was named, by --store or ROLLOUT_STORE. */
  readonly storeGiven: boolean;
  /** --target, or ROLLOUT_TARGET: the name of a target, or `local`; undefined where neither is given. */
  readonly target: string | undefined;
  readonly targets: TargetFile;
  readonly cwd: string;
  readonly terminal: Terminal;
  readonly env: NodeJS.ProcessEnv;
  /** Aborts on Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  /** To stdout, with a line end. */
  readonly print: (text: string) => void;
  /** One JSON document to stdout. */
  readonly printJson: (value: unknown) => void;
  /** To stderr, with a line end: progress and logs. */
  readonly tell: (text: string) => void;
  /** To the server of a target, `local` being that of the store; by default to where --target says. */
  readonly connect: (target?: string) => Promise<Connection>;
  /** Ends what connections keep open on this machine. */
  readonly close: () => Promise<void>;
}

export interface ContextInput {
  readonly json: boolean;
  readonly store: string | undefined;
  readonly target: string | undefined;
  readonly signal: AbortSignal;
}

export function makeContext(input: ContextInput): Context {
  const targets = new TargetFile();
  // A store that is named goes before a target that the environment has.
  const target = input.target ?? (input.store === undefined ? process.env['ROLLOUT_TARGET'] || undefined : undefined);
  if (target !== undefined && target !== LOCAL) {
    if (input.store !== undefined)
      throw new StudioError('usage', '--store names a store of this machine; a target has its own.', {
        hint: 'Leave out one of --store and --target.',
      });
    targets.get(target); // an unknown one is told before anything is done
  }
  const store = input.store ?? process.env['ROLLOUT_STORE'] ?? defaultStore();
  const tell = (text: string): void => {
    process.stderr.write(`${text}\n`);
  };
  const ending = new AbortController();
  const open = new Map<string, Promise<TargetConnection>>();
  const connectTo = async (name: string): Promise<Connection> => {
    if (name === LOCAL) return connect({ store, signal: input.signal, onNotice: tell });
    // What talks to clusters is loaded where one is meant.
    const { connectTarget } = await import('../client/targets/connectTarget.ts');
    const there = open.get(name);
    if (there !== undefined) return there;
    const connecting = connectTarget(name, targets.get(name), {
      env: process.env,
      signal: AbortSignal.any([input.signal, ending.signal]),
      onNotice: tell,
    });
    open.set(name, connecting);
    connecting.catch(() => open.delete(name)); // the next one tries again
    return connecting;
  };
  return {
    json: input.json,
    store,
    storeGiven: input.store !== undefined || process.env['ROLLOUT_STORE'] !== undefined,
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
    print: (text) => {
      process.stdout.write(`${text}\n`);
    },
    printJson: (value) => {
      process.stdout.write(`${JSON.stringify(value)}\n`);
    },
    tell,
    connect: (name = target ?? LOCAL) => connectTo(name),
    close: async () => {
      ending.abort();
      for (const connected of await Promise.allSettled(open.values()))
        if (connected.status === 'fulfilled') connected.value.close();
    },
  };
}
