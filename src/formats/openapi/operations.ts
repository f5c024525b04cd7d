/** Reads the operations of an OpenAPI description in the form that tools need. */
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import { members, type OpenApiDocument, objects, scalar } from './document.ts';

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options'] as const;
type Method = (typeof METHODS)[number];

export interface Parameter {
  /** Name of the tool's argument. */
  readonly argument: string;
  readonly name: string;
  readonly at: 'path' | 'query' | 'header' | 'cookie';
  readonly required: boolean;
  readonly schema: Json | undefined;
  /** Whether a list is sent as `a,b` instead of one parameter per item. */
  readonly joined: boolean;
}

export interface Operation {
  readonly method: Method;
  readonly path: string;
  /** Preferred name. */
  readonly id: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly body: { readonly required: boolean; readonly schema: Json | undefined; readonly form: boolean } | undefined;
  /** Alternatives, each a list of security schemes that are all required. An empty alternative: none is required. */
  readonly security: readonly (readonly string[])[];
}

export interface Operations {
  readonly operations: readonly Operation[];
  /** Operations that no tool can call, with reasons. */
  readonly skipped: readonly { readonly operation: string; readonly why: string }[];
}

/** Characters of a tool's description. */
const MAX_DESCRIPTION = 1024;

export function operationsOf(document: OpenApiDocument): Operations {
  const operations: Operation[] = [];
  const skipped: { operation: string; why: string }[] = [];
  for (const [path, named] of members(document.root['paths'])) {
    const item = document.resolve(named) ?? {};
    for (const method of METHODS) {
      const operation = document.resolve(item[method]);
      if (operation === undefined) continue;
      const body = bodyOf(document, operation);
      if (typeof body === 'string') skipped.push({ operation: `${method.toUpperCase()} ${path}`, why: body });
      else operations.push({ ...common(document, path, method, item, operation, body !== undefined), body });
    }
  }
  return { operations, skipped };
}

function common(
  document: OpenApiDocument,
  path: string,
  method: Method,
  item: JsonObject,
  operation: JsonObject,
  hasBody: boolean,
): Omit<Operation, 'body'> {
  const { operationId, summary, description } = operation;
  const sentences = [summary, description]
    .filter((text): text is string => typeof text === 'string' && text.trim() !== '')
    .map((text) => text.trim());
  const text = [...new Set(sentences)].join('\n\n') || `${method.toUpperCase()} ${path}`;
  const security = operation['security'] ?? document.root['security'];
  return {
    method,
    path,
    id: typeof operationId === 'string' && operationId.trim() !== '' ? operationId : `${method}_${path}`,
    description: `${operation['deprecated'] === true ? 'Deprecated. ' : ''}${text}`.slice(0, MAX_DESCRIPTION),
    parameters: parametersOf(document, item, operation, path, hasBody),
    security: Array.isArray(security) ? objects(security).map((one) => Object.keys(one)) : [],
  };
}

function parametersOf(
  document: OpenApiDocument,
  item: JsonObject,
  operation: JsonObject,
  path: string,
  hasBody: boolean,
): Parameter[] {
  const byPlace = new Map<string, JsonObject>();
  for (const listed of [...objects(item['parameters']), ...objects(operation['parameters'])]) {
    const parameter = document.resolve(listed);
    // Parameters of an operation override those of its path.
    if (parameter !== undefined) byPlace.set(`${scalar(parameter['in'])} ${scalar(parameter['name'])}`, parameter);
  }
  const taken = new Set(hasBody ? ['body'] : []);
  const parameters: Parameter[] = [];
  for (const parameter of byPlace.values()) {
    const { name, in: at, explode, style } = parameter;
    if (typeof name !== 'string' || (at !== 'path' && at !== 'query' && at !== 'header' && at !== 'cookie')) continue;
    // These headers are set by the module itself.
    if (at === 'header' && /^(accept|content-type|authorization)$/i.test(name)) continue;
    const argument = taken.has(name) ? `${name}_${at}` : name;
    taken.add(argument);
    const [media] = members(parameter['content']);
    const schema = parameter['schema'] ?? media?.[1]['schema'];
    parameters.push({
      argument,
      name,
      at,
      required: at === 'path' || parameter['required'] === true,
      schema: withText(schema, parameter['description']),
      joined: at !== 'query' || explode === false || style === 'spaceDelimited' || style === 'pipeDelimited',
    });
  }
  // Placeholders of the path without a description.
  for (const [, name = ''] of path.matchAll(/\{([^}]+)\}/g)) {
    if (!parameters.some((one) => one.at === 'path' && one.name === name))
      parameters.push({
        argument: taken.has(name) ? `${name}_path` : name,
        name,
        at: 'path',
        required: true,
        schema: { type: 'string' },
        joined: true,
      });
  }
  return parameters;
}

function withText(schema: Json | undefined, description: Json | undefined): Json | undefined {
  if (typeof description !== 'string') return schema;
  return isJsonObject(schema) ? { ...schema, description } : { description };
}

/** Returns the body of an operation, or a text that says why tools cannot send it. */
function bodyOf(document: OpenApiDocument, operation: JsonObject): Operation['body'] | string {
  const body = document.resolve(operation['requestBody']);
  if (body === undefined) return undefined;
  const content = members(body['content']);
  const json = content.find(([media]) => /[/+]json\b/.test(media) || media === '*/*');
  const form = content.find(([media]) => media === 'application/x-www-form-urlencoded');
  const [, chosen] = json ?? form ?? [];
  if (chosen === undefined)
    return content.length === 0
      ? undefined
      : `its body is ${content.map(([media]) => media).join(' or ')}, but tools can send only JSON and ` +
          'URL-encoded forms';
  return {
    required: body['required'] === true,
    schema: withText(chosen['schema'], body['description']),
    form: json === undefined,
  };
}
