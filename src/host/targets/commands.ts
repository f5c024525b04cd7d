/** Add, Select, Use, Remove, Change Token of, Install on and Uninstall from a target. */
import * as vscode from 'vscode';
import { LOCAL } from '../../client/targets/local.ts';
import type { CommandGroup, Services } from '../services.ts';
import { chooseTarget } from '../window/settings.ts';
import { addAddress, changeToken } from './address/keep.ts';
import type { TargetTokens } from './address/targetTokens.ts';
import { askTarget } from './ask.ts';
import { install, uninstall } from './install.ts';
import type { KnownTargets } from './knownTargets.ts';
import { pickTarget, pickTargetInUse, targetArgument } from './pickTarget.ts';
import { addTarget, removeTarget } from './targetCli.ts';
import { tellAdded } from './tell.ts';

export type TargetCommand =
  | 'rollout.addTarget'
  | 'rollout.selectTarget'
  | 'rollout.useTarget'
  | 'rollout.removeTarget'
  | 'rollout.changeToken'
  | 'rollout.installTarget'
  | 'rollout.uninstallTarget';

export function targetCommands(
  services: Services,
  targets: KnownTargets,
  tokens: TargetTokens,
): CommandGroup<TargetCommand> {
  const { cli, server } = services;
  const use = async (argument: unknown): Promise<void> => {
    const name = targetArgument(argument) ?? (await pickTargetInUse(targets, server.target));
    if (name !== undefined) await chooseTarget(name);
  };
  return {
    'rollout.addTarget': async () => {
      const wanted = await askTarget(
        cli,
        targets.list.value.map(({ name }) => name),
      );
      if (wanted === undefined) return;
      if (wanted.kind === 'cluster') await addTarget(cli, wanted);
      else await addAddress(tokens, wanted);
      await targets.refresh();
      await tellAdded(services, wanted.name);
    },
    'rollout.selectTarget': use,
    'rollout.useTarget': use,
    'rollout.removeTarget': async (argument) => {
      const wanted = await pickTarget(targets, argument, { title: 'Remove Target' });
      if (wanted === undefined) return;
      const { name } = wanted;
      const detail =
        'What is installed there stays as it ' +
        `is.${name === server.target ? ' This window then uses this machine.' : ''}`;
      if (
        (await vscode.window.showWarningMessage(
          `Remove the target ${name} from the list?`,
          { modal: true, detail },
          'Remove',
        )) !== 'Remove'
      )
        return;
      if (name === server.target) await chooseTarget(LOCAL);
      await removeTarget(cli, name);
      await tokens.forget(name);
      await targets.refresh();
    },
    'rollout.changeToken': async (argument) => {
      const wanted = await pickTarget(targets, argument, { title: 'Change Token of Target', kind: 'url' });
      if (wanted !== undefined && (await changeToken(tokens, wanted.name))) {
        void vscode.window.showInformationMessage(`The target ${wanted.name} has its new token.`);
        await vscode.commands.executeCommand('rollout.refresh');
      }
    },
    'rollout.installTarget': async (argument) => {
      const wanted = await pickTarget(targets, argument, { title: 'Install on Target', kind: 'cluster' });
      if (wanted !== undefined) await install(services, wanted);
    },
    'rollout.uninstallTarget': async (argument) => {
      const wanted = await pickTarget(targets, argument, { title: 'Uninstall from Target', kind: 'cluster' });
      if (wanted !== undefined) await uninstall(services, wanted);
    },
  };
}
