/** The models of an installation, and the names of their objects. */

import type { ServedModels } from '../../../protocol/servedModels.ts';
import { type Component, LABEL, labels, NAMES } from '../../names.ts';
import type { InstallOptions } from '../options.ts';
import { servedNames, type VllmOptions } from './options.ts';

/** A model and what its objects are called. */
export interface InstalledModel {
  /** undefined: the one of `--vllm`. */
  readonly name: string | undefined;
  readonly options: VllmOptions;
}
export type ModelSet = readonly InstalledModel[];

/** Returns all models: that of `--vllm` first, then those of the file of `--models`. */
export function modelsOf({ vllm, models = {} }: Pick<InstallOptions, 'vllm' | 'models'>): ModelSet {
  return [
    ...(vllm === undefined ? [] : [{ name: undefined, options: vllm }]),
    ...Object.entries(models)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, options]) => ({ name, options })),
  ];
}

/** Returns the name of the Deployment, the Service, and the other objects of a model. */
export function objectName(model: string | undefined): string {
  return model === undefined ? NAMES.vllm : `${NAMES.vllm}-${model}`;
}

/** Returns the name of the claim of a model's weights. */
export function cacheName(model: string | undefined): string {
  return model === undefined ? NAMES.cache : `${NAMES.vllm}-${model}-cache`;
}

/** The component of a model: that of `--vllm` selects its pods by it alone, so the others have another one. */
export function componentOf(model: string | undefined): Component {
  return model === undefined ? 'vllm' : 'model';
}

/** Returns the labels of the pods of a model, by which its objects select them. */
export function modelLabels(model: string | undefined): Record<string, string> {
  return model === undefined ? labels('vllm') : labels('model', { [LABEL.model]: model });
}

/** Returns the address of a model for batch files. */
export function modelUrl(model: string | undefined, namespace: string): string {
  return `http://${objectName(model)}.${namespace}.svc:${VLLM_PORT}/v1`;
}

export const VLLM_PORT = 8000;

/** Returns what the server knows of the models, in the variable `MODELS_VARIABLE`. */
export function modelsForServer(options: Pick<InstallOptions, 'vllm' | 'models'>): ServedModels {
  return modelsOf(options).map(({ name, options: model }) => ({
    service: objectName(name),
    port: VLLM_PORT,
    names: servedNames(model),
    gpus: model.gpus,
  }));
}
