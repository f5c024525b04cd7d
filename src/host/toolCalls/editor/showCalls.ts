/** Shows the calls of a tool in a peek view, with documents that list the newest calls first. */
import * as vscode from 'vscode';
import { z } from 'zod';
import { plural } from '../../../common/text.ts';
import { outcomeOf } from '../../../trace/outcome.ts';
import { type CallBlock, callsText } from '../../../trace/toolCalls/callsText.ts';
import { TRAJECTORY_LANGUAGE } from '../../contributions/names.ts';
import { agoText } from '../../views/batches/batchNodes.ts';
import { CALLS_SCHEME, LENS_COMMANDS } from '../ids.ts';
import type { BatchStatistics, ToolStatistics } from '../state/toolStatistics.ts';

/** Maximum number of calls to show. Older calls no longer have their arguments. */
const MAX_CALLS = 100;
/** Number of closed documents to keep. */
const MAX_CLOSED = 20;

/** Selects calls. Serializable, because links contain it. */
export const callsQuery = z.object({
  /** Where to open the view. */
  uri: z.string(),
  line: z.number().int().min(1),
  column: z.number().int().min(1),
  batch: z.string(),
  tools: z.array(z.string()),
  errors: z.boolean().optional(),
  /** Only calls that failed at this line, as errors name it. */
  at: z.object({ file: z.string(), line: z.number().int().min(1) }).optional(),
});
export type CallsQuery = z.infer<typeof callsQuery>;

interface CallsDocument {
  readonly text: string;
  readonly blocks: readonly CallBlock[];
}

export class CallDocuments implements vscode.TextDocumentContentProvider, vscode.CodeLensProvider {
  readonly #documents = new Map<string, CallsDocument>();
  #last = 0;

  provideTextDocumentContent(uri: vscode.Uri): string | undefined {
    return this.#documents.get(uri.query)?.text;
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    return (this.#documents.get(document.uri.query)?.blocks ?? []).flatMap(({ fact, line }) => {
      const range = new vscode.Range(line, 0, line, 0);
      const call = { rollout: fact.rollout, seq: fact.seq };
      return [
        new vscode.CodeLens(range, { title: 'Open Step', command: LENS_COMMANDS.open, arguments: [call] }),
        new vscode.CodeLens(range, { title: 'Re-run This Call', command: LENS_COMMANDS.rerun, arguments: [call] }),
        new vscode.CodeLens(range, { title: 'Save as Test Case', command: LENS_COMMANDS.save, arguments: [call] }),
      ];
    });
  }

  /** Returns the call at a line of a document. */
  callAt(uri: vscode.Uri, line: number): { readonly rollout: string; readonly seq: number } | undefined {
    const block = this.#documents.get(uri.query)?.blocks.find((each) => line >= each.line && line <= each.lastLine);
    return block === undefined ? undefined : { rollout: block.fact.rollout, seq: block.fact.seq };
  }

  /** Creates a document with the newest calls and their lines. Returns undefined if there are none. */
  create(
    { row, calls, names }: BatchStatistics,
    { errors = false, at }: Pick<CallsQuery, 'errors' | 'at'>,
  ): { readonly uri: vscode.Uri; readonly blocks: readonly CallBlock[] } | undefined {
    const matches = calls
      .calls(names)
      .filter(({ error }) => !errors || error !== undefined)
      .filter(({ error }) => at === undefined || (error?.place?.file === at.file && error.place.line === at.line));
    if (matches.length === 0) return undefined;
    const newest = matches.slice(0, MAX_CALLS);
    const shown = at === undefined ? names : new Set(matches.map(({ tool }) => tool));
    const toolsText = shown.size === 1 ? [...shown].join('') : plural(shown.size, 'tool');
    const kind = plural(matches.length, errors ? 'failed call' : 'call');
    const of = newest.length < matches.length ? `the newest ${newest.length} of ${kind}` : kind;
    const read =
      calls.read.read < calls.read.attempts ? `, of ${calls.read.read} of ${calls.read.attempts} attempts` : '';
    const title = `${toolsText} in ${row.name}, ${agoText(Date.now() - row.created_at)} · ${of}${read}`;
    const document = callsText(
      title,
      newest,
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
    this.#documents.set(query, document);
    this.#prune();
    const name = `${toolsText} ${errors ? 'failed calls' : 'calls'} · ${row.name}`.replaceAll('/', '∕');
    return {
      uri: vscode.Uri.from({ scheme: CALLS_SCHEME, path: `/${row.batch}/${name}.trajectory`, query }),
      blocks: document.blocks,
    };
  }

  #prune(): void {
    const open = new Set(
      vscode.workspace.textDocuments.filter(({ uri }) => uri.scheme === CALLS_SCHEME).map(({ uri }) => uri.query),
    );
    for (const query of this.#documents.keys())
      if (this.#documents.size > MAX_CLOSED && !open.has(query)) this.#documents.delete(query);
  }
}

export async function showCalls(
  statistics: ToolStatistics,
  documents: CallDocuments,
  query: CallsQuery,
): Promise<void> {
  const found = await statistics.ofBatch(query.batch, new Set(query.tools));
  const created = found === undefined ? undefined : documents.create(found, query);
  if (created === undefined) {
    void vscode.window.setStatusBarMessage('$(info) No calls to show.', 4_000);
    return;
  }
  const document = await vscode.workspace.openTextDocument(created.uri);
  if (document.languageId !== TRAJECTORY_LANGUAGE)
    await vscode.languages.setTextDocumentLanguage(document, TRAJECTORY_LANGUAGE);
  const locations = created.blocks.map(
    ({ line, outcomeLength }) => new vscode.Location(created.uri, new vscode.Range(line, 0, line, outcomeLength)),
  );
  await vscode.commands.executeCommand(
    'editor.action.peekLocations',
    vscode.Uri.parse(query.uri, true),
    new vscode.Position(query.line - 1, query.column - 1),
    locations,
    'peek',
  );
}
