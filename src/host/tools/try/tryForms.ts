/** “Try Tool…”: a form with a tool's arguments; what it gives, beside it. The tool runs in a process of its own. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { errorText, StudioError } from '../../../common/errors.ts';
import { isJsonObject, type Json } from '../../../common/json.ts';
import { NBSP } from '../../codelens/lensText.ts';
import { askValue } from '../../launch/values/askValue.ts';
import type { StoredValues } from '../../launch/values/storedValues.ts';
import { withValues } from '../../launch/values/withValues.ts';
import type { Services } from '../../services.ts';
import type { FormFiles } from '../../toolCalls/rerun/formFiles.ts';
import { argumentsIn, formText, schemaText } from '../../toolCalls/rerun/formText.ts';
import { valueText } from '../../../trace/text/values.ts';
import { withProgress } from '../../window/progress.ts';
import { TRY_SCHEME } from '../schemes.ts';
import { firstArguments, listedTools, triedCall, triedText, triedTitle, type ListedTool, type TriedCall } from './tried.ts';

interface Form {
  readonly id: string;
  /** The tool module or agent file. */
  readonly file: string;
  tool: ListedTool;
  outcome: TriedCall | undefined;
  running: boolean;
  /** Somebody said once that what it changes may be changed. */
  accepted: boolean;
}

/** A place in a stack: `at run (tools/loans.ts:3:5)`. */
const PLACE = /(?:\(|at )((?:[^\s():]|:[\\/])+\.[cm]?[jt]sx?):(\d+):(\d+)\)?$/;

export class TryForms implements vscode.CodeLensProvider, vscode.DocumentLinkProvider, vscode.Disposable {
  readonly #services: Pick<Services, 'cli' | 'log'>;
  readonly #values: StoredValues;
  readonly #files: FormFiles;
  /** By the number in their paths. */
  readonly #forms = new Map<string, Form>();
  readonly #changedLenses = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.#changedLenses.event;

  constructor(services: Pick<Services, 'cli' | 'log'>, values: StoredValues, files: FormFiles) {
    this.#services = services;
    this.#values = values;
    this.#files = files;
  }

  dispose(): void {
    this.#changedLenses.dispose();
  }

