/** Implements Show Team: a live diagram of a team next to its file. Boxes link to lines of the file. */
import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { fileKind } from '../../common/fileKinds.ts';
import { loadAgent } from '../../config/load.ts';
import { basename } from '../../config/paths.ts';
import { pathOf, uriOf, workspaceFiles } from '../files/workspaceFiles.ts';
import type { CommandGroup } from '../services.ts';
import { type GraphPlace, teamGraph } from './teamGraph.ts';
import { problemPage, teamPage } from './teamPicture.ts';

const VIEW_TYPE = 'rollout.team';
/** Delay after the last edit. */
const DEBOUNCE_MS = 300;
const clickMessage = z.object({ box: z.number().int().min(0) });

export function teamCommands(): CommandGroup<'rollout.showTeam'> {
  const open = new Map<string, vscode.WebviewPanel>();
  return {
    'rollout.showTeam': async (argument) => {
      const uri = argument instanceof vscode.Uri ? argument : vscode.window.activeTextEditor?.document.uri;
      if (uri === undefined || fileKind(uri.path) !== 'agent')
        throw new StudioError('usage', 'No agent file is open.', {
          hint: 'Open a file such as desk.agent.yaml.',
        });
      const existing = open.get(uri.toString());
      if (existing !== undefined) {
        existing.reveal();
        return;
      }
      const { value, problems } = await loadAgent(siblingFiles(uri), pathOf(uri));
      if (value !== undefined && value.team === undefined)
        throw new StudioError('usage', `${basename(uri.path)} has no team.`, {
          hint: 'Add one: `team: { kind: handoff, members: […] }`.',
        });
      if (value === undefined && problems.length === 0)
        throw new StudioError('internal', 'Cannot read the agent file for an unknown reason.');
      const panel = vscode.window.createWebviewPanel(
        VIEW_TYPE,
        `Team ${basename(uri.path).replace(/\.agent\.\w+$/, '')}`,
        vscode.ViewColumn.Beside,
        { enableScripts: true, localResourceRoots: [] },
      );
      open.set(uri.toString(), panel);
      const listeners = follow(panel, uri);
      panel.onDidDispose(() => {
        open.delete(uri.toString());
        listeners.dispose();
      });
    },
  };
}

function siblingFiles(uri: vscode.Uri): ReturnType<typeof workspaceFiles> {
  return workspaceFiles(vscode.Uri.joinPath(uri, '..'));
}

function follow(panel: vscode.WebviewPanel, uri: vscode.Uri): vscode.Disposable {
  let places: readonly GraphPlace[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let latest = 0;
  const draw = async (): Promise<void> => {
    const version = ++latest;
    const { value, problems } = await loadAgent(siblingFiles(uri), pathOf(uri));
    if (version !== latest) return; // superseded by a later edit
    const nonce = randomBytes(16).toString('base64url');
    const title = `The team of ${basename(uri.path)}`;
    if (value?.team === undefined) {
      const [first] = problems;
      places = [];
      panel.webview.html = problemPage(
        title,
        first === undefined
          ? 'The file no longer has a team.'
          : `${basename(first.file)}, line ${first.line}: ${first.message}. ${first.hint}`,
        nonce,
      );
      return;
    }
    const graph = teamGraph(value);
    places = graph.boxes.map(({ place }) => place);
    panel.webview.html = teamPage(title, graph, nonce);
  };
  void draw();
  return vscode.Disposable.from(
    { dispose: () => clearTimeout(timer) },
    vscode.workspace.onDidChangeTextDocument(({ document }) => {
      if (fileKind(document.uri.path) !== 'agent') return;
      clearTimeout(timer);
      timer = setTimeout(() => void draw(), DEBOUNCE_MS);
    }),
    panel.webview.onDidReceiveMessage((raw: unknown) => {
      const message = clickMessage.safeParse(raw);
      const place = message.success ? places[message.data.box] : undefined;
      if (place !== undefined) void reveal(uri, place);
    }),
  );
}

async function reveal(base: vscode.Uri, { path, line }: GraphPlace): Promise<void> {
  const target = uriOf(base, path);
  const visibleEditor = vscode.window.visibleTextEditors.find(
    ({ document }) => document.uri.toString() === target.toString(),
  );
  const at = new vscode.Position(line - 1, 0);
  await vscode.window.showTextDocument(target, {
    selection: new vscode.Range(at, at),
    viewColumn: visibleEditor?.viewColumn ?? vscode.ViewColumn.One,
  });
}
