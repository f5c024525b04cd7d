/** Starts the language server when the first agent, world, batch, or prompt file opens. */
import * as vscode from 'vscode';
import type { StudioFiles } from '../files/studioFiles.ts';
import type { Memory } from '../launch/memory.ts';
import type { StoredValues } from '../launch/values/storedValues.ts';
import type { ServerSettings } from '../server/serverSettings.ts';
import type { RegisterCommand, ServerLink } from '../services.ts';
import type { StudioLanguageClient } from './client.ts';
import { STUDIO_SELECTOR } from './documents.ts';
import { QueryPermissions } from './permissions.ts';

interface LanguageParts {
  readonly files: StudioFiles;
  readonly values: StoredValues;
  readonly settings: ServerSettings;
  readonly memory: Memory;
  readonly server: ServerLink;
}

/** Registers only a listener. The client and its library are loaded after activation. */
export function registerLanguage(
  log: vscode.LogOutputChannel,
  register: RegisterCommand,
  { files, ...parts }: LanguageParts,
): vscode.Disposable {
  let client: Promise<StudioLanguageClient> | undefined;
  let disposed = false;
  const startedClient = (): Promise<StudioLanguageClient> =>
    (client ??= import('./client.ts').then(async ({ StudioLanguageClient }) => {
      const created = new StudioLanguageClient(log, { ...parts, permissions: new QueryPermissions(parts.memory) });
      if (disposed) created.dispose();
      else await created.start();
      return created;
    }));
  const start = (): void => {
    if (client === undefined)
      startedClient().catch((error: unknown) => log.error(error instanceof Error ? error : String(error), 'language'));
  };
  const startFor = (document: vscode.TextDocument): void => {
    if (vscode.languages.match(STUDIO_SELECTOR, document) > 0) start();
  };
  const search = async (): Promise<void> => {
    for (const kind of ['agent', 'batch'] as const)
      if ((await files.list(kind)).some(({ scheme }) => scheme === 'file')) start();
  };
  vscode.workspace.textDocuments.forEach(startFor);
  const startSearch = (): void => {
    if (client === undefined)
      search().catch((error: unknown) => log.warn(`Cannot search the workspace for agents: ${String(error)}`));
  };
  startSearch();
  const listener = files.changed(startSearch);
  return vscode.Disposable.from(
    vscode.workspace.onDidOpenTextDocument(startFor),
    register('rollout.restartLanguageServer', async () => {
      if (client === undefined) start();
      else await (await client).restart();
    }),
    register('rollout.reviewAccess', async () => (await startedClient()).reviewPlaces()),
    new vscode.Disposable(() => {
      disposed = true;
      listener.dispose();
      client?.then(
        (created) => created.dispose(),
        () => undefined,
      ); // already logged
    }),
  );
}
