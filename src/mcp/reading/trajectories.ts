/** Reads trajectories as models. Caches the last few, so that paging reads each only once. */

import { readStep } from '../../client/readStep.ts';
import { readSteps } from '../../client/readSteps.ts';
import type { Api, RolloutInfo } from '../../protocol/api.ts';
import { TrajectoryModel } from '../../trace/model.ts';
import { type Header, headerOf } from '../../trace/text/header.ts';
import { type TrajectoryPart, wholePart } from '../../trace/text.ts';
import { readEvent } from '../../trace/upgrades.ts';

const MAX_KEPT = 8;
const MAX_EVENTS = 250_000;

interface OpenedTrajectory {
  readonly model: TrajectoryModel;
  readonly header: Header;
}

export function wholeOf(model: TrajectoryModel): OpenedTrajectory {
  return { model, header: headerOf(model) };
}

export class Trajectories {
  /** Cached models, most recently used last. */
  readonly #cache = new Map<string, TrajectoryModel>();

  /** Reads the current trajectory of a rollout. */
  async open(api: Api, rollout: string, signal: AbortSignal): Promise<TrajectoryModel> {
    const model = this.#cache.get(rollout) ?? new TrajectoryModel();
    await extend(api, rollout, model, signal);
    this.#cache.delete(rollout);
    this.#cache.set(rollout, model);
    this.#shed();
    return model;
  }

  /** Reads a step; the rest only if it is cached, or needed to show the step. */
  openStep(api: Api, info: RolloutInfo, step: number, signal: AbortSignal): Promise<OpenedTrajectory> {
    return this.#cache.has(info.row.rollout)
      ? this.open(api, info.row.rollout, signal).then(wholeOf)
      : readStep(api, info, step, signal);
  }

  /** Yields the steps from `from` on; the whole only if it is cached, short, or cannot be read in parts. */
  async *openSteps(api: Api, info: RolloutInfo, from: number, signal: AbortSignal): AsyncGenerator<TrajectoryPart> {
    const whole = (): Promise<TrajectoryModel> => this.open(api, info.row.rollout, signal);
    if (this.#cache.has(info.row.rollout)) yield wholePart(await whole(), from);
    else yield* readSteps(api, info, from, signal, whole);
  }

  /** Reads a trajectory without caching it, for searches through many. */
  async pass(api: Api, rollout: string, signal: AbortSignal): Promise<TrajectoryModel> {
    if (this.#cache.has(rollout)) return this.open(api, rollout, signal);
    const model = new TrajectoryModel();
    await extend(api, rollout, model, signal);
    return model;
  }

  #shed(): void {
    let events = [...this.#cache.values()].reduce((sum, model) => sum + model.last, 0);
    for (const [rollout, model] of this.#cache) {
      if (this.#cache.size === 1 || (this.#cache.size <= MAX_KEPT && events <= MAX_EVENTS)) return;
      this.#cache.delete(rollout);
      events -= model.last;
    }
  }
}

async function extend(api: Api, rollout: string, model: TrajectoryModel, signal: AbortSignal): Promise<void> {
  for (;;) {
    const page = await api.events(rollout, { after: model.last }, signal);
    if (page.events.length === 0) return;
    model.push(page.events.map((event) => readEvent(event, { checked: true })));
  }
}
