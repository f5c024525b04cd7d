/** Cursors: opaque texts that identify the next page of a response. */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { jsonOf } from '../../common/json.ts';

export interface Cursor<T> {
  write(place: T): string;
  /** Throws StudioError `usage` if the text is not a cursor of this tool. */
  read(text: string): T;
}

/** Encodes and decodes the cursors of one tool. */
export function cursor<T>(tool: string, schema: z.ZodType<T>): Cursor<T> {
  const whole = z.tuple([z.literal(tool), schema]);
  return {
    write: (place) => Buffer.from(JSON.stringify([tool, place])).toString('base64url'),
    read: (text) => {
      const parsed = whole.safeParse(jsonOf(Buffer.from(text, 'base64url').toString('utf8')));
      if (!parsed.success)
        throw new StudioError('usage', `Invalid cursor for ${tool}.`, {
          hint: 'Pass next_cursor of its last response unchanged, with the same arguments, or omit it to start over.',
        });
      return parsed.data[1];
    },
  };
}
