/** An editor's end of `rollout lsp`: a real protocol client over the process's stdin and stdout. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  createProtocolConnection,
  type Diagnostic,
  type InitializeParams,
  type Position,
  type ProtocolConnection,
  type PublishDiagnosticsParams,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-languageserver-protocol/node';
import { until } from '../e2e/support/poll.ts';

const cli = path.resolve(import.meta.dirname, '../../dist/cli.mjs');

export interface LspOptions {
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly capabilities?: InitializeParams['capabilities'];
}

export class LspClient {
  readonly connection: ProtocolConnection;
  readonly folder: string;
  readonly #child: ChildProcess;
  readonly #published = new Map<string, PublishDiagnosticsParams>();
  readonly #texts = new Map<string, { text: string; version: number }>();
  readonly #waiting = new Set<(params: PublishDiagnosticsParams) => void>();

  #progress = '';

  private constructor(folder: string, child: ChildProcess, connection: ProtocolConnection) {
    this.folder = folder;
    this.#child = child;
    this.connection = connection;
    connection.onNotification('textDocument/publishDiagnostics', (params: PublishDiagnosticsParams) => {
      this.#published.set(params.uri, params);
      for (const wait of [...this.#waiting]) wait(params);
    });
    connection.onNotification('$/progress', ({ value }: { value: { kind: string } }) => {
      this.#progress = value.kind;
    });
    connection.onRequest('client/registerCapability', () => null);
    connection.onRequest('window/workDoneProgress/create', () => null);
    connection.onRequest('workspace/inlayHint/refresh', () => null);
    connection.listen();
  }

  static async start(
    folder: string,
    { args = [], env = process.env, capabilities = CAPABILITIES }: LspOptions = {},
  ): Promise<LspClient> {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', cli, 'lsp', '--stdio', ...args], {
      cwd: folder,
      env,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const client = new LspClient(
      folder,
      child,
      createProtocolConnection(new StreamMessageReader(child.stdout), new StreamMessageWriter(child.stdin)),
    );
    await client.connection.sendRequest('initialize', {
      processId: process.pid,
      capabilities,
      workspaceFolders: [{ uri: pathToFileURL(folder).href, name: 'w' }],
    });
    await client.connection.sendNotification('initialized', {});
    return client;
  }

  uri(file: string): string {
    return pathToFileURL(path.join(this.folder, file)).href;
  }

  async open(file: string, text: string): Promise<void> {
    this.#texts.set(file, { text, version: 1 });
    await this.connection.sendNotification('textDocument/didOpen', {
      textDocument: { uri: this.uri(file), languageId: 'yaml', version: 1, text },
    });
  }

  /** Replaces `old` with `text`, as typing does. */
  async edit(file: string, old: string, text: string): Promise<void> {
    const document = this.#texts.get(file);
    const offset = document?.text.indexOf(old) ?? -1;
    if (document === undefined || offset === -1) throw new Error(`${file} has no ${old}`);
    const range = { start: positionOf(document.text, offset), end: positionOf(document.text, offset + old.length) };
    document.text = document.text.slice(0, offset) + text + document.text.slice(offset + old.length);
    document.version++;
    await this.connection.sendNotification('textDocument/didChange', {
      textDocument: { uri: this.uri(file), version: document.version },
      contentChanges: [{ range, text }],
    });
  }

  text(file: string): string {
    return this.#texts.get(file)?.text ?? '';
  }

  /** The position of a text's first appearance: at `¦` if it contains one, else at its beginning. */
  at(file: string, marked: string): { textDocument: { uri: string }; position: Position } {
    const [before = ''] = marked.split('¦');
    const plain = marked.replace('¦', '');
    const offset = this.text(file).indexOf(plain);
    if (offset === -1) throw new Error(`${file} has no ${plain}`);
    return {
      textDocument: { uri: this.uri(file) },
      position: positionOf(this.text(file), offset + (marked.includes('¦') ? before.length : 0)),
    };
  }

  /** The problems of a file in its current version in the editor; for a file that is not open, as last reported. */
  async problems(
    file: string,
    enough: (problems: readonly Diagnostic[]) => boolean = () => true,
  ): Promise<readonly Diagnostic[]> {
    const uri = this.uri(file);
    const version = this.#texts.get(file)?.version;
    return until(
      () => {
        const last = this.#published.get(uri);
        return last !== undefined && (version === undefined || last.version === version) && enough(last.diagnostics)
          ? last.diagnostics
          : undefined;
      },
      60_000,
      `the problems of ${file}`,
    );
  }

  /** Resolves when the files of a large workspace, whose check reports progress, have all been checked. */
  async checkedAll(): Promise<void> {
    await until(() => this.#progress === 'end', 60_000, 'the end of the check of all files');
  }

  /** Resolves with the next problems of a file that match, as soon as they arrive. */
  next(file: string, like: (problems: readonly Diagnostic[]) => boolean): Promise<void> {
    const uri = this.uri(file);
    return new Promise((resolve) => {
      const wait = (params: PublishDiagnosticsParams): void => {
        if (params.uri !== uri || params.version !== this.#texts.get(file)?.version || !like(params.diagnostics))
          return;
        this.#waiting.delete(wait);
        resolve();
      };
      this.#waiting.add(wait);
    });
  }

  async close(): Promise<number | null> {
    const ended = once(this.#child, 'exit') as Promise<[number | null]>;
    await this.connection.sendRequest('shutdown');
    await this.connection.sendNotification('exit');
    const [code] = await ended;
    this.connection.dispose();
    return code;
  }
}

const CAPABILITIES: InitializeParams['capabilities'] = {
  workspace: {
    workspaceFolders: true,
    workspaceEdit: { documentChanges: true, resourceOperations: ['create', 'rename', 'delete'] },
    didChangeWatchedFiles: { dynamicRegistration: true },
  },
  window: { workDoneProgress: true },
};

function positionOf(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  return { line: before.split('\n').length - 1, character: offset - (before.lastIndexOf('\n') + 1) };
}
