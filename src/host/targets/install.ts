/** Installs, upgrades, and uninstalls the server of a cluster target. */
import * as vscode from 'vscode';
import { LOCAL } from '../../client/targets/local.ts';
import { StudioError } from '../../common/errors.ts';
import type { Services } from '../services.ts';
import { withProgress } from '../window/progress.ts';
import { chooseTarget } from '../window/settings.ts';
import { type Finding, hasServer, troubleOf } from './findings.ts';
import { askInstall } from './installOptions.ts';
import type { KnownTarget } from './knownTargets.ts';
import { clusterCommand, targetFindings } from './targetCli.ts';
import { tellInstalled } from './tell.ts';

export async function install(services: Services, { name, namespace }: KnownTarget): Promise<void> {
  const findings = await look(services, name);
  // Installing may fix an unresponsive server, but not an unreachable cluster.
  const trouble = troubleOf(findings.filter((found) => found.name === 'cluster'));
  if (trouble !== undefined) throw trouble;
  const installed = hasServer(findings) === true;
  const options = await askInstall(name, namespace, installed);
  if (options === undefined) return;
  await run(services, name, installed ? `Upgrading ${name}` : `Installing on ${name}`, [
    'install',
    '--create-namespace',
    ...options,
  ]);
  await tellInstalled(
    services,
    name,
    installed ? `Upgraded the rollout server of ${name}.` : `Installed the rollout server on ${name}.`,
  );
}

export async function uninstall(services: Services, { name, namespace }: KnownTarget): Promise<void> {
  const findings = await look(services, name);
  const trouble = troubleOf(findings.filter((found) => found.name === 'cluster'));
  if (trouble !== undefined) throw trouble;
  const used = services.server.target === name;
  const queue = findings.find((found) => found.name === 'queue')?.text;
  const detail = [
    `This removes the server from ${namespace === undefined ? 'its namespace' : `namespace ${namespace}`}, ` +
      'including its roles, its tokens, and the Jobs and pods of running batches.',
    ...(queue === undefined ? [] : [`Now: ${queue}.`]),
    'Trajectories in a volume claim, on a node, or in a database are kept; those in an emptyDir are lost. The ' +
      'target stays in the list.',
    ...(used ? ['The window switches to this machine.'] : []),
  ].join('\n\n');
  const chosen = await vscode.window.showWarningMessage(
    `Uninstall the rollout server from ${name}?`,
    { modal: true, detail },
    UNINSTALL,
    DELETE,
  );
  if (chosen === undefined) return;
  // Disconnect first, so that the window does not search for the removed server.
  if (used) await chooseTarget(LOCAL);
  await run(services, name, `Uninstalling from ${name}`, [
    'uninstall',
    ...(chosen === DELETE ? ['--delete-data'] : []),
  ]);
  void vscode.window.showInformationMessage(
    `Uninstalled the rollout server from ${name}.${used ? ' This window now uses this machine.' : ''}`,
  );
}

const UNINSTALL = 'Uninstall';
const DELETE = 'Uninstall and Delete Volumes';

function look({ cli }: Services, name: string): Promise<readonly Finding[]> {
  return withProgress(`Looking at ${name}`, ({ signal }) => targetFindings(cli, name, signal));
}

/** Reports each object in the log and in the notification. */
async function run({ cli, log }: Services, name: string, title: string, args: readonly string[]): Promise<void> {
  log.info(title);
  try {
    await withProgress(title, ({ signal, report }) =>
      clusterCommand(cli, name, args, {
        signal,
        onLine: (line) => {
          log.info(`${name}: ${line}`);
          report(line);
        },
      }),
    );
  } catch (error) {
    if (StudioError.is(error, 'cancelled')) void reportCancelled(title, log);
    throw error;
  } finally {
    await vscode.commands.executeCommand('rollout.refresh');
  }
}

async function reportCancelled(title: string, log: vscode.LogOutputChannel): Promise<void> {
  const text = `${title} was cancelled. Completed changes remain; run the command again to continue.`;
  if ((await vscode.window.showWarningMessage(text, 'Show Log')) !== undefined) log.show(true);
}
