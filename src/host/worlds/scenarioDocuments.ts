/** Opens parts of scenarios, such as their code, as read-only documents: as published, or as a batch recorded them. */
import * as vscode from 'vscode';
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { SCENARIO_SCHEME } from '../contributions/names.ts';
import type { ServerLink } from '../services.ts';
import type { OpenWorlds } from './openWorlds.ts';

/** What a document shows. It is part of the address, so that the editor can restore the document. */
const shown = z.object({ from: z.string(), key: z.string(), part: z.string(), task: z.int() });
type Shown = z.infer<typeof shown>;
/** The code of a scenario as a batch recorded it: the hash of a blob. */
const recordedCode = z.object({ code: z.string() });

/** Parts that are Python files as published; the others are JSON. */
const PYTHON = /^(code|codeVerifier|sqlVerifier)$/;

/** Returns the address of a part. */
export function scenarioUri({
  from,
  key,
  part,
  task = 0,
}: Omit<Shown, 'task'> & { readonly task?: number }): vscode.Uri {
  const isTask = part !== 'code' && PYTHON.test(part);
  return vscode.Uri.from({
    scheme: SCENARIO_SCHEME,
    path: `/${key}/${part}${isTask ? `.${task}` : ''}.${PYTHON.test(part) ? 'py' : 'json'}`,
    query: JSON.stringify({ from, key, part, task } satisfies Shown),
  });
}

/** Returns the address of recorded code. */
export function recordedCodeUri(name: string, code: string): vscode.Uri {
  return vscode.Uri.from({
    scheme: SCENARIO_SCHEME,
    path: `/recorded/${name}.py`,
    query: JSON.stringify({ code } satisfies z.infer<typeof recordedCode>),
  });
}

export class ScenarioDocuments implements vscode.TextDocumentContentProvider {
  readonly #worlds: () => Promise<OpenWorlds>;
  readonly #server: Pick<ServerLink, 'connection'>;

  constructor(worlds: () => Promise<OpenWorlds>, server: Pick<ServerLink, 'connection'>) {
    this.#worlds = worlds;
    this.#server = server;
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const address = z.union([shown, recordedCode]).parse(JSON.parse(uri.query));
    if ('code' in address) {
      const { api } = await this.#server.connection();
      return new TextDecoder().decode(await api.getBlob(address.code));
    }
    const { from, key, part, task } = address;
    const worlds = await this.#worlds();
    const text = await (await worlds.get(from)).part(part, key, task, worlds.signal);
    if (text === undefined)
      throw new StudioError('not_found', `The files in ${from} have no ${part} of ${key}.`, {
        hint: 'Download them again.',
      });
    return text;
  }
}

/** Shows a part at a line, from 1. */
export async function showScenarioPart(what: Parameters<typeof scenarioUri>[0], line = 1): Promise<void> {
  const document = await vscode.workspace.openTextDocument(scenarioUri(what));
  const position = document.validatePosition(new vscode.Position(line - 1, 0));
  await vscode.window.showTextDocument(document, { selection: new vscode.Range(position, position) });
}
