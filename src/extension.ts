/**
 * The composition root of the extension: creates services and registers features. To keep activation fast, it awaits
 * nothing and loads no libraries; the code of commands, pages, and views is imported on first use.
 */
import * as vscode from 'vscode';
import { Observable } from './common/emitter.ts';
import { nodeProblem } from './common/nodeVersion.ts';
import { HostBatchList } from './host/batches/batchList.ts';
import { registerCodeLens } from './host/codelens/codeLens.ts';
import { registerGroups } from './host/commandGroups.ts';
import { registerDebug } from './host/debug/debug.ts';
import { registerDiagnostics } from './host/diagnostics/diagnostics.ts';
import { OLD_EDITOR_TEXT } from './host/editorVersion.ts';
import { StudioFiles } from './host/files/studioFiles.ts';
import { registerLanguage } from './host/language/language.ts';
import { StoredValues } from './host/launch/values/storedValues.ts';
import { registerMcp } from './host/mcp/mcp.ts';
import { createPages, registerPages } from './host/pages/pages.ts';
import { registerServer } from './host/server/commands.ts';
import { ServerConnections } from './host/server/connections.ts';
import { createCli, createPageLink, createServerLink } from './host/server/hostLink.ts';
import { ServerSettings } from './host/server/serverSettings.ts';
import type { Services } from './host/services.ts';
import { registerContextKeys } from './host/status/contextKeys.ts';
import { registerStatusBar } from './host/status/statusBar.ts';
import { TargetTokens } from './host/targets/address/targetTokens.ts';
import { readTarget, TargetRegistry } from './host/targets/targetRegistry.ts';
import { registerTesting } from './host/testing/testing.ts';
import { registerToolCalls } from './host/toolCalls/toolCalls.ts';
import { registerTools } from './host/tools/tools.ts';
import { FocusedItem } from './host/views/focusedItem.ts';
import { registerViews } from './host/views/views.ts';
import { commandRegistrar } from './host/window/commands.ts';
import { createLog } from './host/window/log.ts';
import { FileProblems } from './host/window/problems.ts';
import { setting } from './host/window/settings.ts';
import { WorkspaceWorlds } from './host/worlds/workspaceWorlds.ts';
import { registerWorlds } from './host/worlds/worlds.ts';

export function activate(context: vscode.ExtensionContext): void {
  if (nodeProblem(process.versions.node) !== undefined) {
    void vscode.window.showErrorMessage(OLD_EDITOR_TEXT);
    return;
  }
  const log = createLog();
  const problems = new FileProblems();
  const register = commandRegistrar(log, problems);
  const tokens = new TargetTokens(context.secrets, readTarget);
  const settings = new ServerSettings(log.channel, context.globalState);
  const server = createServerLink(log, tokens, settings);
  const cli = createCli(log, tokens, settings);
  const batches = new HostBatchList({
    server,
    pageSize: () => setting('view.batchesLimit'),
    log: (text) => log.channel.warn(text),
  });
  const files = new StudioFiles();
  const targets = new TargetRegistry(log.channel);
  const values = new StoredValues(context.secrets, context.globalState);
  const focused = new FocusedItem();
  const predictions = new Observable<Services['predictions']['value']>([]);
  const parts = { context, log: log.channel, settings, server, cli, batches, predictions };
  const pages = createPages(parts, new ServerConnections(server, (where) => createPageLink(where, log, tokens)));
  const services: Services = { ...parts, pages };
  const worlds = new WorkspaceWorlds(services, files);
  const toolCalls = registerToolCalls(services, register, values);
  context.subscriptions.push(
    log,
    problems,
    settings,
    server,
    batches,
    files,
    targets,
    pages,
    registerContextKeys(services),
    registerStatusBar(services, batches, targets),
    registerServer(services, register),
    registerGroups(services, focused.registrar(register), { problems, files, targets, tokens, values, worlds }),
    registerPages(services),
    worlds,
    registerWorlds(services, register, { worlds, act: pages.act, files }),
    registerViews(services, register, files, targets, focused, worlds),
    registerTesting(services, register, { files, values }),
    registerLanguage(log.channel, register, { files, values, settings, server, memory: context.globalState }),
    registerCodeLens(services, register, files, worlds),
    toolCalls.registered,
    registerTools(services, register, { values, act: pages.act, files, recorded: toolCalls.recorded }),
    registerDebug(services, values),
    registerMcp(values, tokens, settings),
    registerDiagnostics(services, register, { log, values, act: pages.act }),
  );
}
