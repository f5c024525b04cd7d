import { StudioError } from '../../common/errors.ts';

const NAME = /^[\w.:-]{1,128}$/;
/** What an index of either database takes in any case. */
const MAX_TASK_ID = 1000;

/** Ids that others made up: harmless in URLs, payloads and file names. Throws `usage`. */
export function checkName(what: string, name: string): void {
  if (!NAME.test(name))
    throw new StudioError('usage', `${JSON.stringify(name)} cannot be the id of a ${what}.`, {
      hint: 'Use letters, digits and _ . : - (at most 128).',
    });
}

export function checkTaskId(id: string): void {
  if (id.length === 0 || id.length > MAX_TASK_ID) {
    throw new StudioError(
      'usage',
      `The id of a task has ${id.length} characters (${JSON.stringify(id.slice(0, 40))}).`,
      { hint: `Use 1 to ${MAX_TASK_ID}.` },
    );
  }
}
