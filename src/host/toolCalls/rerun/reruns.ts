/** Implements Re-run This Call: a form with the recorded arguments, and a diff of the recorded and new results. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { StudioError } from '../../../common/errors.ts';
import { isSameJson, type Json } from '../../../common/json.ts';
import { duration } from '../../../common/units.ts';
import { NBSP } from '../../codelens/lensText.ts';
import { askValue } from '../../launch/values/askValue.ts';
import type { StoredValues } from '../../launch/values/storedValues.ts';
import { withValues } from '../../launch/values/withValues.ts';
import type { Services } from '../../services.ts';
import { withProgress } from '../../window/progress.ts';
import { FORM_SCHEME, LENS_COMMANDS, OUTCOME_SCHEME, SCHEMA_SCHEME } from '../ids.ts';
import {
  type CallPlace,
  type DescribedCall,
  describedCall,
  outcomeText,
  type RerunCall,
  rerunCall,
} from './callOutput.ts';
import type { FormFiles } from './formFiles.ts';
import { argumentsIn, formText, schemaText } from './formText.ts';

interface Form {
  readonly uri: vscode.Uri;
  readonly call: DescribedCall;
  /** Folder for resolving relative paths of its code. */
  readonly folder: string;
  outcome: RerunCall | undefined;
  running: boolean;
}

