/** The template of the world of a trajectory, opened once for all its steps. */
import type { TrajectoryModel } from '../../../../src/trace/model.ts';
import type { Blobs } from '../../../data/blobs.ts';
import type { WorldTemplate } from '../../../data/worldTemplate.ts';

/** Returns the template with which the world was opened that is open at an event. undefined: it has none. */
export function templateAt({ events }: TrajectoryModel, seq: number): string | undefined {
  for (let index = Math.min(seq, events.length) - 1; index >= 0; index--) {
    const event = events[index];
    if (event !== undefined && !('unknown' in event) && event.kind === 'world.open') return event.data.template;
  }
  return undefined;
}

const opened = new WeakMap<Blobs, Map<string, Promise<WorldTemplate>>>();

/** Opens a template, with the code that reads it. */
export function openTemplate(blobs: Blobs, sha: string): Promise<WorldTemplate> {
  let templates = opened.get(blobs);
  if (templates === undefined) opened.set(blobs, (templates = new Map<string, Promise<WorldTemplate>>()));
  let opening = templates.get(sha);
  if (opening === undefined) {
    opening = import('../../../data/worldTemplate.ts').then(({ WorldTemplate: Template }) => Template.open(blobs, sha));
    templates.set(sha, opening);
    opening.catch(() => templates.delete(sha)); // the next call retries
  }
  return opening;
}
