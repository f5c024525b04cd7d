/** Implements the target commands: Add, Select, Use, Remove, Change Token, Install, and Uninstall. */
import * as vscode from 'vscode';
import { LOCAL } from '../../client/targets/local.ts';
import type { CommandGroup, Services } from '../services.ts';
import { addAddress, changeToken } from './address/addAddress.ts';
import type { TargetTokens } from './address/targetTokens.ts';
import { askTarget } from './askTarget.ts';
import { install, uninstall } from './install.ts';
import type { InstallDiffs } from './installDiff.ts';
import { pickCurrentTarget, pickTarget, targetArgument } from './pickTarget.ts';
import { reportAdded } from './report.ts';
import { addTarget, addUserTarget, removeTarget } from './targetCli.ts';
import type { TargetRegistry } from './targetRegistry.ts';

type TargetCommand =
  | 'rollout.addTarget'
  | 'rollout.selectTarget'
  | 'rollout.useTarget'
  | 'rollout.removeTarget'
  | 'rollout.changeToken'
  | 'rollout.installTarget'
  | 'rollout.uninstallTarget';

export function targetCommands(
  services: Services,
  targets: TargetRegistry,
  tokens: TargetTokens,
  diffs: InstallDiffs,
): CommandGroup<TargetCommand> {
  const { cli, server, settings } = services;
  const use = async (argument: unknown): Promise<void> => {
    const name = targetArgument(argument) ?? (await pickCurrentTarget(targets, server.target));
    if (name !== undefined) await settings.switchTarget(name);
  };
  return {
    'rollout.addTarget': async () => {
      const picked = await askTarget(
        cli,
        targets.list.value.map(({ name }) => name),
      );
      if (picked === undefined) return;
      if (picked.kind === 'cluster') await addTarget(cli, picked);
      else if (picked.login !== undefined) await addUserTarget(cli, { ...picked, ...picked.login });
      else await addAddress(tokens, picked);
      await targets.refresh();
      await reportAdded(services, picked.name);
    },
    'rollout.selectTarget': use,
    'rollout.useTarget': use,
    'rollout.removeTarget': async (argument) => {
      const picked = await pickTarget(targets, argument, { title: 'Remove Target' });
      if (picked === undefined) return;
      const { name } = picked;
      const detail =
        'This does not uninstall its server.' + (name === server.target ? ' The window switches to this machine.' : '');
      if (
        (await vscode.window.showWarningMessage(`Remove target ${name}?`, { modal: true, detail }, 'Remove')) !==
        'Remove'
      )
        return;
      if (name === server.target) await settings.switchTarget(LOCAL);
      await removeTarget(cli, name);
      await tokens.forget(name);
      await targets.refresh();
    },
    'rollout.changeToken': async (argument) => {
      const picked = await pickTarget(targets, argument, { title: 'Change Token of Target', kind: 'url' });
      if (picked !== undefined && (await changeToken(tokens, picked.name))) {
        void vscode.window.showInformationMessage(`Saved the new token of target ${picked.name}.`);
        await vscode.commands.executeCommand('rollout.refresh');
      }
    },
    'rollout.installTarget': async (argument) => {
      const picked = await pickTarget(targets, argument, { title: 'Install on Target', kind: 'cluster' });
      if (picked !== undefined) await install(services, picked, diffs);
    },
    'rollout.uninstallTarget': async (argument) => {
      const picked = await pickTarget(targets, argument, { title: 'Uninstall from Target', kind: 'cluster' });
      if (picked !== undefined) await uninstall(services, picked);
    },
  };
}
