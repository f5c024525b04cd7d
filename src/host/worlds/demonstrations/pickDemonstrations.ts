/** Implements Pick Demonstrations…: recorded calls that show the model of a simulated world how tools answer. */
import * as vscode from 'vscode';
import { readRecordings } from '../../../client/simulation/recording.ts';
import { StudioError } from '../../../common/errors.ts';
import { oneLine, plural } from '../../../common/text.ts';
import { count } from '../../../common/units.ts';
import { DEMONSTRATION_TOKENS, exampleTokens, pickedCalls } from '../../../config/simulation/demonstrations.ts';
import type { SeenCall } from '../../../config/simulation/recording.ts';
import { observationText } from '../../../config/simulation/text.ts';
import type { Api } from '../../../protocol/api.ts';
import { outcomeOf } from '../../../trace/outcome.ts';
import { pickBatch } from '../../batches/pickBatch.ts';
import { argumentPlace } from '../../open/argument.ts';
import type { CommandGroup, Services } from '../../services.ts';
import { withProgress } from '../../window/progress.ts';
import { pickSimulated } from '../pickSimulated.ts';
import type { WorkspaceWorlds } from '../workspaceWorlds.ts';
import { chosenTokens, withDemonstrations } from './demonstrationFile.ts';

const TITLE = 'Pick Demonstrations';
/** More attempts are not offered. */
const MAX_ATTEMPTS = 200;
const MAX_TEXT = 160;

export function demonstrationCommands(
  services: Services,
  worlds: WorkspaceWorlds,
): CommandGroup<'rollout.pickDemonstrations'> {
  return {
    'rollout.pickDemonstrations': async (argument) => {
      const world = await pickSimulated(worlds, argument, TITLE);
      if (world === undefined) return;
      const { api } = await services.server.connection();
      const recorded = await pickAttempt(services, api, argument);
      if (recorded === undefined) return;
      const calls = await withProgress('Reading the recorded calls', async ({ signal }) =>
        (await readRecordings(recorded, undefined, () => Promise.resolve(api), signal)).flatMap((each) => each.calls),
      );
      if (calls.length === 0)
        throw new StudioError('not_found', 'This attempt has no tool call with a result.', {
          hint: 'Choose an attempt whose agent has called tools.',
        });
      const chosen = await pickCalls(calls);
      if (chosen !== undefined) await write(world.uri, { recorded, calls, chosen });
    },
  };
}

/** Returns a rollout, or a reference to an attempt. Undefined if the user cancels. */
async function pickAttempt(services: Services, api: Api, argument: unknown): Promise<string | undefined> {
  const place = argumentPlace(argument) ?? services.pages.active.value;
  if (typeof place === 'string' && place.includes('/')) return place;
  if (typeof place === 'object' && place.page === 'trajectory') return place.rollout;
  const batch = await pickBatch(services, argument instanceof vscode.Uri ? undefined : argument, {
    title: TITLE,
    applies: ({ counts }) => counts.passed + counts.failed + counts.unscored > 0,
  });
  if (batch === undefined) return undefined;
  const items: (vscode.QuickPickItem & { readonly rollout: string })[] = [];
  for await (const row of api.allRollouts(batch)) {
    if (items.length === MAX_ATTEMPTS) break;
    const { rollout, task, attempt } = row;
    items.push({ label: `${task} · attempt ${attempt}`, description: outcomeOf(row), rollout });
  }
  // What passed shows best how tools answer.
  items.sort((one, other) => Number(other.description === 'passed') - Number(one.description === 'passed'));
  return (await vscode.window.showQuickPick(items, { title: TITLE, placeHolder: 'Select an attempt' }))?.rollout;
}

type CallItem = vscode.QuickPickItem & { readonly seq: number };

/** Lets the user change which calls are shown. Returns the SEQ of each, or undefined if the user cancels. */
async function pickCalls(calls: readonly SeenCall[]): Promise<ReadonlySet<number> | undefined> {
  const picked = new Set(pickedCalls(calls, DEMONSTRATION_TOKENS));
  const box = vscode.window.createQuickPick<CallItem>();
  box.canSelectMany = true;
  box.ignoreFocusOut = true;
  box.matchOnDescription = true;
  box.matchOnDetail = true;
  box.placeholder = 'Select the calls to show';
  box.items = calls.map((call) => ({
    label: call.name,
    description: [
      oneLine(JSON.stringify(call.arguments), MAX_TEXT),
      ...(call.failed ? ['failed'] : []),
      `about ${count(exampleTokens(call))} tokens`,
    ].join(' · '),
    detail: oneLine(observationText(call.response), MAX_TEXT),
    seq: call.seq,
  }));
  box.selectedItems = box.items.filter(({ seq }) => picked.has(seq));
  const chosen = (): Set<number> => new Set(box.selectedItems.map(({ seq }) => seq));
  const update = (): void => {
    const tokens = chosenTokens({ calls, chosen: chosen() });
    const budget = tokens > DEMONSTRATION_TOKENS ? '' : ` of ${count(DEMONSTRATION_TOKENS)}`;
    box.title = `${TITLE}: ${plural(chosen().size, 'call')}, about ${count(tokens)}${budget} tokens`;
  };
  update();
  try {
    return await new Promise((resolve) => {
      box.onDidChangeSelection(update);
      box.onDidAccept(() => {
        if (box.selectedItems.length > 0) resolve(chosen());
      });
      box.onDidHide(() => resolve(undefined));
      box.show();
    });
  } finally {
    box.dispose();
  }
}

/** Changes the file in an editor, where the user can undo it. */
async function write(uri: vscode.Uri, choice: Parameters<typeof withDemonstrations>[1]): Promise<void> {
  const document = await vscode.workspace.openTextDocument(uri);
  const text = withDemonstrations(document.getText(), choice);
  if (text === undefined)
    throw new StudioError('config', 'The world file has syntax errors.', { hint: 'See the Problems view.' });
  const edit = new vscode.WorkspaceEdit();
  edit.replace(uri, new vscode.Range(document.positionAt(0), document.positionAt(document.getText().length)), text);
  const editor = await vscode.window.showTextDocument(document, { preview: false });
  await vscode.workspace.applyEdit(edit);
  const at = document.positionAt(Math.max(0, text.indexOf('\ndemonstrations:') + 1));
  editor.selection = new vscode.Selection(at, at);
  editor.revealRange(new vscode.Range(at, at));
}
