/** Asks which models vLLM serves next to the server: one, or those of a file. */
import * as vscode from 'vscode';
import { VLLM_GPUS } from '../../config/schema/modelsFile.ts';
import { type Answer, BACK, type Choice } from '../window/questions/answer.ts';
import { input, pickOne, type StepPlace } from '../window/questions/dialogue.ts';
import type { StoredOptions } from './targetCli.ts';

/** What is chosen, by option of `rollout cluster install`. */
type OptionValues = Map<string, string>;
type Stored = Pick<StoredOptions, 'vllm' | 'models'> | undefined;
type ModelsChoice = 'one' | 'browse' | 'none' | 'kept' | { readonly file: vscode.Uri };

const OPTIONS = ['vllm', 'vllm-gpu', 'models'] as const;
/** Names of files that may have models. */
const FILES = '**/*models*.{yaml,yml}';
const MAX_FILES = 20;
const GPU_LABELS: Readonly<Record<(typeof VLLM_GPUS)[number], string>> = {
  'a100-40': 'A100 40 GB',
  'a100-80': 'A100 80 GB',
};

/** Returns what the models are, in words: those that are chosen, or else those that the cluster has. */
export function modelsText(values: ReadonlyMap<string, string>, stored: Stored): string {
  const vllm = values.get('vllm') ?? stored?.vllm?.model;
  const file = values.get('models');
  const named = file === undefined ? Object.keys(stored?.models ?? {}) : [vscode.workspace.asRelativePath(file)];
  const all = [...(vllm === undefined ? [] : [vllm]), ...named].filter((name) => name !== 'none');
  return all.length === 0 ? 'none' : all.join(', ');
}

/** Lets the user choose models; `BACK` leaves them as they are. */
export async function askModels(place: StepPlace, values: OptionValues, stored: Stored): Promise<Answer<unknown>> {
  for (;;) {
    const picked = await pickOne({ ...place, back: true }, await choices(values, stored), {
      placeholder: 'Which models vLLM serves next to the server',
    });
    if (picked === undefined || picked === BACK) return picked;
    if (picked === 'kept' || picked === 'none') {
      for (const option of OPTIONS) values.delete(option);
      if (picked === 'none' && stored?.vllm !== undefined) values.set('vllm', 'none');
      if (picked === 'none' && stored?.models !== undefined) values.set('models', 'none');
      return picked;
    }
    if (picked === 'one') {
      const model = await askModel(place, values, stored);
      if (model === BACK) continue;
      return model;
    }
    const file = picked === 'browse' ? await browse() : picked.file;
    if (file === undefined) continue;
    values.set('models', file.fsPath);
    return file;
  }
}

async function choices(values: OptionValues, stored: Stored): Promise<Choice<ModelsChoice>[]> {
  const files = await vscode.workspace.findFiles(FILES, '**/node_modules/**', MAX_FILES);
  const isChanged = OPTIONS.some((option) => values.has(option));
  const hasModels = stored?.vllm !== undefined || stored?.models !== undefined;
  return [
    { label: 'One Model…', detail: 'by its name on the Hugging Face hub', icon: 'server', value: 'one' },
    ...files.map(
      (file): Choice<ModelsChoice> => ({
        label: vscode.workspace.asRelativePath(file),
        detail: 'a file with several models, which calls choose by name',
        icon: 'file',
        value: { file },
      }),
    ),
    { label: 'Models File…', detail: 'a YAML file with several models', icon: 'folder-opened', value: 'browse' },
    ...(isChanged
      ? [
          {
            label: 'No Changes',
            detail: `leaves: ${modelsText(new Map(), stored)}`,
            icon: 'discard',
            value: 'kept',
          } as const,
        ]
      : []),
    ...(hasModels
      ? [{ label: 'No Models', detail: 'removes those of the cluster', icon: 'trash', value: 'none' } as const]
      : []),
  ];
}

async function askModel(place: StepPlace, values: OptionValues, stored: Stored): Promise<Answer<unknown>> {
  const now = stored?.vllm?.model;
  for (;;) {
    const model = await input(
      { ...place, back: true },
      {
        prompt: 'Name on the Hugging Face hub, or s3://BUCKET/FOLDER',
        placeholder: 'Qwen/Qwen3-32B',
        value: values.get('vllm') ?? now ?? '',
        validate: (text) => (/^\S+$/.test(text.trim()) ? undefined : 'Enter the name of a model.'),
      },
    );
    if (model === undefined || model === BACK) return model;
    const gpu = await pickOne<string>(
      { ...place, back: true },
      [
        ...VLLM_GPUS.map((value) => ({
          label: GPU_LABELS[value],
          detail: 'computes vLLM’s flags for the size of the model',
          icon: 'circuit-board',
          value,
        })),
        { label: 'Other', detail: 'with vLLM’s own defaults', icon: 'circle-slash', value: 'none' },
      ],
      { placeholder: 'GPUs of the nodes' },
    );
    if (gpu === undefined) return undefined;
    if (gpu === BACK) continue;
    const name = model.trim();
    if (name === now) values.delete('vllm');
    else values.set('vllm', name);
    if (gpu === (stored?.vllm?.gpu ?? 'none')) values.delete('vllm-gpu');
    else values.set('vllm-gpu', gpu);
    return gpu;
  }
}

async function browse(): Promise<vscode.Uri | undefined> {
  const [file] =
    (await vscode.window.showOpenDialog({
      title: 'Models File',
      openLabel: 'Use',
      canSelectMany: false,
      filters: { YAML: ['yaml', 'yml'] },
    })) ?? [];
  return file;
}
