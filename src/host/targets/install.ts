/** Puts a server into a cluster, brings it to this version, and takes it out again. */
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
  // A server that does not answer may be what installing fixes; a cluster that does not is not.
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
    installed ? `The rollout server of ${name} is up to date.` : `The rollout server is installed on ${name}.`,
  );
}

export async function uninstall(services: Services, { name, namespace }: KnownTarget): Promise<void> {
  const findings = await look(services, name);
  const trouble = troubleOf(findings.filter((found) => found.name === 'cluster'));
  if (trouble !== undefined) throw trouble;
  const used = services.server.target === name;
  const queue = findings.find((found) => found.name === 'queue')?.text;
  const detail = [
    `The server goes from ${namespace === undefined ? 'its namespace' : `namespace ${namespace}`}, and with it ` +
      'its rights, its tokens, and the Jobs and pods of batches that run.',
    ...(queue === undefined ? [] : [`Now: ${queue}.`]),
    'Trajectories in a volume claim, on a node or in a database stay; those of an emptyDir go with the server. ' +
      'The target stays in the list.',
    ...(used ? ['This window then uses this machine.'] : []),
  ].join('\n\n');
  const chosen = await vscode.window.showWarningMessage(
    `Uninstall the rollout server from ${name}?`,
    { modal: true, detail },
    UNINSTALL,
    DELETE,
  );
  if (chosen === undefined) return;
  // What is taken away on purpose is not looked for.
  if (used) await chooseTarget(LOCAL);
  await run(services, name, `Uninstalling from ${name}`, [
    'uninstall',
    ...(chosen === DELETE ? ['--delete-data'] : []),
  ]);
  void vscode.window.showInformationMessage(
    `The rollout server is gone from ${name}.${used ? ' This window now uses this machine.' : ''}`,
  );
}

const UNINSTALL = 'Uninstall';
const DELETE = 'Uninstall and Delete Volumes';

function look({ cli }: Services, name: string): Promise<readonly Finding[]> {
  return withProgress(`Looking at ${name}`, ({ signal }) => targetFindings(cli, name, signal));
}

/** Each object has its line in the log, and in the notification while it is done. */
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
    if (StudioError.is(error, 'cancelled')) void tellCancelled(title, log);
    throw error;
  } finally {
    await vscode.commands.executeCommand('rollout.refresh');
  }
}

async function tellCancelled(title: string, log: vscode.LogOutputChannel): Promise<void> {
  const text = `${title} was cancelled. What was done so far stays; doing it again goes on from there.`;
  if ((await vscode.window.showWarningMessage(text, 'Show Log')) !== undefined) log.show(true);
}
