/** The language client. Loaded, with its library, when the first agent, world, batch, or prompt file opens. */
import * as vscode from 'vscode';
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  type LanguageClientOptions,
  type Middleware,
  State,
} from 'vscode-languageclient/node';
import { errorText } from '../../common/errors.ts';
import { PLACES_NAMED, placesNamed } from '../../config/queryPlaces.ts';
import type { LanguageSettings } from '../../language/settings.ts';
import { SECTION } from '../contributions/settings.ts';
import type { Memory } from '../launch/memory.ts';
import type { StoredValues } from '../launch/values/storedValues.ts';
import { childEnvironment } from '../server/outbound.ts';
import type { ServerSettings } from '../server/serverSettings.ts';
import type { ServerLink } from '../services.ts';
import { setting } from '../window/settings.ts';
import { PlaceQuestions } from './askPlaces.ts';
import { DOCUMENT_SELECTOR, isDataset, isForNamesOnly, STUDIO_SELECTOR } from './documents.ts';
import type { QueryPermissions } from './permissions.ts';
import { Restarts } from './restarts.ts';
import { ServerProcess } from './serverProcess.ts';
import { TargetQueues } from './targetQueues.ts';

const PROXY_SETTINGS = ['http.proxy', 'http.noProxy', 'http.proxySupport'];
const STOPPED_TEXT = 'The language server stopped several times. Files are not checked until you restart it.';

/** Sends the library's messages to the log. Users get a single message of the extension instead. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

interface ClientParts {
  /** Only their names are sent to the server. */
  readonly values: StoredValues;
  readonly permissions: QueryPermissions;
  readonly settings: ServerSettings;
  readonly server: ServerLink;
  readonly memory: Memory;
}

export class StudioLanguageClient implements vscode.Disposable {
  readonly #log: vscode.LogOutputChannel;
  readonly #values: StoredValues;
  readonly #process: ServerProcess;
  readonly #client: LanguageClient;
  readonly #permissions: QueryPermissions;
  readonly #questions: PlaceQuestions;
  readonly #server: ServerLink;
  readonly #queues: TargetQueues;
  readonly #restarts = new Restarts();
  readonly #status: vscode.LanguageStatusItem;
  readonly #disposables: readonly { dispose(): void }[];

