/** Trajectories of the store as models. The last few are kept, so that paging through one reads it once. */

import type { Api } from '../../protocol/api.ts';
import { TrajectoryModel } from '../../trace/model.ts';
import { readEvent } from '../../trace/upgrades.ts';

const MAX_KEPT = 8;
const MAX_EVENTS = 250_000;

export class Trajectories {
  /** The one used last stands last. */
  readonly #kept = new Map<string, TrajectoryModel>();

  /** A rollout's trajectory as it stands now. */
  async open(api: Api, rollout: string, signal: AbortSignal): Promise<TrajectoryModel> {
    const model = this.#kept.get(rollout) ?? new TrajectoryModel();
    await extend(api, rollout, model, signal);
    this.#kept.delete(rollout);
    this.#kept.set(rollout, model);
    this.#shed();
    return model;
  }

  /** The same without keeping it: for whoever looks through many. */
  async pass(api: Api, rollout: string, signal: AbortSignal): Promise<TrajectoryModel> {
    if (this.#kept.has(rollout)) return this.open(api, rollout, signal);
    const model = new TrajectoryModel();
    await extend(api, rollout, model, signal);
    return model;
  }

  #shed(): void {
    let events = [...this.#kept.values()].reduce((sum, model) => sum + model.last, 0);
    for (const [rollout, model] of this.#kept) {
      if (this.#kept.size === 1 || (this.#kept.size <= MAX_KEPT && events <= MAX_EVENTS)) return;
      this.#kept.delete(rollout);
      events -= model.last;
    }
  }
}

async function extend(api: Api, rollout: string, model: TrajectoryModel, signal: AbortSignal): Promise<void> {
  for (;;) {
    const page = await api.events(rollout, { after: model.last }, signal);
    if (page.events.length === 0) return;
    model.push(page.events.map((event) => readEvent(event)));
  }
}
