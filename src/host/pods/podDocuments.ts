/** Read-only documents with the logs of pods, which follow them, and with what is known about pods. */
import * as vscode from 'vscode';
import { sleep } from '../../common/abort.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { harmless } from '../../common/harmless.ts';
import { POD_SCHEME } from '../contributions/names.ts';
import type { Services } from '../services.ts';

/** How long new lines are collected before they are shown. */
const UPDATE_MS = 250;
const RETRY_MS = 2_000;
/** Shown until something was written. */
const FOLLOWING = '[Following the log. Nothing has been written yet.]\n';
/** Longer logs lose their first lines. */
const MAX_CHARACTERS = 2_000_000;

/** What a document shows the log of. */
export interface PodLogPlace {
  readonly batch: string;
  readonly pod: string;
  readonly container?: string | undefined;
}

export class PodDocuments implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #services: Pick<Services, 'server' | 'log'>;
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  /** By the address of the document. */
  readonly #texts = new Map<string, string>();
  readonly #following = new Map<string, AbortController>();
  /** Editors that showed the end of a log before it grew: they scroll along, as a terminal does. */
  readonly #atEnd = new Set<vscode.TextEditor>();
  readonly #listeners: vscode.Disposable;

  constructor(services: Pick<Services, 'server' | 'log'>) {
    this.#services = services;
    this.#listeners = vscode.Disposable.from(
      vscode.workspace.registerTextDocumentContentProvider(POD_SCHEME, this),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#close(uri)),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.#scroll(document)),
    );
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.toString()) ?? 'Run “Rollout: Show Pods…” to read this again.\n';
  }

  /** Shows a log, and follows it until its document is closed. */
  async showLog(place: PodLogPlace): Promise<void> {
    const { batch, pod, container } = place;
    const name = container === undefined ? `${pod}.log` : `${pod} · ${container}.log`;
    const uri = vscode.Uri.from({ scheme: POD_SCHEME, path: `/${name}`, query: batch });
    if (!this.#following.has(uri.toString())) {
      this.#set(uri, FOLLOWING);
      const stop = new AbortController();
      this.#following.set(uri.toString(), stop);
      void this.#follow(uri, place, stop.signal);
    }
    await show(uri, 'log');
  }

  /** Shows a text about a pod. */
  async showText(batch: string, pod: string, text: string): Promise<void> {
    const uri = vscode.Uri.from({ scheme: POD_SCHEME, path: `/${pod} · events.txt`, query: batch });
    this.#set(uri, text);
    await show(uri, 'plaintext');
  }

  dispose(): void {
    this.#listeners.dispose();
    for (const stop of this.#following.values()) stop.abort();
    this.#changed.dispose();
  }

  async #follow(uri: vscode.Uri, { batch, pod, container }: PodLogPlace, signal: AbortSignal): Promise<void> {
    const isOver = (): boolean => signal.aborted;
    while (!isOver()) {
      let text = '';
      let timer: NodeJS.Timeout | undefined;
      const update = (): void => {
        clearTimeout(timer);
        timer = undefined;
        if (!isOver()) this.#set(uri, text);
      };
      const note = (words: string): void => {
        text += `${text === '' || text.endsWith('\n') ? '' : '\n'}[${words}]\n`;
        update();
      };
      try {
        const { api } = await this.#services.server.connection({ signal });
        for await (const piece of api.podLog(batch, pod, { container, follow: true }, signal)) {
          text = shortened(text + harmless(piece));
          timer ??= setTimeout(update, UPDATE_MS);
        }
        note(text === '' ? 'This container wrote nothing to its log.' : 'End of the log.');
        return;
      } catch (error) {
        if (isOver()) return;
        this.#services.log.warn(`The log of ${pod}: ${errorText(error)}`);
        if (!StudioError.is(error, 'unavailable')) {
          note(errorText(error));
          return;
        }
        note('The connection was lost. The log is read again…');
        await sleep(RETRY_MS, signal).catch(() => undefined);
      } finally {
        clearTimeout(timer);
      }
    }
  }

  #set(uri: vscode.Uri, text: string): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const { document, visibleRanges } = editor;
      if (document.uri.toString() !== uri.toString()) continue;
      const isAtEnd = (visibleRanges.at(-1)?.end.line ?? 0) >= document.lineCount - 2;
      if (isAtEnd) this.#atEnd.add(editor);
      else this.#atEnd.delete(editor);
    }
    this.#texts.set(uri.toString(), text);
    this.#changed.fire(uri);
  }

  #scroll(document: vscode.TextDocument): void {
    const end = new vscode.Position(document.lineCount - 1, 0);
    for (const editor of this.#atEnd)
      if (editor.document === document && document.uri.path.endsWith('.log'))
        editor.revealRange(new vscode.Range(end, end));
  }

  #close(uri: vscode.Uri): void {
    if (uri.scheme !== POD_SCHEME) return;
    const key = uri.toString();
    this.#following.get(key)?.abort();
    this.#following.delete(key);
    this.#texts.delete(key);
  }
}

async function show(uri: vscode.Uri, language: string): Promise<void> {
  const document = await vscode.languages.setTextDocumentLanguage(
    await vscode.workspace.openTextDocument(uri),
    language,
  );
  await vscode.window.showTextDocument(document, { preview: true });
}

function shortened(text: string): string {
  if (text.length <= MAX_CHARACTERS) return text;
  const cut = text.indexOf('\n', text.length - MAX_CHARACTERS / 2);
  return `[Earlier lines are left out.]\n${text.slice(cut + 1)}`;
}
