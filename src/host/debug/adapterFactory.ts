/** Runs the debug adapter in the extension. Launches go through the CLI. */
import os from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { z } from 'zod';
import { connect } from '../../client/connect.ts';
import { wsSocket } from '../../client/subscribe.ts';
import { LOCAL } from '../../client/targets/local.ts';
import { RolloutDebugAdapter } from '../../debug/adapter.ts';
import type { ServerLink as DebugLink } from '../../debug/rollout.ts';
import { folderOf } from '../files/workspaceFiles.ts';
import { askValue } from '../launch/values/askValue.ts';
import type { StoredValues } from '../launch/values/storedValues.ts';
import { withValues } from '../launch/values/withValues.ts';
import type { Services } from '../services.ts';
import { forkHeld } from './forkHeld.ts';

/** Built into VS Code, but users can disable it. */
const JS_DEBUGGER = 'ms-vscode.js-debug';
const launched = z.object({ batch: z.string() });

export function adapterOf(
  { server, cli, log }: Pick<Services, 'server' | 'cli' | 'log'>,
  values: StoredValues,
  session: vscode.DebugSession,
): vscode.DebugAdapterDescriptor {
  const linkOf = async (store: string | undefined, signal: AbortSignal): Promise<DebugLink> => {
    const connection =
      store === undefined || store === server.store
        ? await server.connection({ start: true, signal })
        : await connect({ store, signal, onNotice: (text) => log.info(text) });
    return {
      api: connection.api,
      openSocket: wsSocket(() => connection.address()),
      reconnect: (stop) => connection.reconnect(stop),
    };
  };
  const adapter = new RolloutDebugAdapter({
    nameIn: () => 'debugger in VS Code',
    ownDocuments: true,
    children: {
      available: vscode.extensions.getExtension(JS_DEBUGGER) !== undefined,
      // The protocol's `startDebugging` request supports only this debugger's own type.
      start: async (configuration) =>
        vscode.debug.startDebugging(session.workspaceFolder, configuration, {
          parentSession: session,
          consoleMode: vscode.DebugConsoleMode.MergeWithParent,
        }),
    },
    folders: (vscode.workspace.workspaceFolders ?? [])
      .filter(({ uri }) => uri.scheme === 'file')
      .map(({ uri }) => uri.fsPath),
    connect: linkOf,
    launch: async ({ file, task, attempt, store, by }, signal) => {
      await vscode.workspace.saveAll(false); // the CLI reads files from disk
      const uri = vscode.Uri.file(path.resolve(vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '', file));
      const args = [
        'run',
        uri.fsPath,
        '--detach',
        '--hold-attempt',
        String(attempt),
        '--held-by',
        by,
        ...(task === undefined ? [] : ['--task', task]),
      ];
      const { result } = await withValues(values, [], askValue, (env) =>
        cli.json(args, { cwd: folderOf(uri).fsPath, env, signal, ...atStore(store) }),
      );
      return launched.parse(result).batch;
    },
    fork: async (request, signal) => {
      await vscode.workspace.saveAll(false);
      const cwd = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? os.homedir();
      return forkHeld(
        request,
        async (args) =>
          (
            await withValues(values, [], askValue, (env) =>
              cli.json(args, { cwd, env, signal, ...atStore(request.store) }),
            )
          ).result,
      );
    },
  });
  return new vscode.DebugAdapterInlineImplementation(inline(adapter));
}

/** Returns the server of a store on this machine: the URL of a store may contain a password, which arguments show. */
function atStore(store: string | undefined): { readonly at?: { readonly store: string; readonly target: string } } {
  return store === undefined ? {} : { at: { store, target: LOCAL } };
}

/** Converts the adapter to VS Code's type, which declares the same protocol messages under another name. */
function inline(adapter: RolloutDebugAdapter): vscode.DebugAdapter {
  const sent = new vscode.EventEmitter<vscode.DebugProtocolMessage>();
  adapter.onDidSendMessage((message) => sent.fire(message));
  return Object.assign(
    new vscode.Disposable(() => {
      adapter.dispose();
    }),
    {
      onDidSendMessage: sent.event,
      handleMessage: (message: vscode.DebugProtocolMessage): void => {
        adapter.handleMessage(message as Parameters<typeof adapter.handleMessage>[0]);
      },
    },
  );
}
