import { StudioError } from '../../common/errors.ts';

const NAME = /^[\w.:-]{1,128}$/;
/** Limit that the indexes of both databases support. */
const MAX_TASK_ID = 1000;

/** Checks that an external ID is safe in URLs, payloads, and file names. Throws `usage`. */
export function checkName(what: string, name: string): void {
  if (!NAME.test(name))
    throw new StudioError('usage', `${JSON.stringify(name)} is not a valid ${what} ID.`, {
      hint: 'Use up to 128 letters, digits, and _ . : - characters.',
    });
}

export function checkTaskId(id: string): void {
  if (id.length === 0 || id.length > MAX_TASK_ID) {
    throw new StudioError('usage', `A task ID has ${id.length} characters (${JSON.stringify(id.slice(0, 40))}).`, {
      hint: `Use 1 to ${MAX_TASK_ID} characters.`,
    });
  }
}
