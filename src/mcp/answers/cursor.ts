/** Cursors: where the next page of an answer begins, as opaque text. */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { jsonOf } from '../../common/json.ts';

export interface Cursor<T> {
  write(place: T): string;
  /** Throws `usage` when the text is no cursor of this tool. */
  read(text: string): T;
}

/** The cursors of one tool. */
export function cursor<T>(tool: string, schema: z.ZodType<T>): Cursor<T> {
  const whole = z.tuple([z.literal(tool), schema]);
  return {
    write: (place) => Buffer.from(JSON.stringify([tool, place])).toString('base64url'),
    read: (text) => {
      const parsed = whole.safeParse(jsonOf(Buffer.from(text, 'base64url').toString('utf8')));
      if (!parsed.success)
        throw new StudioError('usage', `This is not a cursor of ${tool}.`, {
          hint: 'Pass next_cursor of its last answer as it is, with the same arguments; or none to begin at the start.',
        });
      return parsed.data[1];
    },
  };
}
