/** Implements Predict Call: asks a world that a model plays, and gives the result to the page of the trajectory. */
import os from 'node:os';
import * as vscode from 'vscode';
import { errorText, StudioError } from '../../../common/errors.ts';
import { predictedCall, type WindowPrediction } from '../../../protocol/predictedCall.ts';
import { askValue } from '../../launch/values/askValue.ts';
import type { StoredValues } from '../../launch/values/storedValues.ts';
import { withValues } from '../../launch/values/withValues.ts';
import type { Services } from '../../services.ts';
import type { CallPlace } from '../rerun/callOutput.ts';
import { type PredictingWorld, pickPredictor } from './pickPredictor.ts';

/** Older ones are forgotten. */
const MAX_PREDICTIONS = 200;

export class Predictions implements vscode.Disposable {
  readonly #services: Pick<Services, 'cli' | 'context' | 'predictions' | 'pages'>;
  readonly #values: StoredValues;
  /** What ends those on their way, by call. */
  readonly #asking = new Map<string, AbortController>();

  constructor(services: Pick<Services, 'cli' | 'context' | 'predictions' | 'pages'>, values: StoredValues) {
    this.#services = services;
    this.#values = values;
  }

  dispose(): void {
    for (const stop of this.#asking.values()) stop.abort();
  }

  /** Predicts a call, and shows it. `choose`: asks for the world even if one was used before. */
  async predict(place: CallPlace, choose: boolean): Promise<void> {
    const world = await pickPredictor(this.#services.context.workspaceState, choose);
    if (world === undefined) return;
    const page = { page: 'trajectory', rollout: place.rollout } as const;
    if (!this.#services.pages.shows(page))
      await this.#services.pages.open({ ...page, seq: place.seq, tab: 'call' }, { toSide: true });
    await vscode.workspace.saveAll(false); // the world is read from disk
    await this.#ask(place, world);
  }

  /** Stops a prediction that is on its way. */
  stop(place: CallPlace): void {
    this.#asking.get(keyOf(place))?.abort();
  }

  async #ask(place: CallPlace, world: PredictingWorld): Promise<void> {
    const key = keyOf(place);
    this.#asking.get(key)?.abort();
    const stop = new AbortController();
    this.#asking.set(key, stop);
    const before = this.#services.predictions.value.find((one) => keyOf(one) === key);
    this.#set(place, world.label, { is: 'asking', since: Date.now() });
    try {
      const words = ['call', `${place.rollout}@${place.seq}`, '--predict', world.path];
      const { result } = await withValues(this.#values, [], askValue, (env) =>
        this.#services.cli.json(words, { cwd: workspaceFolder(), env, signal: stop.signal }),
      );
      if (!stop.signal.aborted) this.#set(place, world.label, { is: 'done', call: predictedCall.parse(result) });
    } catch (error) {
      if (this.#asking.get(key) !== stop) return; // another one replaced it
      if (stop.signal.aborted || StudioError.is(error, 'cancelled')) this.#restore(place, before);
      else this.#set(place, world.label, failureOf(error));
    } finally {
      if (this.#asking.get(key) === stop) this.#asking.delete(key);
    }
  }

  #set({ rollout, seq }: CallPlace, world: string, state: WindowPrediction['state']): void {
    this.#restore({ rollout, seq }, { rollout, seq, world, state });
  }

  #restore(place: CallPlace, prediction: WindowPrediction | undefined): void {
    const { predictions } = this.#services;
    const others = predictions.value.filter((one) => keyOf(one) !== keyOf(place));
    predictions.set([...others, ...(prediction === undefined ? [] : [prediction])].slice(-MAX_PREDICTIONS));
  }
}

function keyOf({ rollout, seq }: CallPlace): string {
  return `${rollout}@${seq}`;
}

function failureOf(error: unknown): Extract<WindowPrediction['state'], { is: 'failed' }> {
  const hint = StudioError.is(error) ? error.hint : undefined;
  const message = StudioError.is(error) ? error.message : errorText(error);
  return { is: 'failed', message, ...(hint === undefined ? {} : { hint }) };
}

function workspaceFolder(): string {
  return vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === 'file')?.uri.fsPath ?? os.homedir();
}
