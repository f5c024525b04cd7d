/**
 * Registers what is shown over the verifiers of extracted scenarios: which stored verdicts the saved version changes.
 * Nothing runs before one is saved, or its lens is clicked.
 */
import * as vscode from 'vscode';
import { AWM_FILES, looseFileAt } from '../../../formats/awmFiles.ts';
import { SECTION } from '../../contributions/settings.ts';
import { exists } from '../../files/workspaceFiles.ts';
import type { RegisterCommand, Services } from '../../services.ts';
import { setting } from '../../window/settings.ts';
import { VERIFIER_COMMANDS } from './ids.ts';
import type { VerifierRuns } from './verifierRuns.ts';

const VERIFIERS: vscode.DocumentFilter = { pattern: '**/{gen_verifier,gen_verifier.pure_code}/*.py', scheme: 'file' };

export function registerVerifiers(services: Services, register: RegisterCommand): vscode.Disposable {
  const changed = new vscode.EventEmitter<void>();
  let instance: VerifierRuns | undefined;
  const runs = async (): Promise<VerifierRuns> => {
    const { VerifierRuns: Runs } = await import('./verifierRuns.ts');
    return (instance ??= new Runs(services, () => changed.fire()));
  };
  /** Runs it only in trusted folders, and only where its result is shown. */
  const isShown = async (document: vscode.TextDocument): Promise<boolean> =>
    vscode.workspace.isTrusted &&
    vscode.languages.match(VERIFIERS, document) > 0 &&
    setting('tools.codeLens') &&
    (await isExtracted(document.uri));
  const command = (id: string, act: (of: VerifierRuns, uri: vscode.Uri) => Promise<void> | void): vscode.Disposable =>
    register(id, async (uri) => {
      if (uri instanceof vscode.Uri) await act(await runs(), uri);
    });
  return vscode.Disposable.from(
    changed,
    vscode.languages.registerCodeLensProvider(VERIFIERS, {
      onDidChangeCodeLenses: changed.event,
      provideCodeLenses: async (document) => ((await isShown(document)) ? (await runs()).lenses(document) : []),
    }),
    command(VERIFIER_COMMANDS.run, (of, uri) => of.run(uri)),
    command(VERIFIER_COMMANDS.cancel, (of, uri) => of.cancel(uri)),
    command(VERIFIER_COMMANDS.show, (of, uri) => of.show(uri)),
    vscode.workspace.onDidSaveTextDocument((document) => {
      isShown(document)
        .then(async (shown) => {
          if (shown) await (await runs()).saved(document.uri);
        })
        .catch((error: unknown) => services.log.error(`Verifier ${document.uri.fsPath}: ${String(error)}`));
    }),
    vscode.workspace.onDidCloseTextDocument(({ uri }) => instance?.closed(uri)),
    vscode.workspace.onDidGrantWorkspaceTrust(() => changed.fire()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration(`${SECTION}.tools`)) changed.fire();
    }),
    new vscode.Disposable(() => instance?.dispose()),
  );
}

/** Whether a file is next to the published files of a scenario. */
async function isExtracted(uri: vscode.Uri): Promise<boolean> {
  return (
    looseFileAt(uri.fsPath) !== undefined && (await exists(vscode.Uri.joinPath(uri, '..', '..', AWM_FILES.scenario)))
  );
}
