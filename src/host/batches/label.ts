/** Implements Label Attempt…: records the user's own verdict on an attempt. */
import * as vscode from 'vscode';
import { z } from 'zod';
import { personName } from '../../client/person.ts';
import { newId } from '../../common/ids.ts';
import { trajectoryOf } from '../open/trajectory.ts';
import type { CommandGroup, Services } from '../services.ts';

const TITLE = 'Label Attempt';

/** What the page has already asked. */
const choice = z.object({ passed: z.boolean().nullable() });

interface Label {
  /** null withdraws the label. */
  readonly passed: boolean | null;
  readonly note?: string;
}

export function labelCommands(services: Services): CommandGroup<'rollout.labelAttempt'> {
  return {
    'rollout.labelAttempt': async (argument, options) => {
      const place = await trajectoryOf(services, argument, TITLE);
      if (place === undefined) return;
      const chosen = choice.safeParse(options);
      const label = chosen.success ? chosen.data : await askLabel();
      if (label !== undefined) await record(services, place.rollout, label);
    },
  };
}

/** Returns undefined if the user cancels. */
async function askLabel(): Promise<Label | undefined> {
  const items: (vscode.QuickPickItem & Label)[] = [
    { label: '$(pass) Passed', passed: true },
    { label: '$(error) Failed', passed: false },
    { label: '$(discard) Withdraw My Label', passed: null },
  ];
  const item = await vscode.window.showQuickPick(items, { title: TITLE, placeHolder: 'Did this attempt pass?' });
  if (item === undefined || item.passed === null) return item;
  const note = await vscode.window.showInputBox({ title: TITLE, prompt: 'Why? (optional)' });
  return note === undefined ? undefined : { passed: item.passed, note: note.trim() };
}

async function record({ server }: Services, rollout: string, { passed, note = '' }: Label): Promise<void> {
  const { api } = await server.connection();
  const { row } = await api.rollout(rollout);
  const by = personName(process.env);
  await api.commandBatch(row.batch, {
    command: newId('c'),
    verb: 'label',
    by,
    args: { rollout, passed, ...(note === '' ? {} : { note }) },
  });
  const attempt = `${row.task}, attempt ${row.attempt}`;
  vscode.window.setStatusBarMessage(
    passed === null
      ? `$(check) Withdrew the label of ${by} on ${attempt}`
      : `$(check) Labeled ${attempt} as ${passed ? 'passed' : 'failed'} by ${by}`,
    5_000,
  );
}
