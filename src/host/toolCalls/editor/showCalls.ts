/** Calls of a tool in VS Code's own peek view: documents with a line for each, newest first. */
import * as vscode from 'vscode';
import { z } from 'zod';
import { plural } from '../../../common/text.ts';
import { outcomeOf } from '../../../trace/outcome.ts';
import { type CallBlock, callsText } from '../../../trace/toolCalls/callsText.ts';
import { TRAJECTORY_LANGUAGE } from '../../contributions/debuggers.ts';
import { agoText } from '../../views/batches/batchNodes.ts';
import { COMMANDS_OF_LENSES } from '../lensCommands.ts';
import { CALLS_SCHEME } from '../schemes.ts';
import type { Figures, ToolFigures } from '../state/toolFigures.ts';

/** Calls in one view; those before have lost their arguments by then. */
const MOST = 100;
/** Documents that are kept while nobody has them open. */
const KEPT = 20;

/** Which calls are asked for. Goes through links, so it is JSON. */
export const callsOf = z.object({
  /** Where the view opens. */
  uri: z.string(),
  line: z.number().int().min(1),
  column: z.number().int().min(1),
  batch: z.string(),
  tools: z.array(z.string()),
  errors: z.boolean().optional(),
});
export type CallsOf = z.infer<typeof callsOf>;

interface ShownCalls {
  readonly text: string;
  readonly blocks: readonly CallBlock[];
}

export class CallDocuments implements vscode.TextDocumentContentProvider, vscode.CodeLensProvider {
  readonly #shown = new Map<string, ShownCalls>();
  #last = 0;

  provideTextDocumentContent(uri: vscode.Uri): string | undefined {
    return this.#shown.get(uri.query)?.text;
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    return (this.#shown.get(document.uri.query)?.blocks ?? []).flatMap(({ fact, line }) => {
      const range = new vscode.Range(line, 0, line, 0);
      const call = { rollout: fact.rollout, seq: fact.seq };
      return [
        new vscode.CodeLens(range, { title: 'Open Step', command: COMMANDS_OF_LENSES.open, arguments: [call] }),
        new vscode.CodeLens(range, { title: 'Re-run This Call', command: COMMANDS_OF_LENSES.rerun, arguments: [call] }),
        new vscode.CodeLens(range, { title: 'Save as Test Case', command: COMMANDS_OF_LENSES.save, arguments: [call] }),
      ];
    });
  }

  /** The call that a line of such a document belongs to. */
  callAt(uri: vscode.Uri, line: number): { readonly rollout: string; readonly seq: number } | undefined {
    const block = this.#shown.get(uri.query)?.blocks.find((each) => line >= each.line && line <= each.lastLine);
    return block === undefined ? undefined : { rollout: block.fact.rollout, seq: block.fact.seq };
  }

  /** A document with the newest calls, and where each begins. undefined: there is none. */
  make(
    { row, calls, names }: ToolFigures,
    errors: boolean,
  ): { readonly uri: vscode.Uri; readonly blocks: readonly CallBlock[] } | undefined {
    const wanted = calls.calls(names).filter((fact) => !errors || fact.error !== undefined);
    if (wanted.length === 0) return undefined;
    const shown = wanted.slice(0, MOST);
    const what = names.size === 1 ? [...names].join('') : plural(names.size, 'tool');
    const kind = plural(wanted.length, errors ? 'failed call' : 'call');
    const of = shown.length < wanted.length ? `the newest ${shown.length} of ${kind}` : kind;
    const read =
      calls.read.read < calls.read.attempts ? `, of ${calls.read.read} of ${calls.read.attempts} attempts` : '';
    const title = `${what} in ${row.name}, ${agoText(Date.now() - row.created_at)} · ${of}${read}`;
    const made = callsText(
      title,
      shown,
      (fact) => {
        const attempt = calls.row(fact.rollout);
        return attempt === undefined
          ? undefined
          : { task: attempt.task, attempt: attempt.attempt, outcome: outcomeOf(attempt) };
      },
      names.size > 1,
    );
    this.#last += 1;
    const query = String(this.#last);
    this.#shown.set(query, made);
    this.#forget();
    const name = `${what} ${errors ? 'failed calls' : 'calls'} · ${row.name}`.replaceAll('/', '∕');
    return {
      uri: vscode.Uri.from({ scheme: CALLS_SCHEME, path: `/${row.batch}/${name}.trajectory`, query }),
      blocks: made.blocks,
    };
  }

  #forget(): void {
    const open = new Set(
      vscode.workspace.textDocuments.filter(({ uri }) => uri.scheme === CALLS_SCHEME).map(({ uri }) => uri.query),
    );
    for (const query of this.#shown.keys()) if (this.#shown.size > KEPT && !open.has(query)) this.#shown.delete(query);
  }
}

export async function showCalls(figures: Figures, documents: CallDocuments, asked: CallsOf): Promise<void> {
  const found = await figures.named(asked.batch, new Set(asked.tools));
  const made = found === undefined ? undefined : documents.make(found, asked.errors === true);
  if (made === undefined) {
    void vscode.window.setStatusBarMessage('$(info) No such calls.', 4_000);
    return;
  }
  const document = await vscode.workspace.openTextDocument(made.uri);
  if (document.languageId !== TRAJECTORY_LANGUAGE)
    await vscode.languages.setTextDocumentLanguage(document, TRAJECTORY_LANGUAGE);
  const locations = made.blocks.map(
    ({ line, marked }) => new vscode.Location(made.uri, new vscode.Range(line, 0, line, marked)),
  );
  await vscode.commands.executeCommand(
    'editor.action.peekLocations',
    vscode.Uri.parse(asked.uri, true),
    new vscode.Position(asked.line - 1, asked.column - 1),
    locations,
    'peek',
  );
}
