/** Performs the actions that pages request from the editor. */
import path from 'node:path';
import * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import { webLink } from '../../common/webLink.ts';
import { placeLink, placeWords } from '../../protocol/editorLink.ts';
import type { PageAction, PagePlace } from '../../protocol/page.ts';
import { viewUrl } from '../../protocol/viewLink.ts';
import type { Place } from '../../trace/schema.ts';
import type { PageServer, ServerId } from '../server/connections.ts';
import type { HostAction, Pages, ServerLink, Services } from '../services.ts';
import type { SubmittedScenarioRef } from '../worlds/commands.ts';
import { placeFile } from './placeName.ts';
import { findSource, submissionOf } from './sourceFile.ts';
import type { ValueDocuments } from './textDocuments.ts';

const BATCH_COMMANDS = {
  pause: 'rollout.pauseBatch',
  release: 'rollout.releasePods',
  resume: 'rollout.resumeBatch',
  cancel: 'rollout.stopBatch',
  retry: 'rollout.retryUnsettled',
  again: 'rollout.launchAgain',
  failed_again: 'rollout.runFailedAgain',
} as const satisfies Record<Extract<PageAction, { do: 'batch' }>['verb'], string>;

const CALL_COMMANDS = {
  rerun: 'rollout.rerunCall',
  try: 'rollout.toolCalls.try',
  test: 'rollout.saveTestCase',
} as const satisfies Record<Extract<PageAction, { do: 'call' }>['what'], string>;

interface ActionParts {
  readonly services: Pick<Services, 'context' | 'log' | 'server' | 'cli'>;
  readonly open: Pages['open'];
  readonly documents: ValueDocuments;
  /** Connection of the requesting page. undefined uses the window's server. */
  readonly pageServer: PageServer | undefined;
}

/** Reads come from the page's server; commands act on the window's server. */
export async function doAction(
  { services: { context, log, ...windowServices }, open, documents, pageServer }: ActionParts,
  action: HostAction,
): Promise<void> {
  const { cli } = windowServices;
  const server: Pick<ServerLink, 'connection'> = pageServer ?? windowServices.server;
  switch (action.do) {
    case 'open':
      await open(action.place, { toSide: action.beside ?? false });
      return;
    case 'source':
      await openSource({ server }, action.place, action.rollout);
      return;
    case 'world':
      await openWorld(server, action.rollout, action.scenario);
      return;
    case 'document':
      await documents.open(action.title, action.text, action.language);
      return;
    case 'copy':
      await vscode.env.clipboard.writeText(action.text);
      return;
    case 'external':
      await openExternal(action.url);
      return;
    case 'link':
      await vscode.env.clipboard.writeText(
        action.for === 'browser'
          ? await browserLink(server, action.place)
          : linkTo(context, action.place).toString(true),
      );
      vscode.window.setStatusBarMessage('$(link) Link copied', 3_000);
      return;
    case 'batch':
      checkSameServer(pageServer);
      await vscode.commands.executeCommand(BATCH_COMMANDS[action.verb], { batch: action.batch });
      return;
    case 'pods':
      checkSameServer(pageServer);
      await vscode.commands.executeCommand('rollout.showPods', { batch: action.batch });
      return;
    case 'debug':
      checkSameServer(pageServer);
      await vscode.commands.executeCommand('rollout.debug', action.place);
      return;
    case 'call':
      checkSameServer(pageServer);
      await vscode.commands.executeCommand(CALL_COMMANDS[action.what], action.place);
      return;
    case 'predict':
      checkSameServer(pageServer);
      await vscode.commands.executeCommand('rollout.predictCall', action.place, action.what);
      return;
    case 'label':
      checkSameServer(pageServer);
      await vscode.commands.executeCommand(
        'rollout.labelAttempt',
        { rollout: action.rollout },
        { passed: action.passed },
      );
      return;
    case 'save':
      await savePage({ cli, server, log, serverId: pageServer?.id }, action.place);
  }
}

/** Returns a link that opens the place in the editor, on any machine with the same store. */
function linkTo(context: vscode.ExtensionContext, place: PagePlace): vscode.Uri {
  return vscode.Uri.from({ scheme: vscode.env.uriScheme, authority: context.extension.id, ...placeLink(place) });
}

/**
 * Returns a read-only link for a browser on the user's machine. In remote windows, VS Code forwards the port there for
 * as long as the window is open.
 */
