/** Tools where they are written: try one, add those of a server or of a service. Here only what VS Code must know at once. */
import * as vscode from 'vscode';
import { SECTION } from '../contributions/settings.ts';
import type { StoredValues } from '../launch/values/storedValues.ts';
import type { RegisterCommand, Services } from '../services.ts';
import { FormFiles } from '../toolCalls/rerun/formFiles.ts';
import { closeLeftovers } from '../toolCalls/toolCalls.ts';
import { registerGroup } from '../window/commands.ts';
import { setting } from '../window/settings.ts';
import { TRY_SCHEME } from './schemes.ts';
import type { TryForms } from './try/tryForms.ts';

const CODE: readonly vscode.DocumentFilter[] = ['typescript', 'javascript'].map((language) => ({ language, scheme: 'file' }));
const AGENT: vscode.DocumentFilter = { pattern: '**/*.agent.{yaml,yml,json}', scheme: 'file' };

export function registerTools(services: Services, register: RegisterCommand, values: StoredValues): vscode.Disposable {
  const files = new FormFiles();
  const changed = new vscode.EventEmitter<void>();
  let made: TryForms | undefined;
  const forms = async (): Promise<TryForms> => {
    const { TryForms: Forms } = await import('./try/tryForms.ts');
    if (made === undefined) {
      made = new Forms(services, values, files);
      made.onDidChangeCodeLenses(() => changed.fire());
    }
    return made;
  };
  closeLeftovers([TRY_SCHEME]);
  return vscode.Disposable.from(
    changed,
    vscode.workspace.registerFileSystemProvider(TRY_SCHEME, files, { isCaseSensitive: true }),
    vscode.languages.registerCodeLensProvider({ scheme: TRY_SCHEME }, { onDidChangeCodeLenses: changed.event, provideCodeLenses: (document) => made?.provideCodeLenses(document) }),
    vscode.languages.registerDocumentLinkProvider({ scheme: TRY_SCHEME }, { provideDocumentLinks: (document) => made?.provideDocumentLinks(document) }),
    vscode.languages.registerCodeLensProvider([...CODE, AGENT], {
      onDidChangeCodeLenses: changed.event,
      provideCodeLenses: async (document) => {
        if (!vscode.workspace.isTrusted || !setting('tools.codeLens')) return [];
        return (await import('./try/lenses.ts')).tryLenses(document, vscode.languages.match(AGENT, document) > 0 ? 'agent' : 'code');
      },
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => changed.fire()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration(`${SECTION}.tools`)) changed.fire();
    }),
    registerGroup(register, ['rollout.tryTool', 'rollout.runTry', 'rollout.addMcpServer', 'rollout.importOpenApi'], async () => (await import('./commands.ts')).toolCommands(services, values, await forms())),
    new vscode.Disposable(() => made?.dispose()),
  );
}