export class Reruns
  implements vscode.TextDocumentContentProvider, vscode.CodeLensProvider, vscode.DocumentLinkProvider, vscode.Disposable
{
  readonly #services: Pick<Services, 'cli' | 'log'>;
  readonly #values: StoredValues;
  readonly #files: FormFiles;
  /** Forms by the number in their path. */
  readonly #forms = new Map<string, Form>();
  readonly #changedText = new vscode.EventEmitter<vscode.Uri>();
  readonly #changedLenses = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changedText.event;
  readonly onDidChangeCodeLenses = this.#changedLenses.event;
  #last = 0;

  constructor(services: Pick<Services, 'cli' | 'log'>, values: StoredValues, files: FormFiles) {
    this.#services = services;
    this.#values = values;
    this.#files = files;
  }

  dispose(): void {
    this.#changedText.dispose();
    this.#changedLenses.dispose();
  }

  /** Opens the form of a recorded call. */
  async open(place: CallPlace): Promise<void> {
    const folder = workspaceFolder();
    const call = await withProgress('Reading the call', ({ signal }) => this.describe(place, signal));
    this.#last += 1;
    const id = String(this.#last);
    const uri = vscode.Uri.from({ scheme: FORM_SCHEME, path: `/${id}/${call.name}.json` });
    this.#forms.set(id, { uri, call, folder, outcome: undefined, running: false });
    this.#files.write(
      uri,
      formText(vscode.Uri.from({ scheme: SCHEMA_SCHEME, path: `/${id}/${call.name}.json` }).toString(), call.arguments),
    );
    const document = await vscode.workspace.openTextDocument(uri);
    const editor = await vscode.window.showTextDocument(document, { preview: false });
    // Place the cursor on the first argument, or on the empty line.
    const at = new vscode.Position(Math.min(2, document.lineCount - 1), 2);
    editor.selection = new vscode.Selection(at, at);
  }

  /** Describes a recorded call and the current version of its tool. */
  async describe({ rollout, seq }: CallPlace, signal?: AbortSignal): Promise<DescribedCall> {
    return describedCall.parse(await this.#cli(['call', `${rollout}@${seq}`, '--describe'], signal));
  }

  /** Returns the form of a document, by default of the active editor. */
  formOf(
    uri: vscode.Uri | undefined,
  ): CallPlace & { readonly arguments: Json; readonly outcome: RerunCall | undefined } {
    const form = this.#form(uri);
    const outcome =
      form.outcome !== undefined && isSameJson(form.outcome.arguments, this.#argumentsOf(form))
        ? form.outcome
        : undefined;
    return { rollout: form.call.rollout, seq: form.call.seq, arguments: this.#argumentsOf(form), outcome };
  }

  /** Runs the call with the form's arguments and shows the result. */
  async run(uri: vscode.Uri | undefined, code: 'now' | 'recorded' = 'now'): Promise<void> {
    const form = this.#form(uri);
    const args = this.#argumentsOf(form);
    const accept = form.call.effect !== 'irreversible' || (await this.#confirm(form.call.name));
    if (!accept) return;
    await vscode.workspace.saveAll(false); // its code is read from disk
    form.running = true;
    this.#changedLenses.fire();
    try {
      form.outcome = await withProgress(`Calling ${form.call.name}`, ({ signal }) =>
        this.#rerun(form, args, code, signal),
      );
    } finally {
      form.running = false;
      this.#changedLenses.fire();
    }
    await this.compare(form.uri);
  }

  /** Compares the recorded result with the new one. */
  async compare(uri: vscode.Uri | undefined): Promise<void> {
    const form = this.#form(uri);
    if (form.outcome === undefined) return;
    const [before, now] = [outcomeUri(form, 'recorded'), outcomeUri(form, 'now')];
    for (const each of [before, now]) this.#changedText.fire(each);
    await vscode.commands.executeCommand('vscode.diff', before, now, `${form.call.name}: recorded ↔ now`, {
      viewColumn: vscode.ViewColumn.Beside,
      preserveFocus: true,
      preview: true,
    } satisfies vscode.TextDocumentShowOptions);
  }

  provideTextDocumentContent(uri: vscode.Uri): string | undefined {
    const [, id = '', side] = uri.path.split('/');
    const form = this.#forms.get(id);
    if (form === undefined) return undefined;
    if (uri.scheme === SCHEMA_SCHEME) return schemaText(form.call.parameters);
    return outcomeText(side === 'recorded' ? form.call : (form.outcome ?? form.call));
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const form = this.#formAt(document.uri);
    if (form === undefined) return [];
    const { call, outcome, running, uri } = form;
    const top = new vscode.Range(0, 0, 0, 0);
    const lens = (title: string, tooltip: string, command: string): vscode.CodeLens =>
      new vscode.CodeLens(top, { title, tooltip, command, arguments: [uri] });
    const changed =
      outcome === undefined || outcome.changed.length === 0
        ? ''
        : ` · code changed since: ${outcome.changed.join(', ')}`;
    return [
      running
        ? new vscode.CodeLens(top, { title: `$(loading~spin)${NBSP}Running…`, command: '' })
        : lens(
            `$(play)${NBSP}Run`,
            'Call the tool with the current code, in the world as it was before the recorded call',
            LENS_COMMANDS.run,
          ),
      ...(outcome === undefined || running
        ? []
        : [
            lens(
              outcomeTitle(call, outcome),
              `Compare with the recorded result${changed}${outcome.notes.map((note) => ` · ${note}`).join('')}`,
              LENS_COMMANDS.compare,
            ),
          ]),
      // Lets users check whether the code caused a different result.
      ...(changed === '' || running
        ? []
        : [
            new vscode.CodeLens(top, {
              title: 'Run Recorded Code',
              tooltip: 'Call the tool with the code that was submitted',
              command: LENS_COMMANDS.run,
              arguments: [uri, 'recorded'],
            }),
          ]),
      ...(call.of_world ? [] : [lens('Try Tool', 'Try the tool alone, with these arguments', LENS_COMMANDS.try)]),
      lens('Save as Test Case', 'Write a test with these arguments and their result', LENS_COMMANDS.save),
      new vscode.CodeLens(top, {
        title: 'Open Step',
        command: LENS_COMMANDS.open,
        arguments: [{ rollout: call.rollout, seq: call.seq }],
      }),
    ];
  }

  /** Links stack locations to files. */
  provideDocumentLinks(document: vscode.TextDocument): vscode.DocumentLink[] {
    const [, id = ''] = document.uri.path.split('/');
    const form = this.#forms.get(id);
    if (form === undefined) return [];
    const links: vscode.DocumentLink[] = [];
    for (let line = 0; line < document.lineCount; line++) {
      const match = /(?:\(|at )((?:[^\s():]|:[\\/])+\.[cm]?[jt]sx?):(\d+):(\d+)\)?$/.exec(document.lineAt(line).text);
      if (match === null) continue;
      const [, file = '', row, column] = match;
      const start = match.index + match[0].indexOf(file);
      const target = { place: { file, line: Number(row), column: Number(column) }, rollout: form.call.rollout };
      const link = new vscode.DocumentLink(
        new vscode.Range(line, start, line, start + file.length + 2 + (row?.length ?? 0) + (column?.length ?? 0)),
        vscode.Uri.from({ scheme: 'command', path: LENS_COMMANDS.source, query: JSON.stringify([target]) }),
      );
      link.tooltip = 'Open the source';
      links.push(link);
    }
    return links;
  }

  /** Removes a closed form. */
  closed({ uri }: vscode.TextDocument): void {
    const form = this.#formAt(uri);
    if (form === undefined) return;
    this.#files.remove(uri);
    this.#forms.delete(uri.path.split('/')[1] ?? '');
  }

  async #rerun(form: Form, args: Json, code: 'now' | 'recorded', signal: AbortSignal): Promise<RerunCall> {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'rollout-form-'));
    try {
      const file = path.join(folder, 'arguments.json');
      await writeFile(file, JSON.stringify(args));
      const options = [
        ...(form.call.effect === 'irreversible' ? ['--accept-irreversible'] : []),
        ...(code === 'recorded' ? ['--recorded-code'] : []),
      ];
      return rerunCall.parse(
        await this.#cli(['call', `${form.call.rollout}@${form.call.seq}`, '--arguments', file, ...options], signal),
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async #cli(args: readonly string[], signal: AbortSignal | undefined): Promise<unknown> {
    const { result } = await withValues(this.#values, [], askValue, (env) =>
      this.#services.cli.json(args, { cwd: workspaceFolder(), env, ...(signal === undefined ? {} : { signal }) }),
    );
    return result;
  }

  async #confirm(name: string): Promise<boolean> {
    const chosen = await vscode.window.showWarningMessage(
      `Call ${name}?`,
      {
        modal: true,
        detail: 'The tool is not declared as pure or restorable, so its changes may be irreversible.',
      },
      'Call',
    );
    return chosen !== undefined;
  }

  #argumentsOf({ uri }: Form): Json {
    const document = vscode.workspace.textDocuments.find((open) => open.uri.toString() === uri.toString());
    try {
      return argumentsIn(document?.getText() ?? new TextDecoder().decode(this.#files.readFile(uri)));
    } catch (error) {
      throw new StudioError(
        'usage',
        `The arguments are not JSON${error instanceof Error ? `: ${error.message}` : ''}.`,
        { hint: 'Fix the underlined errors.', cause: error },
      );
    }
  }

  #form(uri: vscode.Uri | undefined): Form {
    const form = this.#formAt(uri ?? vscode.window.activeTextEditor?.document.uri);
    if (form === undefined)
      throw new StudioError('usage', 'This is not a call form.', { hint: 'Open one with “Re-run This Call”.' });
    return form;
  }

  #formAt(uri: vscode.Uri | undefined): Form | undefined {
    return uri?.scheme === FORM_SCHEME ? this.#forms.get(uri.path.split('/')[1] ?? '') : undefined;
  }
}

function outcomeTitle(call: DescribedCall, outcome: RerunCall): string {
  const times = `${duration(outcome.ms)}${call.ms === undefined ? '' : `, recorded ${duration(call.ms)}`}`;
  if (outcome.same === true) return `$(check)${NBSP}Same as recorded · ${times}`;
  if (outcome.error !== undefined) return `$(error)${NBSP}${outcome.error.class} · ${times}`;
  return `$(diff)${NBSP}${outcome.same === null ? 'Result of different arguments' : 'Different result'} · ${times}`;
}

function outcomeUri(form: Form, side: 'recorded' | 'now'): vscode.Uri {
  const { error, result } = side === 'recorded' ? form.call : (form.outcome ?? form.call);
  const json = error === undefined && typeof result !== 'string';
  return vscode.Uri.from({
    scheme: OUTCOME_SCHEME,
    path: `/${form.uri.path.split('/')[1] ?? ''}/${side}/${form.call.name}.${json ? 'json' : 'txt'}`,
  });
}

function workspaceFolder(): string {
  return vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === 'file')?.uri.fsPath ?? os.homedir();
}
