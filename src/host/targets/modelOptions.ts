/** The options of `rollout cluster install` for models, as the form sets them. Pure. */
import type { StoredOptions } from './targetCli.ts';

/** What is chosen, by option. Only what differs from what the cluster has is there. */
export type OptionValues = Map<string, string>;
/** The models that the cluster has. */
export type StoredModels = Pick<StoredOptions, 'vllm' | 'models'> | undefined;
/** One model, those of a file, none, or those that the cluster has. */
export type ModelsChoice =
  | { readonly model: string; readonly gpu: string }
  | { readonly file: string }
  | 'none'
  | 'kept';

/** The value that takes a model, its GPU, or a file back. */
export const NONE = 'none';
const OPTIONS = ['vllm', 'vllm-gpu', 'models'] as const;

/** Sets the options for a choice. A model and a file do not exclude each other. */
export function setModels(values: OptionValues, stored: StoredModels, choice: ModelsChoice): void {
  const set = (option: (typeof OPTIONS)[number], value: string, now: string | undefined): void => {
    if (value === now) values.delete(option);
    else values.set(option, value);
  };
  if (choice === 'kept' || choice === 'none') {
    for (const option of OPTIONS) values.delete(option);
    if (choice === 'none' && stored?.vllm !== undefined) values.set('vllm', NONE);
    if (choice === 'none' && stored?.models !== undefined) values.set('models', NONE);
  } else if ('file' in choice) values.set('models', choice.file);
  else {
    set('vllm', choice.model, stored?.vllm?.model);
    set('vllm-gpu', choice.gpu, stored?.vllm?.gpu ?? NONE);
  }
}

/** Whether models were chosen. */
export function hasChoice(values: ReadonlyMap<string, string>): boolean {
  return OPTIONS.some((option) => values.has(option));
}

/** Returns the models that the installation will have. `fileName`: of a file, for people. */
export function modelsText(
  values: ReadonlyMap<string, string>,
  stored: StoredModels,
  fileName: (file: string) => string,
): string {
  const model = values.get('vllm') ?? stored?.vllm?.model ?? NONE;
  const file = values.get('models');
  const named =
    file === undefined ? Object.keys(stored?.models ?? {}) : file === NONE ? [] : [`models of ${fileName(file)}`];
  const all = [...(model === NONE ? [] : [model]), ...named];
  return all.length === 0 ? NONE : all.join(', ');
}