async function browserLink(server: Pick<ServerLink, 'connection'>, place: PagePlace): Promise<string> {
  const address = (await server.connection()).readAddress();
  if (vscode.env.remoteName === undefined) return viewUrl(address, place, false);
  const outside = await vscode.env.asExternalUri(vscode.Uri.parse(address.url, true));
  return viewUrl({ ...address, url: outside.toString(true).replace(/\/+$/, '') }, place, false);
}

/** Opens a file to the side of the page, unless it is already visible. */
export async function openSource(
  { server }: { readonly server: Pick<ServerLink, 'connection'> },
  place: Place,
  rollout: string | undefined,
): Promise<void> {
  const connection =
    rollout === undefined ? undefined : await server.connection({ start: false }).catch(() => undefined);
  const { uri, line } = await findSource(place, connection?.api, rollout);
  const visibleEditor = vscode.window.visibleTextEditors.find(
    (editor) => editor.document.uri.toString() === uri.toString(),
  );
  const document = await vscode.workspace.openTextDocument(uri);
  const position = document.validatePosition(new vscode.Position(line - 1, place.column - 1));
  await vscode.window.showTextDocument(document, {
    viewColumn: visibleEditor?.viewColumn ?? vscode.ViewColumn.Beside,
    selection: new vscode.Range(position, position),
    preview: true,
  });
}

/** Opens the World page of a scenario of the world that a rollout was submitted with. */
async function openWorld(server: Pick<ServerLink, 'connection'>, rollout: string, scenario: string): Promise<void> {
  const { api } = await server.connection();
  const world = (await submissionOf(api, rollout))?.world;
  if (world === undefined) throw new StudioError('not_found', 'The submission of this rollout names no world.');
  const { name, file } = world;
  await vscode.commands.executeCommand('rollout.openWorld', { name, file, scenario } satisfies SubmittedScenarioRef);
}

async function openExternal(text: string): Promise<void> {
  const url = webLink(text);
  if (url === undefined) throw new StudioError('forbidden', 'Only links to websites and mail addresses can be opened.');
  await vscode.env.openExternal(vscode.Uri.parse(url.href, true));
}

/** Throws StudioError `conflict` if the window uses another server than the page. */
function checkSameServer(pageServer: PageServer | undefined): void {
  const elsewhere = pageServer?.state.value.elsewhere;
  if (elsewhere !== undefined)
    throw new StudioError('conflict', elsewhere.text, {
      hint:
        elsewhere.target === undefined
          ? 'Choose that store in the settings first.'
          : `Choose “Use ${elsewhere.target}” first.`,
    });
}

interface SaveServices extends Pick<Services, 'cli' | 'log'> {
  readonly server: Pick<ServerLink, 'connection'>;
  readonly serverId: ServerId | undefined;
}

function compareOptions(place: PagePlace): readonly string[] {
  if (place.page !== 'compare') return [];
  return ['--compare', ...(place.rollout === undefined ? [] : ['--left', place.rollout])];
}

async function savePage({ cli, server, log, serverId }: SaveServices, place: PagePlace): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.find((candidate) => candidate.uri.scheme === 'file')?.uri;
  const target = await vscode.window.showSaveDialog({
    title: 'Save as Standalone Page',
    saveLabel: 'Save',
    filters: { 'Web Page': ['html'] },
    ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, placeFile(place)) }),
  });
  if (target === undefined) return;
  if (target.scheme !== 'file')
    throw new StudioError('unsupported', 'Pages can be saved only to a folder on the machine of the extension.');
  await server.connection(); // fails if not trusted or not available
  await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: 'Saving the page', cancellable: true },
    async (_progress, cancelled) => {
      const stop = new AbortController();
      const listener = cancelled.onCancellationRequested(() => stop.abort());
      try {
        await cli.json(['view', ...placeWords(place), ...compareOptions(place), '--save', target.fsPath], {
          cwd: path.dirname(target.fsPath),
          signal: stop.signal,
          ...(serverId === undefined ? {} : { at: serverId }),
        });
      } catch (error) {
        if (stop.signal.aborted) return;
        throw error;
      } finally {
        listener.dispose();
      }
      log.info(`Saved ${target.fsPath}`);
    },
  );
  void vscode.window.setStatusBarMessage(`$(check) Saved ${path.basename(target.fsPath)}`, 5_000);
}
