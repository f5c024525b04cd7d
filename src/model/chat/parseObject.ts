import { isJsonObject } from '../../common/json.ts';
import { shortened } from '../../common/text.ts';
import { AnswerError } from '../http/failures.ts';

/** Parses a chunk of a reply, or a whole one. Throws AnswerError if it is no JSON object. */
export function parseObject(data: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    throw new AnswerError({ what: 'unreadable', text: `the response is not JSON: ${shortened(data, 200)}` });
  }
  if (!isJsonObject(value))
    throw new AnswerError({ what: 'unreadable', text: `the response is not a JSON object: ${shortened(data, 200)}` });
  return value;
}
