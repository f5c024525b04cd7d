/** Implements Copy to Target…: copies an ended batch to another target, through the CLI. */
import os from 'node:os';
import * as vscode from 'vscode';
import { z } from 'zod';
import { LOCAL } from '../../client/targets/local.ts';
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import type { CommandGroup, Services } from '../services.ts';
import type { TargetRegistry } from '../targets/targetRegistry.ts';
import { withProgress } from '../window/progress.ts';
import { BACK } from '../window/questions/answer.ts';
import { pickOne } from '../window/questions/dialogue.ts';
import { pickBatch } from './pickBatch.ts';

const TITLE = 'Copy Batch to Target';

const reply = z.object({
  copied: z.array(z.object({ batch: z.string(), bytes: z.number(), how: z.enum(['present', 'copied', 'continued']) })),
});

export function copyCommands(services: Services, targets: TargetRegistry): CommandGroup<'rollout.copyBatch'> {
  return {
    'rollout.copyBatch': async (argument) => {
      const batch = await pickBatch(services, argument, { title: TITLE, applies: ({ state }) => state === 'ended' });
      if (batch === undefined) return;
      const row = await services.batches.get(batch);
      if (row.state !== 'ended')
        throw new StudioError('conflict', `${row.name} has not ended, so it cannot be copied.`, {
          hint: 'Wait until it ends, or stop it.',
        });
      const to = await pickDestination(services, targets);
      if (to !== undefined) await copy(services, row, to);
    },
  };
}

/** Returns undefined if the user cancels. */
async function pickDestination({ server }: Services, targets: TargetRegistry): Promise<string | undefined> {
  await targets.refresh();
  const candidates = [{ name: LOCAL, place: 'this machine' }, ...targets.list.value].filter(
    ({ name }) => name !== server.target,
  );
  if (candidates.length === 0)
    throw new StudioError('not_found', 'There is no other target to copy to.', {
      hint: 'Add one with “Rollout: Add Target…”.',
    });
  const picked = await pickOne(
    { title: TITLE, step: 1, steps: 1 },
    candidates.map(({ name, place }) => ({ label: name, description: place, value: name })),
    { placeholder: 'Select where to copy it' },
  );
  return picked === BACK ? undefined : picked;
}

async function copy(
  { cli, server, log }: Services,
  { batch, name }: { readonly batch: string; readonly name: string },
  to: string,
): Promise<void> {
  const { copied } = await withProgress(`Copying ${name} to ${to}`, async ({ signal, report }) =>
    reply.parse(
      // The local server, which one end may be, is that of the settings.
      await cli.json(['copy', batch, '--from', server.target, '--to', to], {
        cwd: os.homedir(),
        at: { target: LOCAL, store: server.store },
        signal,
        onProgress: report,
      }),
    ),
  );
  const moved = copied.filter(({ how }) => how !== 'present');
  log.info(`copied to ${to}: ${moved.map((one) => one.batch).join(', ')}`);
  const parents = moved.filter((one) => one.batch !== batch).length;
  const also = parents === 0 ? '' : ` ${plural(parents, 'batch', 'batches')} that it continues came along.`;
  void vscode.window.showInformationMessage(
    moved.length === 0 ? `${name} is at ${to} already.` : `Copied ${name} to ${to}.${also}`,
  );
}
