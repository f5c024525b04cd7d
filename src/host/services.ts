/**
 * What the parts of the extension use of each other. `extension.ts` makes them; nothing here is awaited at activation.
 */
import type * as vscode from 'vscode';
import type { Connection } from '../client/connect.ts';
import type { Listen, Observable } from '../common/emitter.ts';
import type { BatchRow } from '../protocol/client.ts';
import type { PageAction, PagePlace, ServerState } from '../protocol/page.ts';

/** The way to the server of the chosen store or target. Made lazily: the first use attaches or starts it. */
export interface ServerLink {
  readonly state: Observable<ServerState>;
  /** Store as the settings name it: a folder or `postgres://…`. */
  readonly store: string;
  /** Name of the target the window works with; `local`: the store's own server. */
  readonly target: string;
  /**
   * The connection, made when there is none. `start: false` only attaches and throws `unavailable` when no server runs.
   * In
   * Restricted Mode it throws `forbidden`. A server that went away is told to the user once, with “Start Again”.
   */
  connection(options?: { readonly start?: boolean; readonly signal?: AbortSignal }): Promise<Connection>;
  /** Told after each first or repeated connection. */
  readonly connected: Listen<Connection>;
  /** Another store or target was chosen: nothing that was read before holds. */
  readonly moved: Listen<undefined>;
}

/**
 * The `rollout` command as a child process: what reads users' files, checks and bundles them. Never in this process.
 */
export interface Cli {
  /**
   * Runs `rollout ARGS --json --store STORE` and gives its one JSON document. Throws StudioError with the command's own
   * words
   * (code `config` with `details.problems` for wrong files). `env`: values for `${env:X}` beside the process's own.
   * `at`: of another server than the window works with.
   */
  json(
    args: readonly string[],
    options: {
      readonly cwd: string;
      readonly signal?: AbortSignal;
      readonly env?: Readonly<Record<string, string>>;
      readonly at?: Pick<ServerLink, 'target' | 'store'>;
      readonly onProgress?: (line: string) => void;
    },
  ): Promise<unknown>;
}

/** The newest batches, kept up to date while somebody looks. */
export interface BatchList {
  readonly rows: Observable<readonly BatchRow[]>;
  /** The row as it is known; fetched when it is not. */
  get(batch: string, signal?: AbortSignal): Promise<BatchRow>;
  /** More of the older ones; false when there are none. */
  more(signal?: AbortSignal): Promise<boolean>;
  refresh(): void;
  /**
   * Follows while there is at least one watcher; disposing ends it. `start: false`: only while a server runs anyway.
   */
  watch(options?: { readonly start?: boolean }): vscode.Disposable;
}

/** The page panels. */
export interface Pages {
  open(place: PagePlace, options?: { readonly beside?: boolean; readonly preserveFocus?: boolean }): Promise<void>;
  /** Whether a page of it is open. */
  shows(place: PagePlace): boolean;
  /**
   * Where the active page is; undefined when the active editor is none, or a page of another server than the window
   * works with.
   */
  readonly active: Observable<PagePlace | undefined>;
}

/** What is no matter of one page alone. */
export type HostAction = Exclude<PageAction, { do: 'breakpoint' | 'elsewhere' }>;
/** Does what a page asks for, and what commands ask for alike. */
export type DoAction = (action: HostAction) => Promise<void>;

export interface Services {
  readonly context: vscode.ExtensionContext;
  readonly log: vscode.LogOutputChannel;
  readonly server: ServerLink;
  readonly cli: Cli;
  readonly batches: BatchList;
  readonly pages: Pages;
}

/** Registers a command with the product's error handling: every failure is shown once, with what to do next. */
export type RegisterCommand = (id: string, run: (...args: unknown[]) => Promise<unknown>) => vscode.Disposable;

/** What the commands of a group do, by their ids. */
export type CommandGroup<Id extends string> = Readonly<Record<Id, (...args: unknown[]) => Promise<unknown>>>;