  /** Asks for a tool of the file where none is named, and opens its form: the one from before where there is one. */
  async open(file: string, name?: string): Promise<void> {
    await vscode.workspace.saveAll(false); // its code is read from the disk
    const { tools, problems } = await withProgress(`Reading the tools of ${path.basename(file)}`, async ({ signal }) => listedTools.parse(await this.#cli(file, ['tool', 'list', file], signal)));
    for (const problem of problems) this.#services.log.warn(problem);
    const tool = name === undefined ? await chosen(tools, problems, file) : tools.find((candidate) => candidate.name === name);
    if (tool === undefined) {
      if (name === undefined) return;
      throw new StudioError('not_found', `${path.basename(file)} has no tool ${name}.`, { mend: problems[0] ?? 'Export it.' });
    }
    const known = [...this.#forms.values()].find((form) => form.file === file && form.tool.name === tool.name);
    const form: Form = known ?? { id: String(this.#forms.size + 1), file, tool, outcome: undefined, running: false, accepted: false };
    form.tool = tool;
    this.#forms.set(form.id, form);
    this.#files.put(schemaUri(form), schemaText(tool.parameters), { readonly: true });
    const uri = formUri(form);
    if (!this.#files.has(uri)) this.#files.put(uri, formText(schemaUri(form).toString(), firstArguments(tool.parameters)));
    const document = await vscode.workspace.openTextDocument(uri);
    const editor = await vscode.window.showTextDocument(document, { preview: false });
    // The first argument, or the empty line where one would be.
    const at = new vscode.Position(Math.min(2, document.lineCount - 1), 2);
    if (known === undefined) editor.selection = new vscode.Selection(at, at);
  }

  /** Calls the tool with what the form holds, and shows what it gave. */
  async run(uri: vscode.Uri | undefined): Promise<void> {
    const form = this.#form(uri);
    const given = this.#argumentsOf(form);
    if (form.running || !(await this.#accepted(form))) return;
    await vscode.workspace.saveAll(false);
    form.running = true;
    this.#changedLenses.fire();
    try {
      form.outcome = await withProgress(`Calling ${form.tool.name}`, ({ signal, report }) => this.#make(form, given, signal, report));
    } finally {
      form.running = false;
      this.#changedLenses.fire();
    }
    const result = resultUri(form);
    this.#files.put(result, triedText(form.outcome), { readonly: true });
    await vscode.window.showTextDocument(result, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: true });
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const form = this.#formAt(document.uri);
    if (form === undefined || document.uri.path !== formUri(form).path) return [];
    const top = new vscode.Range(0, 0, 0, 0);
    const { outcome, running, tool } = form;
    return [
      new vscode.CodeLens(top, running ? { title: `$(loading~spin)${NBSP}Running…`, command: '' }
        : { title: `$(play)${NBSP}Run`, tooltip: `Call ${tool.name} with these arguments, with the code as it is now.${tool.output === undefined ? '' : ` It gives ${valueText(tool.output)}`}`, command: 'rollout.runTry', arguments: [document.uri] }),
      ...(outcome === undefined || running ? [] : [new vscode.CodeLens(top, {
        title: `$(${outcome.error === undefined ? 'check' : 'error'})${NBSP}${triedTitle(outcome)}`, tooltip: 'Show the result', command: 'vscode.open', arguments: [resultUri(form), vscode.ViewColumn.Beside],
      })]),
      new vscode.CodeLens(top, { title: `$(go-to-file)${NBSP}${path.basename(form.file)}`, tooltip: form.file, command: 'vscode.open', arguments: [vscode.Uri.file(form.file)] }),
    ];
  }

  /** Places in stacks, to their files. */
  provideDocumentLinks(document: vscode.TextDocument): vscode.DocumentLink[] {
    const form = this.#formAt(document.uri);
    if (form === undefined) return [];
    const links: vscode.DocumentLink[] = [];
    for (let line = 0; line < document.lineCount; line++) {
      const match = PLACE.exec(document.lineAt(line).text);
      const [, named = '', row = '', column = ''] = match ?? [];
      const target = match === null ? undefined : fileAbove(form.file, named);
      if (match === null || target === undefined) continue;
      const start = match.index + match[0].indexOf(named);
      links.push(new vscode.DocumentLink(new vscode.Range(line, start, line, start + named.length + row.length + column.length + 2), vscode.Uri.file(target).with({ fragment: `L${row},${column}` })));
    }
    return links;
  }

  async #make(form: Form, given: Json, signal: AbortSignal, report: (text: string) => void): Promise<TriedCall> {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'rollout-form-'));
    try {
      const file = path.join(folder, 'arguments.json');
      await writeFile(file, JSON.stringify(given));
      return triedCall.parse(await this.#cli(form.file, ['tool', 'try', form.file, form.tool.name, '--arguments', file], signal, report));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async #cli(file: string, args: readonly string[], signal: AbortSignal, onProgress?: (line: string) => void): Promise<unknown> {
    const cwd = vscode.workspace.getWorkspaceFolder(vscode.Uri.file(file))?.uri.fsPath ?? path.dirname(file);
    const { result } = await withValues(this.#values, [], askValue, (env) => this.#services.cli.json(args, { cwd, env, signal, ...(onProgress === undefined ? {} : { onProgress }) }));
    return result;
  }

  async #accepted(form: Form): Promise<boolean> {
    if (form.tool.effect !== 'irreversible' || form.accepted) return true;
    const detail = 'The tool does not say that it is pure or restorable: what it changes outside cannot be undone. This is asked once for this form.';
    form.accepted = (await vscode.window.showWarningMessage(`Call ${form.tool.name}?`, { modal: true, detail }, 'Call')) !== undefined;
    return form.accepted;
  }

  #argumentsOf(form: Form): Json {
    const uri = formUri(form);
    const document = vscode.workspace.textDocuments.find((open) => open.uri.toString() === uri.toString());
    try {
      return argumentsIn(document?.getText() ?? new TextDecoder().decode(this.#files.readFile(uri)));
    } catch (error) {
      throw new StudioError('usage', `The arguments are not JSON: ${errorText(error)}`, { mend: 'Look at what is underlined.', cause: error });
    }
  }

  #form(uri: vscode.Uri | undefined): Form {
    const form = this.#formAt(uri ?? vscode.window.activeTextEditor?.document.uri);
    if (form === undefined) throw new StudioError('usage', 'This is no form of a tool.', { mend: 'Open one with “Try Tool…”.' });
    return form;
  }

  #formAt(uri: vscode.Uri | undefined): Form | undefined {
    return uri?.scheme === TRY_SCHEME ? this.#forms.get(uri.path.split('/')[1] ?? '') : undefined;
  }
}

async function chosen(tools: readonly ListedTool[], problems: readonly string[], file: string): Promise<ListedTool | undefined> {
  if (tools.length === 0) throw new StudioError('not_found', `${path.basename(file)} has no tools.`, { mend: problems[0] ?? 'Export one, or name one under `tools:`.' });
  if (tools.length === 1 && problems.length === 0) return tools[0];
  const items = tools.map((tool) => ({ label: tool.name, description: `${tool.from.name} · ${tool.effect}`, detail: tool.description.split('\n')[0] ?? '', tool }));
  const picked = await vscode.window.showQuickPick(items, { title: 'Try Tool', placeHolder: problems.length === 0 ? 'Which tool?' : `Which tool? ${problems[0] ?? ''}`, matchOnDetail: true });
  return picked?.tool;
}

function formUri({ id, tool }: Form): vscode.Uri {
  return vscode.Uri.from({ scheme: TRY_SCHEME, path: `/${id}/${tool.name}.json` });
}

function schemaUri({ id, tool }: Form): vscode.Uri {
  return vscode.Uri.from({ scheme: TRY_SCHEME, path: `/${id}/schema/${tool.name}.json` });
}

function resultUri({ id, tool, outcome }: Form): vscode.Uri {
  const json = outcome?.error === undefined && outcome?.log === '' && (isJsonObject(outcome.result) || Array.isArray(outcome.result));
  return vscode.Uri.from({ scheme: TRY_SCHEME, path: `/${id}/result/${tool.name}.result.${json ? 'json' : 'txt'}` });
}

/** A file that is named from the workspace's root, which is a folder above the tool's. */
function fileAbove(tool: string, named: string): string | undefined {
  if (path.isAbsolute(named)) return named;
  for (let folder = path.dirname(tool); ; folder = path.dirname(folder)) {
    const candidate = path.join(folder, ...named.split('/'));
    if (existsSync(candidate)) return candidate;
    if (folder === path.dirname(folder)) return undefined;
  }
}
