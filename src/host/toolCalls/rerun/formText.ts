/** The form of a call: its arguments as a JSON document, with the tool's schema behind it. */

import type { Json, JsonObject } from '../../../common/json.ts';
import { SCHEMA_SCHEME } from '../schemes.ts';

/** The arguments as one edits them. The first line names the schema: it brings completion, descriptions and checks. */
export function formText(schema: string, given: Json): string {
  const members = typeof given === 'object' && given !== null && !Array.isArray(given) ? given : {};
  return `${JSON.stringify({ $schema: schema, ...members }, null, 2)}\n`;
}

/** The tool's schema, with room for the line that names it. */
export function schemaText(parameters: JsonObject): string {
  const properties = parameters['properties'];
  const given = typeof properties === 'object' && properties !== null && !Array.isArray(properties) ? properties : {};
  return JSON.stringify(
    {
      ...parameters,
      properties: { $schema: { type: 'string', description: 'Names the tool’s schema; not an argument.' }, ...given },
    },
    null,
    2,
  );
}

/** The arguments that a form holds. Throws SyntaxError. */
export function argumentsIn(text: string): Json {
  const value = JSON.parse(text) as Json;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).filter(
      ([key, member]) => key !== '$schema' || typeof member !== 'string' || !member.startsWith(`${SCHEMA_SCHEME}:`),
    ),
  );
}
