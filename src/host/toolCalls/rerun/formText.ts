/** Builds the form of a call: its arguments as a JSON document with the tool's schema. */

import type { Json, JsonObject } from '../../../common/json.ts';
import { SCHEMA_SCHEME } from '../ids.ts';

/** Returns the arguments to edit. The first line references the schema, for completion and validation. */
export function formText(schema: string, existing: Json): string {
  const members = typeof existing === 'object' && existing !== null && !Array.isArray(existing) ? existing : {};
  return `${JSON.stringify({ $schema: schema, ...members }, null, 2)}\n`;
}

/** Returns the tool's schema, extended by the `$schema` property. */
export function schemaText(parameters: JsonObject): string {
  const properties = parameters['properties'];
  const existing =
    typeof properties === 'object' && properties !== null && !Array.isArray(properties) ? properties : {};
  return JSON.stringify(
    {
      ...parameters,
      properties: { $schema: { type: 'string', description: 'The schema of the tool. Not an argument.' }, ...existing },
    },
    null,
    2,
  );
}

/** Parses the arguments in a form. Throws SyntaxError. */
export function argumentsIn(text: string): Json {
  const value = JSON.parse(text) as Json;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).filter(
      ([key, member]) => key !== '$schema' || typeof member !== 'string' || !member.startsWith(`${SCHEMA_SCHEME}:`),
    ),
  );
}
