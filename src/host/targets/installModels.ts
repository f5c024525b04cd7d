/** Asks which models vLLM serves next to the server: one, or those of a file. */
import * as vscode from 'vscode';
import { VLLM_GPUS } from '../../config/schema/modelsFile.ts';
import { type Answer, BACK, type Choice } from '../window/questions/answer.ts';
import { input, pickOne, type StepPlace } from '../window/questions/dialogue.ts';
import {
  hasChoice,
  type ModelsChoice,
  modelsText,
  NONE,
  type OptionValues,
  type StoredModels,
  setModels,
} from './modelOptions.ts';

type Picked = ModelsChoice | 'one' | 'browse';

/** Names of files that may have models. */
const FILES = '**/*models*.{yaml,yml}';
const MAX_FILES = 20;
const GPU_LABELS: Readonly<Record<(typeof VLLM_GPUS)[number], string>> = {
  'a100-40': 'A100 40 GB',
  'a100-80': 'A100 80 GB',
};

/** Returns the row of the models in the list of options. */
export function modelsRow(values: OptionValues, stored: StoredModels): Omit<Choice<unknown>, 'value'> {
  return { label: 'Models', description: modelsText(values, stored, fileName), icon: 'edit' };
}

/** Lets the user choose models; `BACK` leaves them as they are. */
export async function askModels(
  place: StepPlace,
  values: OptionValues,
  stored: StoredModels,
): Promise<Answer<unknown>> {
  for (;;) {
    const picked = await pickOne({ ...place, back: true }, await choices(values, stored), {
      placeholder: 'Which models vLLM serves next to the server',
    });
    if (picked === undefined || picked === BACK) return picked;
    const choice =
      picked === 'one' ? await askModel(place, values, stored) : picked === 'browse' ? await browse() : picked;
    if (choice === undefined) return undefined;
    if (choice === BACK) continue;
    setModels(values, stored, choice);
    return choice;
  }
}

async function choices(values: OptionValues, stored: StoredModels): Promise<Choice<Picked>[]> {
  const files = await vscode.workspace.findFiles(FILES, '**/node_modules/**', MAX_FILES);
  const all: Choice<Picked>[] = [
    { label: 'One Model…', detail: 'by its name on the Hugging Face hub, or in S3', icon: 'server', value: 'one' },
  ];
  for (const { fsPath } of files)
    all.push({
      label: fileName(fsPath),
      detail: 'several models, which calls choose by name',
      icon: 'file',
      value: { file: fsPath },
    });
  all.push({
    label: 'Models File…',
    detail: 'a YAML file with several models',
    icon: 'folder-opened',
    value: 'browse',
  });
  if (hasChoice(values)) {
    const detail = `back to: ${modelsText(new Map(), stored, fileName)}`;
    all.push({ label: 'Unchanged', detail, icon: 'discard', value: 'kept' });
  }
  if (stored?.vllm !== undefined || stored?.models !== undefined)
    all.push({ label: 'No Models', detail: 'removes those of the cluster', icon: 'trash', value: 'none' });
  return all;
}

async function askModel(place: StepPlace, values: OptionValues, stored: StoredModels): Promise<Answer<ModelsChoice>> {
  for (;;) {
    const chosen = values.get('vllm');
    const model = await input(
      { ...place, back: true },
      {
        prompt: 'Name on the Hugging Face hub, or s3://BUCKET/FOLDER',
        placeholder: 'Qwen/Qwen3-32B',
        value: (chosen === NONE ? undefined : chosen) ?? stored?.vllm?.model ?? '',
        validate: (text) => (/^\S+$/.test(text.trim()) ? undefined : 'Enter the name of a model.'),
      },
    );
    if (model === undefined || model === BACK) return model;
    const gpus: Choice<string>[] = [
      ...VLLM_GPUS.map((value) => ({
        label: GPU_LABELS[value],
        detail: 'computes vLLM’s flags for the size of the model',
        icon: 'circuit-board',
        value,
      })),
      { label: 'Other', detail: 'with vLLM’s own defaults', icon: 'circle-slash', value: NONE },
    ];
    const now = values.get('vllm-gpu') ?? stored?.vllm?.gpu;
    const active = Math.max(
      0,
      gpus.findIndex(({ value }) => value === now),
    );
    const gpu = await pickOne({ ...place, back: true }, gpus, { placeholder: 'GPUs of the nodes', active });
    if (gpu === undefined) return undefined;
    if (gpu !== BACK) return { model: model.trim(), gpu };
  }
}

/** `BACK`: without a file. */
async function browse(): Promise<ModelsChoice | typeof BACK> {
  const [file] =
    (await vscode.window.showOpenDialog({
      title: 'Models File',
      openLabel: 'Use',
      canSelectMany: false,
      filters: { YAML: ['yaml', 'yml'] },
    })) ?? [];
  return file === undefined ? BACK : { file: file.fsPath };
}

function fileName(file: string): string {
  return vscode.workspace.asRelativePath(file);
}
