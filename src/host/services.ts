/**
 * The services that parts of the extension share. `extension.ts` creates them without awaiting anything.
 */
import type * as vscode from 'vscode';
import type { Connection } from '../client/connect.ts';
import type { Listen, Observable } from '../common/emitter.ts';
import type { JsonObject } from '../common/json.ts';
import type { You } from '../protocol/access.ts';
import type { BatchRow } from '../protocol/client.ts';
import type { PageAction, PagePlace, ServerState } from '../protocol/page.ts';
import type { WindowPrediction } from '../protocol/predictedCall.ts';
import type { LineListener, LineProcess } from './server/cliLines.ts';
import type { ServerSettings } from './server/serverSettings.ts';

/** The link to the server of the selected store or target. The first use attaches to it or starts it. */
export interface ServerLink {
  readonly state: Observable<ServerState>;
  /** What the user may do at the server, as it changes; undefined while that is unknown. */
  readonly you: Observable<You | undefined>;
  /** Says how often the connection dropped lately, if it is unstable. */
  readonly unstable?: Observable<string | undefined>;
  /** The store in the settings: a folder or `postgres://…`. */
  readonly store: string;
  /** Name of the window's target; `local` is the store's server. */
  readonly target: string;
  /**
   * Returns the connection, and connects if necessary. `start: false` only attaches, and throws `unavailable` if no
   * server is running. Throws `forbidden` in Restricted Mode. If the server is lost, the user sees one message with
   * “Start Server”.
   */
  connection(options?: { readonly start?: boolean; readonly signal?: AbortSignal }): Promise<Connection>;
  /** Fires after each connect and reconnect. */
  readonly connected: Listen<Connection>;
  /** Fires when the store or target changed, so that cached data is invalid. */
  readonly serverChanged: Listen<undefined>;
}

/**
 * Runs the `rollout` command as a child process, which reads, checks, and bundles the user's files.
 */
export interface Cli {
  /**
   * Runs `rollout ARGS --json --store STORE` and returns its JSON document. Throws the command's StudioError (`config`
   * with `details.problems` for invalid files). `env` adds values for `${env:X}`. `at` selects another server than the
   * window's.
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

/** Also runs commands that stay, and speak in lines. */
export interface LineCli extends Cli {
  /** Starts `rollout ARGS`, which reads and writes lines until it is stopped. */
  lines(
    args: readonly string[],
    options: {
      readonly cwd: string;
      readonly env?: Readonly<Record<string, string>>;
      readonly listener: LineListener;
    },
  ): Promise<LineProcess>;
}

/** The newest batches, kept up to date while watched. */
export interface BatchList {
  readonly rows: Observable<readonly BatchRow[]>;
  /** Returns a batch from the list, or fetches it. */
  get(batch: string, signal?: AbortSignal): Promise<BatchRow>;
  /** Loads older batches. Returns false if there are none. */
  more(signal?: AbortSignal): Promise<boolean>;
  refresh(): void;
  /**
   * Watches the list until disposed. With `start: false`, does not start a server.
   */
  watch(options?: { readonly start?: boolean }): vscode.Disposable;
}

/** The page panels. */
export interface Pages {
  open(place: PagePlace, options?: { readonly toSide?: boolean; readonly preserveFocus?: boolean }): Promise<void>;
  /** Returns whether the page is open. */
  shows(place: PagePlace): boolean;
  /**
   * Place of the active page, or undefined if the active editor is not a page of the window's server.
   */
  readonly active: Observable<PagePlace | undefined>;
}

/** Actions that are not specific to one page. */
export type HostAction = Exclude<PageAction, { do: 'breakpoint' | 'elsewhere' }>;
/** Returns the distinct arguments of a tool's recorded calls, newest first. */
export type RecordedArguments = (file: string, tool: string) => Promise<readonly JsonObject[]>;
/** Performs an action for a page or a command. */
export type DoAction = (action: HostAction) => Promise<void>;

export interface Services {
  readonly context: vscode.ExtensionContext;
  readonly log: vscode.LogOutputChannel;
  readonly settings: ServerSettings;
  readonly server: ServerLink;
  readonly cli: LineCli;
  readonly batches: BatchList;
  readonly pages: Pages;
  /** Predictions of calls that the user asked for in this window, the newest last; one for each call. */
  readonly predictions: Observable<readonly WindowPrediction[]>;
}

/** Registers a command with error handling: shows every failure once, with a hint. */
export type RegisterCommand = (id: string, run: (...args: unknown[]) => Promise<unknown>) => vscode.Disposable;

/** The handlers of a command group by command ID. */
export type CommandGroup<Id extends string> = Readonly<Record<Id, (...args: unknown[]) => Promise<unknown>>>;
