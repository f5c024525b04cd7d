/**
 * Registers the tool call features in editors: lenses, hovers, hints, marks, and repeated calls. Contains only what VS
 * Code needs at activation.
 */
import * as vscode from 'vscode';
import { SECTION } from '../contributions/settings.ts';
import type { StoredValues } from '../launch/values/storedValues.ts';
import type { RecordedArguments, RegisterCommand, Services } from '../services.ts';
import { registerGroup } from '../window/commands.ts';
import { setting } from '../window/settings.ts';
import type { ToolCallsCore } from './core.ts';
import { CALLS_SCHEME, FORM_SCHEME, INTERNAL_COMMANDS, OUTCOME_SCHEME, SCHEMA_SCHEME } from './ids.ts';
import { FormFiles } from './rerun/formFiles.ts';

const CODE: readonly vscode.DocumentFilter[] = ['typescript', 'javascript'].map((language) => ({
  language,
  scheme: 'file',
}));
const CONFIG: vscode.DocumentFilter = { pattern: '**/*.{agent,world}.{yaml,yml,json}', scheme: 'file' };
/** The code of extracted scenarios. */
const SCENARIOS: vscode.DocumentFilter = { pattern: '**/gen_envs/*.py', scheme: 'file' };
const TOOLS = [...CODE, CONFIG, SCENARIOS];

/** `recorded` reads the arguments of a tool's recorded calls. */
export function registerToolCalls(
  services: Services,
  register: RegisterCommand,
  values: StoredValues,
): { readonly registered: vscode.Disposable; readonly recorded: RecordedArguments } {
  const forms = new FormFiles();
  const lensesChanged = new vscode.EventEmitter<void>();
  const hintsChanged = new vscode.EventEmitter<void>();
  const textChanged = new vscode.EventEmitter<vscode.Uri>();
  const changed = (): void => {
    lensesChanged.fire();
    hintsChanged.fire();
  };
  let instance: ToolCallsCore | undefined;
  const core = async (): Promise<ToolCallsCore> => {
    const { ToolCallsCore: Core } = await import('./core.ts');
    if (instance === undefined) {
      instance = new Core({ services, values, forms, changed });
      instance.reruns.onDidChange((uri) => textChanged.fire(uri));
      instance.reruns.onDidChangeCodeLenses(() => lensesChanged.fire());
    }
    return instance;
  };
  /** In Restricted Mode the store is not read. */
  const trusted = (): boolean => vscode.workspace.isTrusted;

  let watching: vscode.Disposable | undefined;
  const update = (): void => {
    const isVisible =
      trusted() && vscode.window.visibleTextEditors.some(({ document }) => vscode.languages.match(TOOLS, document) > 0);
    if (isVisible) {
      watching ??= services.batches.watch({ start: false });
      core().then(
        (loaded) => loaded.refreshMarks(),
        (error: unknown) => services.log.error(`Calls of tools: ${String(error)}`),
      );
      return;
    }
    watching?.dispose();
    watching = undefined;
    instance?.statistics.stopFollowing();
  };
  update();
  closeLeftovers([CALLS_SCHEME, FORM_SCHEME, OUTCOME_SCHEME]);

  const registered = vscode.Disposable.from(
    lensesChanged,
    hintsChanged,
    textChanged,
    vscode.languages.registerCodeLensProvider(TOOLS, {
      onDidChangeCodeLenses: lensesChanged.event,
      provideCodeLenses: async (document) =>
        trusted() && setting('tools.codeLens') ? (await core()).lenses(document) : [],
    }),
    vscode.languages.registerHoverProvider(TOOLS, {
      provideHover: async (document, position) => (trusted() ? (await core()).hover(document, position) : undefined),
    }),
    vscode.languages.registerInlayHintsProvider([...CODE], {
      onDidChangeInlayHints: hintsChanged.event,
      provideInlayHints: async (document, range) =>
        trusted() && setting('tools.inlayHints') ? (await core()).inlays(document, range) : [],
    }),
    vscode.workspace.registerTextDocumentContentProvider(CALLS_SCHEME, {
      provideTextDocumentContent: async (uri) => (await core()).documents.provideTextDocumentContent(uri),
    }),
    vscode.languages.registerCodeLensProvider(
      { scheme: CALLS_SCHEME },
      { provideCodeLenses: async (document) => (await core()).documents.provideCodeLenses(document) },
    ),
    vscode.workspace.registerFileSystemProvider(FORM_SCHEME, forms, { isCaseSensitive: true }),
    vscode.languages.registerCodeLensProvider(
      { scheme: FORM_SCHEME },
      {
        onDidChangeCodeLenses: lensesChanged.event,
        provideCodeLenses: async (document) => (await core()).reruns.provideCodeLenses(document),
      },
    ),
    ...[SCHEMA_SCHEME, OUTCOME_SCHEME].map((scheme) =>
      vscode.workspace.registerTextDocumentContentProvider(scheme, {
        onDidChange: textChanged.event,
        provideTextDocumentContent: async (uri) => (await core()).reruns.provideTextDocumentContent(uri),
      }),
    ),
    vscode.languages.registerDocumentLinkProvider(
      { scheme: OUTCOME_SCHEME },
      { provideDocumentLinks: async (document) => (await core()).reruns.provideDocumentLinks(document) },
    ),
    registerGroup(
      register,
      [
        'rollout.showCalls',
        'rollout.chooseToolBatch',
        'rollout.rerunCall',
        'rollout.predictCall',
        'rollout.runCall',
        'rollout.saveTestCase',
      ],
      async () => (await core()).commands,
    ),
    registerGroup(register, INTERNAL_COMMANDS, async () => (await core()).commands),
    vscode.workspace.onDidCloseTextDocument((document) => {
      if (document.uri.scheme === FORM_SCHEME) instance?.reruns.closed(document);
    }),
    vscode.workspace.onDidSaveTextDocument((document) => {
      if (vscode.languages.match(TOOLS, document) > 0) instance?.fileSaved();
    }),
    vscode.window.onDidChangeVisibleTextEditors(update),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      changed();
      update();
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (!event.affectsConfiguration(`${SECTION}.tools`)) return;
      changed();
      instance?.refreshMarks();
    }),
    new vscode.Disposable(() => {
      watching?.dispose();
      instance?.dispose();
    }),
  );
  return {
    registered,
    recorded: async (file, tool) => (trusted() ? (await core()).recordedArguments(file, tool) : []),
  };
}

/**
 * Closes tabs of call documents that a window reload restored, because the documents existed only in memory.
 */
function closeLeftovers(schemes: readonly string[]): void {
  const uriOf = ({ input }: vscode.Tab): vscode.Uri | undefined =>
    input instanceof vscode.TabInputText
      ? input.uri
      : input instanceof vscode.TabInputTextDiff
        ? input.modified
        : undefined;
  const leftovers = vscode.window.tabGroups.all.flatMap(({ tabs }) =>
    tabs.filter((tab) => schemes.includes(uriOf(tab)?.scheme ?? '')),
  );
  if (leftovers.length > 0) void vscode.window.tabGroups.close(leftovers, true);
}
