/** What every command gets: where to print, which store, and how it is stopped. */
import { connect, type Connection } from '../client/connect.ts';
import { defaultStore } from '../client/folders.ts';
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
  readonly connect: (start?: boolean) => Promise<Connection>;
}

export interface ContextInput {
  readonly json: boolean;
  readonly store: string | undefined;
  readonly target: string | undefined;
  readonly signal: AbortSignal;
}

export function makeContext(input: ContextInput): Context {
  if (input.target !== undefined && input.target !== 'local') {
    throw new StudioError('unsupported', `There is no target “${input.target}”: cluster targets come with a later version.`, { mend: 'Leave --target out to use this machine.' });
  }
  const store = input.store ?? process.env['ROLLOUT_STORE'] ?? defaultStore();
  const tell = (text: string): void => {
    process.stderr.write(`${text}\n`);
  };
  return {
    json: input.json,
    store,
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
    connect: (start = true) => connect({ store, start, signal: input.signal, onNotice: tell }),
  };
}
