/** Implements Show Pods…, Show Log of Pod, and Show Events of Pod. */
import * as vscode from 'vscode';
import { z } from 'zod';
import { BatchPodReader, type BatchPods } from '../../client/batchPods.ts';
import { StudioError } from '../../common/errors.ts';
import { pickBatch } from '../batches/pickBatch.ts';
import type { CommandGroup, Services } from '../services.ts';
import type { ItemContent } from '../views/itemContent.ts';
import type { PodDocuments } from './podDocuments.ts';
import { gonePodItem, podItem, podText } from './podItems.ts';

type PodCommand = 'rollout.showPods' | 'rollout.showPodLog' | 'rollout.showPodEvents';

/** A row of a tree. */
const podArgument = z.object({ batch: z.string(), pod: z.string(), container: z.string().optional() });
type PodArgument = z.infer<typeof podArgument>;

const REFRESH_MS = 3_000;
const LOG: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon('output'), tooltip: 'Show Log' };
const EVENTS: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon('list-unordered'), tooltip: 'Show Events' };

export function podCommands(services: Services, documents: PodDocuments): CommandGroup<PodCommand> {
  const showEvents = async ({ batch, pod }: PodArgument): Promise<void> => {
    const reader = readerOf(services, batch);
    const { pods } = await reader.read();
    const found = pods.find(({ name }) => name === pod);
    await documents.showText(batch, pod, podText(found, { name: pod, records: reader.recordsOf(pod) }, Date.now()));
  };
  return {
    'rollout.showPods': async (argument) => {
      const batch = await pickBatch(services, argument, {
        title: 'Show Pods',
        applies: (row) => !row.imported,
        direct: true,
      });
      if (batch === undefined) return;
      const chosen = await pickPod(services, batch);
      if (chosen === undefined) return;
      if (chosen.log) await documents.showLog({ batch, pod: chosen.pod });
      else await showEvents({ batch, pod: chosen.pod });
    },
    'rollout.showPodLog': async (argument) => documents.showLog(parse(argument)),
    'rollout.showPodEvents': async (argument) => showEvents(parse(argument)),
  };
}

function parse(argument: unknown): PodArgument {
  const parsed = podArgument.safeParse(argument);
  if (parsed.success) return parsed.data;
  throw new StudioError('usage', 'Select a pod in the Batches view.', { hint: 'Or run “Rollout: Show Pods…”.' });
}

function readerOf({ server }: Pick<Services, 'server'>, batch: string): BatchPodReader {
  return new BatchPodReader(async () => (await server.connection()).api, batch);
}

interface PodChoice extends vscode.QuickPickItem {
  readonly pod?: string;
  readonly hasLog?: boolean;
}

/** Lets the user pick a pod in a list that follows the cluster. Returns undefined if the user cancels. */
async function pickPod(
  services: Services,
  batch: string,
): Promise<{ readonly pod: string; readonly log: boolean } | undefined> {
  const reader = readerOf(services, batch);
  const { name } = await services.batches.get(batch);
  const stop = new AbortController();
  const box = vscode.window.createQuickPick<PodChoice>();
  box.title = `Pods of ${name}`;
  box.placeholder = 'Select a pod to follow its log';
  box.matchOnDescription = true;
  box.matchOnDetail = true;
  box.busy = true;
  let timer: NodeJS.Timeout | undefined;
  const read = async (): Promise<void> => {
    const active = box.activeItems[0]?.pod;
    const items = choicesOf(await reader.read(stop.signal));
    if (stop.signal.aborted) return;
    box.keepScrollPosition = true;
    box.items = items;
    const again = items.find(({ pod }) => pod !== undefined && pod === active);
    if (again !== undefined) box.activeItems = [again];
    box.busy = false;
    timer = setTimeout(() => void read().catch(() => undefined), REFRESH_MS);
  };
  try {
    box.show();
    return await new Promise((resolve, reject) => {
      box.onDidAccept(() => {
        const { pod, hasLog = false } = box.selectedItems[0] ?? {};
        if (pod !== undefined) resolve({ pod, log: hasLog });
      });
      box.onDidTriggerItemButton(({ item, button }) => {
        if (item.pod !== undefined) resolve({ pod: item.pod, log: button === LOG });
      });
      box.onDidHide(() => resolve(undefined));
      read().catch(reject);
    });
  } finally {
    stop.abort();
    clearTimeout(timer);
    box.dispose();
  }
}

function choicesOf({ pods, gone, text }: BatchPods): PodChoice[] {
  const choice = ({ label, description, icon }: ItemContent, more: Partial<PodChoice>): PodChoice => ({
    label,
    ...(description === undefined ? {} : { description }),
    ...(icon === undefined ? {} : { iconPath: new vscode.ThemeIcon(icon.id.replace('~spin', '')) }),
    ...more,
  });
  return [
    ...pods.map((pod) =>
      choice(podItem(pod), {
        pod: pod.name,
        hasLog: pod.log,
        buttons: pod.log ? [LOG, EVENTS] : [EVENTS],
        ...(pod.text === undefined ? {} : { detail: pod.text }),
      }),
    ),
    ...(pods.length === 0 ? [{ label: text ?? 'No pods run now.', alwaysShow: true }] : []),
    ...(gone.length === 0 ? [] : [{ label: 'gone', kind: vscode.QuickPickItemKind.Separator }]),
    ...gone.map((pod) => choice(gonePodItem(pod), { pod: pod.name, hasLog: false, buttons: [EVENTS] })),
  ];
}
