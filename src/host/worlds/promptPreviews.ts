/** Shows what the model of a simulated world is told, as a read-only document. */
import * as vscode from 'vscode';
import { z } from 'zod';
import { PROMPT_SCHEME } from '../contributions/names.ts';
import { folderOf } from '../files/workspaceFiles.ts';
import type { Services } from '../services.ts';
import { withProgress } from '../window/progress.ts';

/** A heading of a world's prompt. */
export interface PromptPlace {
  /** The world file. */
  readonly prompt: vscode.Uri;
  readonly heading?: string;
}

export function isPromptPlace(argument: unknown): argument is PromptPlace {
  return typeof argument === 'object' && argument !== null && 'prompt' in argument;
}

const printed = z.object({ world: z.string(), task: z.string().optional(), prompt: z.string() });

export class PromptPreviews implements vscode.TextDocumentContentProvider {
  readonly #cli: Services['cli'];
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  /** By the address of the document. */
  readonly #prompts = new Map<string, string>();

  constructor({ cli }: Services) {
    this.#cli = cli;
  }

  /** Reads the prompt again and shows it. That may start what its tools and its state are taken from. */
  async show({ prompt: file, heading }: PromptPlace): Promise<void> {
    const name = vscode.workspace.asRelativePath(file);
    const { world, task, prompt } = await withProgress(`Reading the prompt of ${name}`, async ({ signal, report }) =>
      printed.parse(
        await this.#cli.json(['world', 'prompt', file.fsPath], {
          cwd: folderOf(file).fsPath,
          signal,
          onProgress: report,
        }),
      ),
    );
    const uri = vscode.Uri.from({
      scheme: PROMPT_SCHEME,
      path: `/${world}${task === undefined ? '' : ` · ${task}`}.md`,
      query: file.toString(),
    });
    this.#prompts.set(uri.toString(), prompt);
    this.#changed.fire(uri);
    const document = await vscode.workspace.openTextDocument(uri);
    const line = Math.max(0, prompt.split('\n').indexOf(`# ${heading ?? ''}`));
    await vscode.window.showTextDocument(document, { selection: new vscode.Range(line, 0, line, 0) });
  }

  /** After a reload of the window, nothing is started to fill the document. */
  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#prompts.get(uri.toString()) ?? 'Run Rollout: Preview World Prompt to read the prompt again.\n';
  }

  dispose(): void {
    this.#changed.dispose();
  }
}
