/** Implements the Language Server Protocol: capabilities, documents, settings, and requests. */
import {
  type CancellationToken,
  type Connection,
  DidChangeWatchedFilesNotification,
  type InitializeParams,
  type InitializeResult,
  LSPErrorCodes,
  ResponseError,
  type ServerCapabilities,
  TextDocumentSyncKind,
  TextDocuments,
} from 'vscode-languageserver';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { errorText } from '../common/errors.ts';
import { FILE_KINDS, fileGlob } from '../common/fileKinds.ts';
import { PRODUCT } from '../common/product.ts';
import type { Files } from '../config/files.ts';
import { PLACES_NAMED } from '../config/queryPlaces.ts';
import { Checker } from './diagnostics/checker.ts';
import { diagnosticOf } from './diagnostics/diagnostic.ts';
import type { LiveFacts } from './facts/liveFacts.ts';
import { codeActions } from './features/codeActions.ts';
import { complete } from './features/completion.ts';
import { definition } from './features/definition.ts';
import { renameFiles } from './features/fileRenames.ts';
import { foldingRanges } from './features/folding.ts';
import { hover } from './features/hover.ts';
import { documentLinks } from './features/links.ts';
import { inlayHints } from './features/prompt.ts';
import { findReferences } from './features/references.ts';
import { prepareRename, rename } from './features/rename.ts';
import { documentSymbols } from './features/symbols.ts';
import { CheckProgress } from './progress.ts';
import { type LanguageSettings, languageSettings } from './settings.ts';
import { pathOf, uriOf } from './workspace/uris.ts';
import { Workspace } from './workspace.ts';

interface ServePorts {
  readonly disk: Files;
  readonly facts: LiveFacts;
  /** Default settings. */
  readonly settings?: Partial<LanguageSettings>;
}

/** Watched files: config files, prompts, code, and datasets. */
const WATCHED_FILES = [
  ...FILE_KINDS.map(fileGlob),
  '**/*.{md,txt}',
  '**/*.{ts,mts,cts,tsx,js,mjs,cjs,jsx}',
  '**/*.{jsonl,ndjson,csv,json}',
  '**/*.py', // the code of worlds
];

export function serve(connection: Connection, ports: ServePorts): void {
  new Server(connection, ports).listen();
}

class Server {
  readonly #connection: Connection;
  readonly #ports: ServePorts;
  readonly #workspace: Workspace;
  readonly #checker: Checker;
  readonly #progress: CheckProgress;
  readonly #documents = new TextDocuments(TextDocument);
  /** URIs of open documents, as the editor writes them. */
  readonly #uris = new Map<string, string>();
  #client: InitializeParams['capabilities'] = {};
  #settings: LanguageSettings;

