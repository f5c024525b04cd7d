/** Values of options of an installation. */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { parseStorage } from './storage.ts';

export const quantity = z.string().regex(/^\d+(\.\d+)?(Ki|Mi|Gi|Ti|k|M|G|T)?$/, 'an amount like 20Gi');
/** A DNS subdomain. */
export const secretName = z.string().regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, 'a name of a Secret');
export const storage = parsedText(parseStorage);

/** Returns the schema of a text that a function parses, whose error says what is wrong. */
export function parsedText(parse: (text: string) => unknown): z.ZodString {
  return z.string().superRefine((text, context) => {
    try {
      parse(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: StudioError.is(error) ? error.message : String(error) });
    }
  });
}
