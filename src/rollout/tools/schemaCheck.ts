import { type OutputUnit, type SchemaDraft, Validator } from '@cfworker/json-schema';
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import type { JsonSchema } from '../ports.ts';

/** Maximum number of reported problems; more would only bury the first. */
const MAX_PROBLEMS = 5;
/** Keywords whose errors only say that something below them is wrong. */
const WRAPPERS = new Set([
  'properties',
  'patternProperties',
  'items',
  'prefixItems',
  'additionalItems',
  '$ref',
  '$recursiveRef',
  'allOf',
  'then',
  'else',
  'propertyNames',
]);

/** Validators by schema: each schema is compiled once, and many rollouts share it. */
const validators = new WeakMap<JsonSchema, Validator | 'unusable'>();

/**
 * Describes what is wrong with a tool's arguments; undefined if they are valid. An invalid schema checks nothing: that
 * is not the model's fault, and the tool checks its arguments itself.
 */
export function argumentProblems(schema: JsonSchema, args: JsonObject): string | undefined {
  const validator = validatorOf(schema);
  if (validator === 'unusable') return undefined;
  const result = validator.validate(args);
  if (result.valid) return undefined;
  const problems = [...new Set(result.errors.filter((unit) => !isWrapper(unit, result.errors)).map(sentence))];
  const text = problems.slice(0, MAX_PROBLEMS).join('; ');
  return problems.length > MAX_PROBLEMS ? `${text}; and ${problems.length - MAX_PROBLEMS} more` : text;
}

/** Keywords whose check can take more time than the arguments are long: patterns, comparisons, and recursion. */
const SLOW: Readonly<Record<string, (value: unknown) => boolean>> = {
  pattern: (value) => typeof value === 'string',
  patternProperties: () => true,
  format: (value) => value === 'url', // of the library's patterns, only this one backtracks
  uniqueItems: (value) => value === true,
  $ref: (value) => typeof value === 'string',
  $dynamicRef: (value) => typeof value === 'string',
  $recursiveRef: (value) => typeof value === 'string',
};
const slowSchemas = new WeakMap<JsonSchema, boolean>();

/** Returns whether checking arguments against a schema can be slow. */
export function canBeSlow(schema: JsonSchema): boolean {
  let slow = slowSchemas.get(schema);
  if (slow === undefined) {
    slow = hasSlowKeyword(schema);
    slowSchemas.set(schema, slow);
  }
  return slow;
}

function hasSlowKeyword(schema: Json): boolean {
  // Names of properties may look like keywords: these only cost a thread that is not needed.
  const waiting: Json[] = [schema];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (Array.isArray(value)) waiting.push(...value);
    if (!isJsonObject(value)) continue;
    for (const [key, member] of Object.entries(value)) {
      if (Object.hasOwn(SLOW, key) && SLOW[key]?.(member) === true) return true;
      waiting.push(member);
    }
  }
  return false;
}

function validatorOf(schema: JsonSchema): Validator | 'unusable' {
  let validator = validators.get(schema);
  if (validator === undefined) {
    validator = makeValidator(schema);
    validators.set(schema, validator);
  }
  return validator;
}

function makeValidator(schema: JsonSchema): Validator | 'unusable' {
  try {
    // The library marks the schemas that it resolves, so it gets a copy. It accepts any JSON object as a schema.
    const validator = new Validator(structuredClone(schema), draftOf(schema), false);
    validator.validate({}); // reports an unresolvable $ref
    return validator;
  } catch {
    return 'unusable';
  }
}

/** Returns the draft in `$schema`. Default: the newest, as in JSON Schema itself. */
function draftOf(schema: JsonSchema): SchemaDraft {
  const dialect = typeof schema['$schema'] === 'string' ? schema['$schema'] : '';
  if (dialect.includes('draft-04')) return '4';
  if (dialect.includes('draft-06') || dialect.includes('draft-07')) return '7';
  return dialect.includes('2019-09') ? '2019-09' : '2020-12';
}

function isWrapper(unit: OutputUnit, all: readonly OutputUnit[]): boolean {
  if (unit.keyword === 'additionalProperties' || unit.keyword === 'unevaluatedProperties') {
    return all.some(
      (other) =>
        other !== unit && other.instanceLocation.startsWith(`${unit.instanceLocation}/`) && other.keyword !== 'false',
    );
  }
  return WRAPPERS.has(unit.keyword) || unit.keyword === 'false';
}

/** Rewrites `days: Instance type "string" is invalid …` as `days must be integer, not string`. */
function sentence(unit: OutputUnit): string {
  const where = placeOf(unit.instanceLocation);
  const quoted = [...unit.error.matchAll(/"([^"]*)"/g)].map((match) => match[1] ?? '');
  switch (unit.keyword) {
    case 'type':
      return `${where} must be ${quoted.slice(1).join(' or ')}, not ${quoted[0] ?? 'this'}`;
    case 'required':
      return `${where === ROOT ? '' : `${where}: `}"${quoted[0] ?? ''}" is missing`;
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return `${where === ROOT ? '' : `${where}: `}"${quoted[0] ?? ''}" is not an argument of this tool`;
    case 'enum':
    case 'const':
      return (
        `${where} must be ` +
        (unit.keyword === 'enum' ? 'one of ' : '') +
        unit.error.replace(/^.*?match (?:any of )?/, '').replace(/\.$/, '')
      );
    default:
      return `${where}: ${unit.error.replace(/\.$/, '')}`;
  }
}

const ROOT = 'the arguments';

function placeOf(location: string): string {
  const keys = location.replace(/^#\/?/, '');
  if (keys === '') return ROOT;
  return keys
    .split('/')
    .map((key) => decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.');
}
