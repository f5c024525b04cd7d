/** The trajectories whose text a client can request, and their source references. */
import type { DebugProtocol } from '@vscode/debugprotocol';
import { StudioError } from '../../common/errors.ts';
import type { DebuggedRollout } from '../debuggedRollout.ts';
import { type ReferenceOf, trajectoryOf } from './frameSource.ts';

export class SourceReferences {
  readonly #ownDocuments: boolean;
  /** The source reference of a trajectory is its index + 1. */
  readonly #trajectories: DebuggedRollout[] = [];

  /** `ownDocuments`: the client shows trajectories by their URIs, so they need no references. */
  constructor(ownDocuments: boolean) {
    this.#ownDocuments = ownDocuments;
  }

  readonly referenceOf: ReferenceOf = (rollout) => {
    if (this.#ownDocuments) return undefined;
    const index = this.#trajectories.indexOf(rollout);
    return index >= 0 ? index + 1 : this.#trajectories.push(rollout);
  };

  /** Returns the text of a trajectory. Throws `not_found` for an unknown reference. */
  textOf(reference: number): string {
    const rollout = this.#trajectories[reference - 1];
    if (rollout === undefined) throw new StudioError('not_found', 'This trajectory is no longer being debugged.');
    return rollout.document.text;
  }

  /** Returns the rollout whose trajectory a source is; undefined for a file. */
  rolloutOf(
    { sourceReference, path }: DebugProtocol.Source,
    rollouts: readonly DebuggedRollout[],
  ): DebuggedRollout | undefined {
    if (sourceReference !== undefined && sourceReference > 0) return this.#trajectories[sourceReference - 1];
    return rollouts.find((rollout) => path !== undefined && trajectoryOf(rollout, this.referenceOf).path === path);
  }
}
