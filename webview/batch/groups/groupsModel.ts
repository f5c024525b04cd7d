/** What the batch page shows of groups: whether it does, by which estimator, and which groups. */
import { z } from 'zod';
import type { Estimator } from '../../../src/trace/groups/advantages.ts';
import { groupOf, memberAdvantages, type RewardGroup } from '../../../src/trace/groups/group.ts';
import { chooseEstimator, chosenEstimator } from '../../data/estimator.ts';
import { recall, remember } from '../../host/memory.ts';
import type { BatchView } from '../batchView.ts';
import { groupsKey } from './groupsKey.ts';

export interface TaskGroup extends RewardGroup {
  /** Of each member, in order; null for one that does not count. */
  readonly advantages: readonly (number | null)[];
  /** The largest distance of an advantage from 0. */
  readonly largest: number;
}

/** Groups that a chip shows alone. */
export type SignalFilter = 'with' | 'without';

export class GroupsModel {
  /** Whether the page shows groups instead of the grid of attempts. */
  shown = false;
  estimator: Estimator = chosenEstimator();
  only: SignalFilter | undefined;
  readonly #view: BatchView;
  readonly #changed: () => void;
  readonly #kept = new Map<number, { readonly stamp: string; readonly group: TaskGroup }>();

  constructor(view: BatchView, changed: () => void) {
    this.#view = view;
    this.#changed = changed;
  }

  /** Restores whether a batch of this name was shown by groups. */
  recall(name: string): void {
    this.shown = recall(groupsKey(name), z.boolean()) ?? false;
  }

  show(shown: boolean): void {
    const name = this.#view.data.row?.name;
    if (name !== undefined) remember(groupsKey(name), shown);
    this.shown = shown;
    this.#changed();
  }

  estimate(estimator: Estimator): void {
    chooseEstimator(estimator);
    this.estimator = estimator;
    this.#changed();
  }

  /** Shows only these groups, or all again. */
  filterBy(only: SignalFilter | undefined): void {
    this.only = this.only === only ? undefined : only;
    this.#changed();
  }

  /** Returns the group of a task. It is computed again only after a change. */
  of(index: number): TaskGroup {
    const { data } = this.#view;
    const stamp = `${this.#view.stamp(index)} ${data.width} ${data.ended} ${data.scorer} ${this.estimator}`;
    const kept = this.#kept.get(index);
    if (kept?.stamp === stamp) return kept.group;
    const group = groupOf(data.tasks[index]?.attempts ?? [], data.width, data.ended);
    const advantages = memberAdvantages(group, this.estimator);
    const largest = advantages.reduce<number>((most, each) => Math.max(most, Math.abs(each ?? 0)), 0);
    const made = { ...group, advantages, largest };
    this.#kept.set(index, { stamp, group: made });
    return made;
  }

  /** Returns whether the chips show this group. */
  shows(index: number): boolean {
    if (this.only === undefined) return true;
    const { signal } = this.of(index);
    return this.only === 'with' ? signal === 'some' : lacksSignal(signal);
  }
}

export function lacksSignal(signal: RewardGroup['signal']): boolean {
  return signal === 'none' || signal === 'excluded';
}