  constructor(log: vscode.LogOutputChannel, parts: ClientParts) {
    const { values, permissions, settings, server } = parts;
    this.#log = log;
    this.#server = server;
    this.#queues = new TargetQueues(parts);
    this.#permissions = permissions;
    this.#questions = new PlaceQuestions(
      permissions,
      settings,
      () => this.#sendSettings(),
      (error) => log.error(`Cannot ask for endpoints and MCP servers: ${errorText(error)}`),
    );
    this.#values = values;
    this.#process = new ServerProcess(log);
    this.#client = new QuietClient(
      'rollout',
      'Rollout',
      () => Promise.resolve(this.#process.start(childEnvironment())),
      this.#options(),
    );
    this.#status = vscode.languages.createLanguageStatusItem('rollout.language', STUDIO_SELECTOR);
    this.#status.name = 'Rollout';
    this.#status.command = { command: 'rollout.restartLanguageServer', title: 'Restart' };
    this.#disposables = [
      this.#status,
      this.#questions,
      this.#client.onNotification(PLACES_NAMED, (params: unknown) => {
        const parsed = placesNamed.safeParse(params);
        if (parsed.success) this.#questions.named(parsed.data.places);
      }),
      this.#client.onDidChangeState(({ newState }) => this.#show(newState)),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.#sendSettings()),
      values.changed(() => this.#sendSettings()),
      this.#queues,
      this.#queues.changed(() => this.#sendSettings()),
      server.serverChanged(() => this.#sendSettings()),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration(`${SECTION}.language`)) this.#sendSettings();
        // It asks endpoints through the proxies that it was started with.
        if (PROXY_SETTINGS.some((name) => event.affectsConfiguration(name)))
          this.restart().catch((error: unknown) =>
            log.error(`Cannot restart the language server: ${errorText(error)}`),
          );
      }),
    ];
    this.#show(State.Starting);
  }

  /** Reports failures only in the log and the status item, because the user did not request the start. */
  async start(): Promise<void> {
    try {
      await this.#client.start();
    } catch (error) {
      this.#log.error(`Cannot start the language server: ${errorText(error)}`);
      this.#show(State.Stopped);
    }
  }

  async restart(): Promise<void> {
    this.#restarts.reset();
    await this.#stop();
    await this.start();
  }

  /** Lets the user change what the workspace may start and send to. */
  async reviewPlaces(): Promise<void> {
    await this.#questions.review();
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
    void this.#stop();
  }

  /** Kills a server that does not respond. */
  async #stop(): Promise<void> {
    try {
      if (this.#client.needsStop()) await this.#client.stop();
    } catch (error) {
      this.#log.debug(`The language server did not end by itself: ${errorText(error)}`);
    } finally {
      this.#process.end();
    }
  }

  #options(): LanguageClientOptions {
    return {
      documentSelector: DOCUMENT_SELECTOR,
      initializationOptions: () => this.#settings(),
      diagnosticCollectionName: 'rollout.language',
      outputChannel: this.#log,
      middleware: NAMES_ONLY,
      // The failure is reported once, below.
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          if (this.#restarts.recordExit(Date.now())) return { action: CloseAction.Restart, handled: true };
          void this.#showStopped();
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
    };
  }

  /** In Restricted Mode the server checks files but does not contact endpoints or run anything. */
  #settings(): LanguageSettings {
    return {
      trusted: vscode.workspace.isTrusted,
      askEndpoints: setting('language.askEndpoints'),
      allowedPlaces: this.#permissions.allowed,
      tokenHints: setting('language.tokenHints'),
      keptNames: [...this.#values.names],
      target: this.#server.target,
      queues: { ...this.#queues.value },
    };
  }

  async #showStopped(): Promise<void> {
    const choice = await vscode.window.showErrorMessage(STOPPED_TEXT, 'Restart', 'Show Log');
    if (choice === 'Restart') await vscode.commands.executeCommand('rollout.restartLanguageServer');
    if (choice === 'Show Log') this.#log.show(true);
  }

  #sendSettings(): void {
    if (!this.#client.isRunning()) return; // sent with the next start
    this.#client
      .sendNotification('workspace/didChangeConfiguration', { settings: this.#settings() })
      .catch((error: unknown) =>
        this.#log.warn(`Cannot send the changed settings to the language server: ${errorText(error)}`),
      );
  }

  #show(state: State): void {
    this.#status.busy = state === State.Starting;
    this.#status.text =
      state === State.Running
        ? 'Rollout: checking files'
        : state === State.Starting
          ? 'Rollout: language server starting'
          : 'Rollout: language server stopped';
    this.#status.severity =
      state === State.Stopped ? vscode.LanguageStatusSeverity.Warning : vscode.LanguageStatusSeverity.Information;
  }
}

/** Ignores edits in unrelated code and data files. */
const NAMES_ONLY: Middleware = {
  // Tasks of datasets name scenarios.
  provideCompletionItem: (document, position, context, token, next) =>
    isForNamesOnly(document) && !isDataset(document) ? undefined : next(document, position, context, token),
  provideCodeActions: (document, range, context, token, next) =>
    isForNamesOnly(document) ? undefined : next(document, range, context, token),
  provideHover: (document, position, token, next) =>
    isForNamesOnly(document) ? undefined : next(document, position, token),
  provideDocumentSymbols: (document, token, next) => (isForNamesOnly(document) ? undefined : next(document, token)),
  provideDocumentLinks: (document, token, next) => (isForNamesOnly(document) ? undefined : next(document, token)),
  provideFoldingRanges: (document, context, token, next) =>
    isForNamesOnly(document) ? undefined : next(document, context, token),
  provideInlayHints: (document, range, token, next) =>
    isForNamesOnly(document) ? undefined : next(document, range, token),
  provideDefinition: (document, position, token, next) =>
    isForNamesOnly(document) ? undefined : next(document, position, token),
};
