/** Runs edited verifiers on stored final states, one run for each file, and shows what they change. */
import * as vscode from 'vscode';
import { errorText, StudioError } from '../../../common/errors.ts';
import { NBSP } from '../../codelens/lensText.ts';
import type { Services } from '../../services.ts';
import { VERIFIER_COMMANDS } from './ids.ts';
import {
  agreementText,
  changesText,
  changeText,
  checksText,
  functionLine,
  inOrder,
  problemsIn,
  type VerifiedOutput,
  verifiedOutput,
} from './verifiedOutput.ts';

type RunState =
  | { readonly kind: 'running'; readonly stop: AbortController; progress: string }
  | { readonly kind: 'done'; readonly output: VerifiedOutput }
  | { readonly kind: 'failed'; readonly message: string };

type RunServices = Pick<Services, 'cli' | 'server' | 'pages' | 'log'>;

export class VerifierRuns implements vscode.Disposable {
  readonly #services: RunServices;
  readonly #changed: () => void;
  /** By URI of the file. */
  readonly #states = new Map<string, RunState>();
  readonly #problems = vscode.languages.createDiagnosticCollection('rollout-verifiers');

  /** `changed`: called when lenses must be refreshed. */
  constructor(services: RunServices, changed: () => void) {
    this.#services = services;
    this.#changed = changed;
  }

  /** Runs a verifier after it was saved, if there is a server that may have rollouts. */
  async saved(uri: vscode.Uri): Promise<void> {
    try {
      await this.#services.server.connection({ start: false });
    } catch (error) {
      if (!StudioError.is(error)) throw error;
      this.closed(uri); // what it shows is of another version
      return;
    }
    await this.run(uri);
  }

  /** Runs a verifier; an earlier run of it is cancelled. */
  async run(uri: vscode.Uri): Promise<void> {
    this.cancel(uri);
    const key = uri.toString();
    const state: RunState = { kind: 'running', stop: new AbortController(), progress: '' };
    const isCurrent = (): boolean => this.#states.get(key) === state;
    this.#set(key, state);
    try {
      const printed = await this.#services.cli.json(['world', 'verify', '--with', uri.fsPath], {
        cwd: vscode.workspace.getWorkspaceFolder(uri)?.uri.fsPath ?? vscode.Uri.joinPath(uri, '..').fsPath,
        signal: state.stop.signal,
        onProgress: (line) => {
          if (!/^\d+ of \d+$/.test(line) || !isCurrent()) return;
          state.progress = `${line} `;
          this.#changed();
        },
      });
      if (!isCurrent()) return;
      const output = verifiedOutput.parse(printed);
      this.#set(key, { kind: 'done', output });
      await this.#report(uri, output);
    } catch (error) {
      if (!isCurrent()) return; // cancelled, or run again
      this.#set(key, { kind: 'failed', message: errorText(error) });
      this.#problems.delete(uri);
      throw error;
    }
  }

  cancel(uri: vscode.Uri): void {
    const state = this.#states.get(uri.toString());
    if (state?.kind !== 'running') return;
    this.closed(uri);
    state.stop.abort();
  }

  /** Forgets what is known of a file. */
  closed(uri: vscode.Uri): void {
    const state = this.#states.get(uri.toString());
    if (state === undefined) return;
    if (state.kind === 'running') state.stop.abort();
    this.#states.delete(uri.toString());
    this.#problems.delete(uri);
    this.#changed();
  }

  lenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const line = functionLine(document.getText());
    const range = new vscode.Range(line, 0, line, 0);
    const { uri } = document;
    const lens = (title: string, command: string, tooltip: string): vscode.CodeLens =>
      new vscode.CodeLens(range, { title, command, tooltip, arguments: command === '' ? [] : [uri] });
    const state = this.#states.get(uri.toString());
    switch (state?.kind) {
      case undefined:
        return [
          lens(
            `$(beaker)${NBSP}Verify Stored Verdicts`,
            VERIFIER_COMMANDS.run,
            'Run this verifier on the stored final states of its task, and show which verdicts it would change. ' +
              'Saving the file does the same.',
          ),
        ];
      case 'running':
        return [
          lens(
            `$(loading~spin)${NBSP}Verifying ${state.progress}stored verdicts…`,
            VERIFIER_COMMANDS.cancel,
            'Click to cancel',
          ),
        ];
      case 'failed':
        return [lens(`$(warning)${NBSP}Stored verdicts cannot be verified`, VERIFIER_COMMANDS.run, state.message)];
      case 'done': {
        const agreement = agreementText(state.output);
        return [
          lens(`$(beaker)${NBSP}${changesText(state.output)}`, VERIFIER_COMMANDS.show, 'Show the verdicts'),
          ...(agreement === undefined ? [] : [lens(agreement, '', 'Agreement on the attempts that both judged')]),
        ];
      }
    }
  }

  /** Lists the verdicts, and opens the chosen one at the check that changed. */
  async show(uri: vscode.Uri): Promise<void> {
    const state = this.#states.get(uri.toString());
    if (state?.kind !== 'done') return;
    const items = inOrder(state.output.rollouts).map((verified) => ({
      label: `${verified.flips ? '$(arrow-swap) ' : ''}${verified.task} · attempt ${verified.attempt}`,
      description: changeText(verified),
      detail: checksText(verified),
      verified,
    }));
    const picked = await vscode.window.showQuickPick(items, {
      title: changesText(state.output),
      placeHolder: 'Select a verdict to open its trajectory',
      matchOnDescription: true,
      matchOnDetail: true,
    });
    if (picked === undefined) return;
    const { rollout, score, checks } = picked.verified;
    const check = checks.find(({ index }) => index !== undefined)?.index;
    const at = score === undefined ? {} : { seq: score, ...(check === undefined ? {} : { check }) };
    await this.#services.pages.open({ page: 'trajectory', rollout, ...at }, { toSide: true });
  }

  dispose(): void {
    for (const state of this.#states.values()) if (state.kind === 'running') state.stop.abort();
    this.#states.clear();
    this.#problems.dispose();
  }

  async #report(uri: vscode.Uri, output: VerifiedOutput): Promise<void> {
    const document = await vscode.workspace.openTextDocument(uri);
    this.#problems.set(
      uri,
      problemsIn(output).map(({ line, column, message }) => {
        const start = document.validatePosition(new vscode.Position(line - 1, column - 1));
        const problem = new vscode.Diagnostic(new vscode.Range(start, document.lineAt(start.line).range.end), message);
        problem.source = 'Rollout Studio';
        return problem;
      }),
    );
  }

  #set(key: string, state: RunState): void {
    this.#states.set(key, state);
    this.#changed();
  }
}