  constructor(connection: Connection, ports: ServePorts) {
    this.#connection = connection;
    this.#ports = ports;
    this.#settings = languageSettings.parse(ports.settings ?? {});
    this.#workspace = new Workspace(ports.disk, [], ports.facts);
    this.#progress = new CheckProgress(connection);
    this.#checker = new Checker(this.#workspace, {
      publish: (file, problems) => {
        const version = this.#workspace.files.openText(file)?.version;
        this.#background(
          connection.sendDiagnostics({
            uri: this.#uris.get(file) ?? uriOf(file),
            diagnostics: problems.map(diagnosticOf),
            ...(version === undefined ? {} : { version }),
          }),
        );
      },
      failed: (file, error) => connection.console.error(`${file}: ${errorText(error)}`),
      remaining: (count) => this.#progress.update(count),
    });
    ports.facts.changed(() => this.#background(this.#checker.checkAll()));
    ports.facts.placeNamed((place) => this.#background(connection.sendNotification(PLACES_NAMED, { places: [place] })));
    ports.facts.tokensCounted(() => {
      if (this.#client.workspace?.inlayHint?.refreshSupport === true)
        this.#background(connection.languages.inlayHint.refresh());
    });
  }

  listen(): void {
    const connection = this.#connection;
    connection.onInitialize((params) => this.#initialize(params));
    connection.onInitialized(() => this.#background(this.#start()));
    connection.onDidChangeConfiguration(({ settings }) => {
      this.#applySettings(settings);
      this.#background(this.#checker.checkAll());
    });
    connection.onDidChangeWatchedFiles(({ changes }) =>
      this.#background(this.#handleDiskChanges(changes.map(({ uri }) => uri))),
    );
    connection.onShutdown(() => {
      this.#checker.dispose();
      this.#ports.facts.dispose();
    });
    this.#listenToDocuments();
    this.#listenToRequests();
    this.#documents.listen(connection);
    connection.listen();
  }

  #initialize({
    capabilities,
    workspaceFolders,
    initializationOptions,
    ...otherParams
  }: InitializeParams): InitializeResult {
    this.#client = capabilities;
    this.#applySettings(initializationOptions);
    const uris = workspaceFolders?.map(({ uri }) => uri) ?? rootOf(otherParams);
    this.#workspace.setFolders(uris.flatMap((uri) => pathOf(uri) ?? []));
    this.#progress.supported = capabilities.window?.workDoneProgress === true;
    return { capabilities: CAPABILITIES, serverInfo: { name: 'rollout', version: PRODUCT.split(' ')[1] ?? '' } };
  }

  get #hasFileWatching(): boolean {
    return this.#client.workspace?.didChangeWatchedFiles?.dynamicRegistration === true;
  }

  async #start(): Promise<void> {
    if (this.#hasFileWatching)
      await this.#connection.client.register(DidChangeWatchedFilesNotification.type, {
        watchers: WATCHED_FILES.map((globPattern) => ({ globPattern })),
      });
    if (this.#client.workspace?.workspaceFolders === true) {
      this.#connection.workspace.onDidChangeWorkspaceFolders(({ added, removed }) => {
        const removedPaths = new Set(removed.map(({ uri }) => pathOf(uri)));
        this.#workspace.setFolders([
          ...this.#workspace.folders.filter((folder) => !removedPaths.has(folder)),
          ...added.flatMap(({ uri }) => pathOf(uri) ?? []),
        ]);
        this.#background(this.#checker.checkAll());
      });
    }
    await this.#checker.checkAll();
  }

  /** Invalid settings do not change the current ones. */
  #applySettings(settings: unknown): void {
    const changes = typeof settings === 'object' && settings !== null ? settings : {};
    const parsed = languageSettings.safeParse({ ...this.#ports.settings, ...changes });
    if (!parsed.success) {
      this.#connection.console.warn(`Ignoring invalid settings: ${parsed.error.message}`);
      return;
    }
    this.#settings = parsed.data;
    this.#ports.facts.configure(parsed.data);
  }

  // ---- documents

  #listenToDocuments(): void {
    this.#documents.onDidChangeContent(({ document }) => {
      const path = pathOf(document.uri);
      if (path === undefined) return;
      this.#uris.set(path, document.uri);
      this.#workspace.edit(path, document.getText(), document.version);
      this.#background(this.#checker.changed([path], { typed: true }));
    });
    this.#documents.onDidClose(({ document }) => {
      const path = pathOf(document.uri);
      if (path === undefined) return;
      this.#uris.delete(path);
      this.#workspace.close(path);
      this.#background(this.#checker.changed([path], { typed: false }));
    });
    this.#documents.onDidSave(({ document }) => {
      const path = pathOf(document.uri);
      if (path === undefined) return;
      // Editors without file watching report only their own saves.
      if (!this.#hasFileWatching) this.#workspace.files.invalidateAll();
      this.#workspace.files.save(path);
      this.#background(this.#checker.changed([path], { typed: false }));
    });
  }

  async #handleDiskChanges(uris: readonly string[]): Promise<void> {
    const paths = uris.flatMap((uri) => pathOf(uri) ?? []);
    await this.#workspace.changed(paths);
    await this.#checker.changed(paths, { typed: false });
  }

  // ---- requests

  #listenToRequests(): void {
    const connection = this.#connection;
    const workspace = this.#workspace;
    connection.onCompletion(({ textDocument, position }, token) =>
      this.#respond(textDocument, token, (path) => complete(workspace, path, position)),
    );
    connection.onHover(({ textDocument, position }, token) =>
      this.#respond(textDocument, token, (path) => hover(workspace, path, position)),
    );
    connection.onDefinition(({ textDocument, position }, token) =>
      this.#respond(textDocument, token, (path) => definition(workspace, path, position)),
    );
    connection.onReferences(({ textDocument, position, context }, token) =>
      this.#respond(textDocument, token, (path) =>
        findReferences(workspace, path, position, { declaration: context.includeDeclaration }),
      ),
    );
    connection.onPrepareRename(({ textDocument, position }, token) =>
      this.#respond(textDocument, token, (path) => prepareRename(workspace, path, position)),
    );
    connection.onRenameRequest(({ textDocument, position, newName }, token) =>
      this.#respond(textDocument, token, (path) => rename(workspace, path, position, newName)),
    );
    connection.onDocumentSymbol(({ textDocument }, token) =>
      this.#respond(textDocument, token, (path) => documentSymbols(workspace, path)),
    );
    connection.onFoldingRanges(({ textDocument }, token) =>
      this.#respond(textDocument, token, (path) => foldingRanges(workspace, path)),
    );
    connection.onDocumentLinks(({ textDocument }, token) =>
      this.#respond(textDocument, token, (path) => documentLinks(workspace, path)),
    );
    connection.languages.inlayHint.on(({ textDocument, range }, token) =>
      this.#respond(textDocument, token, async (path) =>
        this.#settings.tokenHints ? inlayHints(workspace, path, range) : undefined,
      ),
    );
    connection.workspace.onWillRenameFiles(({ files }) =>
      renameFiles(
        workspace,
        files.flatMap(({ oldUri, newUri }) => {
          const [from, to] = [pathOf(oldUri), pathOf(newUri)];
          return from === undefined || to === undefined ? [] : [{ from, to }];
        }),
      ),
    );
    connection.onCodeAction(({ textDocument, range, context }, token) =>
      this.#respond(textDocument, token, (path) =>
        codeActions(workspace, path, range, {
          problems: this.#checker.problemsOf(path),
          mayCreate: this.#client.workspace?.workspaceEdit?.resourceOperations?.includes('create') === true,
          ...(context.only === undefined ? {} : { only: context.only }),
        }),
      ),
    );
  }

  /** Returns null if there is no result. Reports errors as readable messages. */
  async #respond<T>(
    document: { readonly uri: string },
    token: CancellationToken,
    act: (path: string) => Promise<T | undefined>,
  ): Promise<T | null | ResponseError> {
    const path = pathOf(document.uri);
    if (path === undefined) return null;
    const isCancelled = (): boolean => token.isCancellationRequested;
    try {
      const result = isCancelled() ? undefined : await act(path);
      return isCancelled()
        ? new ResponseError(LSPErrorCodes.RequestCancelled, 'The request was cancelled.')
        : (result ?? null);
    } catch (error) {
      return new ResponseError(LSPErrorCodes.RequestFailed, errorText(error));
    }
  }

  #background(work: Promise<unknown>): void {
    work.catch((error: unknown) => this.#connection.console.error(errorText(error)));
  }
}

/** Root folder of editors that support only one. */
function rootOf(params: object): string[] {
  return 'rootUri' in params && typeof params.rootUri === 'string' ? [params.rootUri] : [];
}

const CAPABILITIES: ServerCapabilities = {
  textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental, save: true },
  workspace: {
    workspaceFolders: { supported: true, changeNotifications: true },
    fileOperations: { willRename: { filters: [{ scheme: 'file', pattern: { glob: '**/*' } }] } },
  },
  completionProvider: { triggerCharacters: [' ', ':', '/', '.', '{', '[', ',', '$'] },
  hoverProvider: true,
  definitionProvider: true,
  referencesProvider: true,
  documentSymbolProvider: true,
  foldingRangeProvider: true,
  documentLinkProvider: {},
  inlayHintProvider: true,
  renameProvider: { prepareProvider: true },
  codeActionProvider: { codeActionKinds: ['quickfix', 'refactor.extract', 'source'] },
};
