/** Installs, upgrades, and uninstalls the server of a cluster target. */
import * as vscode from 'vscode';
import { LOCAL } from '../../client/targets/local.ts';
import { StudioError } from '../../common/errors.ts';
import { changedObjects } from '../../protocol/installDiff.ts';
import type { Services } from '../services.ts';
import { withProgress } from '../window/progress.ts';
import { blockingProblem, type Finding, hasServer } from './findings.ts';
import type { InstallDiffs } from './installDiff.ts';
import { askInstall } from './installOptions.ts';
import { reportInstalled } from './report.ts';
import { clusterCommand, diffTarget, storedOptions, targetFindings } from './targetCli.ts';
import type { ConfiguredTarget } from './targetRegistry.ts';

export async function install(
  services: Services,
  { name, namespace }: ConfiguredTarget,
  diffs: InstallDiffs,
): Promise<void> {
  const findings = await readFindings(services, name);
  // Installing may fix an unresponsive server, but not an unreachable cluster.
  const problem = blockingProblem(findings.filter((finding) => finding.name === 'cluster'));
  if (problem !== undefined) throw problem;
  const { cli } = services;
  const stored = await withProgress(`Reading the options of ${name}`, ({ signal }) => storedOptions(cli, name, signal));
  const installed = hasServer(findings) === true;
  const options = await askInstall({ name, namespace, installed, stored });
  if (options === undefined) return;
  const diff = await withProgress(`Comparing with ${name}`, ({ signal }) => diffTarget(cli, name, options, signal));
  // Without changes, it only remains to see that the server runs.
  if (
    changedObjects(diff).length > 0 &&
    !(await diffs.confirm(installed ? `Upgrade ${name}` : `Install on ${name}`, diff))
  )
    return;
  await run(services, name, installed ? `Upgrading ${name}` : `Installing on ${name}`, [
    'install',
    '--create-namespace',
    ...options,
  ]);
  await reportInstalled(
    services,
    name,
    installed ? `Upgraded the rollout server of ${name}.` : `Installed the rollout server on ${name}.`,
  );
}

export async function uninstall(services: Services, { name, namespace }: ConfiguredTarget): Promise<void> {
  const findings = await readFindings(services, name);
  const problem = blockingProblem(findings.filter((finding) => finding.name === 'cluster'));
  if (problem !== undefined) throw problem;
  const isCurrent = services.server.target === name;
  const queue = findings.find((finding) => finding.name === 'queue')?.text;
  const detail = [
    `This removes the server from ${namespace === undefined ? 'its namespace' : `namespace ${namespace}`}, ` +
      'including its roles, its tokens, and the Jobs and pods of running batches.',
    ...(queue === undefined ? [] : [`Current queue: ${queue}.`]),
    'Trajectories in a volume claim, on a node, or in a database are kept; those in an emptyDir are lost. The ' +
      'target stays in the list.',
    ...(isCurrent ? ['The window switches to this machine.'] : []),
  ].join('\n\n');
  const chosen = await vscode.window.showWarningMessage(
    `Uninstall the rollout server from ${name}?`,
    { modal: true, detail },
    UNINSTALL,
    DELETE,
  );
  if (chosen === undefined) return;
  // Disconnect first, so that the window does not search for the removed server.
  if (isCurrent) await services.settings.switchTarget(LOCAL);
  await run(services, name, `Uninstalling from ${name}`, [
    'uninstall',
    ...(chosen === DELETE ? ['--delete-data'] : []),
  ]);
  void vscode.window.showInformationMessage(
    `Uninstalled the rollout server from ${name}.${isCurrent ? ' This window now uses this machine.' : ''}`,
  );
}

const UNINSTALL = 'Uninstall';
const DELETE = 'Uninstall and Delete Volumes';

function readFindings({ cli }: Services, name: string): Promise<readonly Finding[]> {
  return withProgress(`Checking ${name}`, ({ signal }) => targetFindings(cli, name, signal));
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
