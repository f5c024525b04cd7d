/** Renders a tool as a signature: `renew_loan(loan_id: string, weeks?: number)`. */
import { isJsonObject, type Json, type JsonObject } from '../../../common/json.ts';

export function callText(name: string, input: JsonObject | undefined): string {
  const properties = isJsonObject(input?.['properties']) ? input['properties'] : {};
  const required = Array.isArray(input?.['required']) ? input['required'] : [];
  const parameters = Object.entries(properties).map(
    ([key, schema]) => `${key}${required.includes(key) ? '' : '?'}: ${typeText(schema)}`,
  );
  return `${name}(${parameters.join(', ')})`;
}

function typeText(schema: Json): string {
  if (!isJsonObject(schema)) return 'unknown';
  const { type, enum: choices, items } = schema;
  if (Array.isArray(choices)) return choices.map((choice) => JSON.stringify(choice)).join(' | ');
  if (type === 'array') return `${items === undefined ? 'unknown' : typeText(items)}[]`;
  if (type === 'integer') return 'number';
  return typeof type === 'string'
    ? type
    : Array.isArray(type)
      ? type.filter((name) => typeof name === 'string').join(' | ')
      : 'unknown';
}
