/** The composition root of the extension: what is made, and what is registered. Nothing is awaited here. */
import type * as vscode from 'vscode';
import { HostBatchList } from './host/batches/batchList.ts';
import { registerBatchCommands } from './host/batches/control.ts';
import { registerCodeLens } from './host/codelens/codeLens.ts';
import { registerDebug } from './host/debug/debug.ts';
import { StudioFiles } from './host/files/studioFiles.ts';
import { registerImport } from './host/importing/import.ts';
import { registerSample } from './host/importing/sample.ts';
import { launchState, registerLaunch } from './host/launch/launch.ts';
import { registerMcp } from './host/mcp/mcp.ts';
import { registerOpen } from './host/open/open.ts';
import { createPages, registerPages } from './host/pages/pages.ts';
import { createCli } from './host/server/cli.ts';
import { registerServer } from './host/server/commands.ts';
import { createServerLink } from './host/server/hostLink.ts';
import type { Services } from './host/services.ts';
import { registerTemplates } from './host/templates/templates.ts';
import { registerTesting } from './host/testing/testing.ts';
import { registerViews } from './host/views/views.ts';
import { commandRegistrar } from './host/window/commands.ts';
import { registerContextKeys } from './host/window/contextKeys.ts';
import { registerDiagnostics } from './host/window/diagnostics.ts';
import { createLog } from './host/window/log.ts';
import { FileProblems } from './host/window/problems.ts';
import { chosenStore, setting } from './host/window/settings.ts';
import { registerStatusBar } from './host/window/statusBar.ts';

export function activate(context: vscode.ExtensionContext): void {
  const log = createLog();
  const problems = new FileProblems();
  const register = commandRegistrar(log, problems);
  const server = createServerLink(log);
  const cli = createCli(log, chosenStore);
  const batches = new HostBatchList({ server, pageSize: () => setting('view.batchesLimit'), log: (text) => log.channel.warn(text) });
  const files = new StudioFiles();
  const launching = launchState(context);
  const parts = { context, log: log.channel, server, cli, batches };
  const pages = createPages(parts);
  const services: Services = { ...parts, pages };
  context.subscriptions.push(
    log, problems, server, batches, files, pages,
    registerContextKeys(services),
    registerStatusBar(services, batches),
    registerServer(services, register),
    registerLaunch(services, register, { ...launching, problems, files }),
    registerBatchCommands(services, register, launching.values),
    registerPages(services),
    registerOpen(services, register),
    registerImport(services, register),
    registerSample(services, register, files),
    registerViews(services, register, files),
    registerTesting(services, register, { ...launching, files }),
    registerCodeLens(services, register, { files, memory: launching.memory }),
    registerTemplates(services, register),
    registerDebug(services, register, launching),
    registerMcp(launching.values),
    registerDiagnostics(services, register, { log, values: launching.values, act: pages.act }),
  );
}
