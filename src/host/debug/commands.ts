/** Implements Debug, Attach Debugger, and Fork for batches, attempts, and batch files. */
import * as vscode from 'vscode';
import { pickBatch } from '../batches/pickBatch.ts';
import { DEBUG_TYPE } from '../contributions/names.ts';
import type { StoredValues } from '../launch/values/storedValues.ts';
import { trajectoryOf } from '../open/trajectory.ts';
import type { CommandGroup, Services } from '../services.ts';
import { isBatchFile, liveOf, replayOf } from './configurations.ts';
import { fork } from './forkCommand.ts';

export function debugCommands(
  services: Services,
  values: StoredValues,
): CommandGroup<'rollout.debug' | 'rollout.attachDebugger' | 'rollout.fork'> {
  return {
    'rollout.debug': async (argument) => {
      const file = argument instanceof vscode.Uri && isBatchFile(argument) ? argument : undefined;
      const configuration = file === undefined ? await rolloutConfiguration(services, argument) : liveOf(file);
      if (configuration !== undefined) await start(configuration);
    },
    'rollout.attachDebugger': async (argument) => {
      const batch = await pickBatch(services, argument, {
        title: 'Attach Debugger',
        applies: (row) => row.state !== 'ended',
        direct: true,
      });
      if (batch !== undefined) await start({ type: DEBUG_TYPE, request: 'attach', name: 'Attached to a batch', batch });
    },
    'rollout.fork': async (argument) => {
      const place = await trajectoryOf(services, argument);
      if (place !== undefined) await fork(services, place, values);
    },
  };
}

async function start(configuration: vscode.DebugConfiguration): Promise<void> {
  await vscode.debug.startDebugging(vscode.workspace.workspaceFolders?.[0], configuration);
}

/** Replays an ended rollout, or attaches to a running one. */
async function rolloutConfiguration(
  services: Services,
  argument: unknown,
): Promise<vscode.DebugConfiguration | undefined> {
  const active = vscode.window.activeTextEditor?.document.uri;
  if (
    argument === undefined &&
    services.pages.active.value === undefined &&
    active !== undefined &&
    isBatchFile(active)
  )
    return liveOf(active);
  const place = await trajectoryOf(services, argument);
  if (place === undefined) return undefined;
  const { api } = await services.server.connection();
  const { row } = await api.rollout(place.rollout);
  if (row.state === 'ended') return replayOf(place.rollout, place.seq);
  return { type: DEBUG_TYPE, request: 'attach', name: 'Attached', rollout: place.rollout };
}
