/** The operations of an OpenAPI description, as tools will have them. */
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import { members, type OpenApiDocument, objects, scalar } from './document.ts';

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options'] as const;
type Method = (typeof METHODS)[number];

export interface Parameter {
  /** What the tool calls it. */
  readonly argument: string;
  readonly name: string;
  readonly at: 'path' | 'query' | 'header' | 'cookie';
  readonly required: boolean;
  readonly schema: Json | undefined;
  /** A list goes as `a,b`, not as one parameter each. */
  readonly joined: boolean;
}

export interface Operation {
  readonly method: Method;
  readonly path: string;
  /** What it wishes to be called. */
  readonly id: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly body: { readonly required: boolean; readonly schema: Json | undefined; readonly form: boolean } | undefined;
  /** Names of the security schemes, one of these lists suffices; [] of the list: none is needed. */
  readonly security: readonly (readonly string[])[];
}

export interface Operations {
  readonly found: readonly Operation[];
  /** Those no tool can make, and why. */
  readonly skipped: readonly { readonly operation: string; readonly why: string }[];
}

const LONGEST = 1024;

export function operationsOf(document: OpenApiDocument): Operations {
  const found: Operation[] = [];
  const skipped: { operation: string; why: string }[] = [];
  for (const [path, named] of members(document.root['paths'])) {
    const item = document.resolve(named) ?? {};
    for (const method of METHODS) {
      const operation = document.resolve(item[method]);
      if (operation === undefined) continue;
      const body = bodyOf(document, operation);
      if (typeof body === 'string') skipped.push({ operation: `${method.toUpperCase()} ${path}`, why: body });
      else found.push({ ...common(document, path, method, item, operation, body !== undefined), body });
    }
  }
  return { found, skipped };
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
  const said = [summary, description]
    .filter((text): text is string => typeof text === 'string' && text.trim() !== '')
    .map((text) => text.trim());
  const text = [...new Set(said)].join('\n\n') || `${method.toUpperCase()} ${path}`;
  const security = operation['security'] ?? document.root['security'];
  return {
    method,
    path,
    id: typeof operationId === 'string' && operationId.trim() !== '' ? operationId : `${method}_${path}`,
    description: `${operation['deprecated'] === true ? 'Deprecated. ' : ''}${text}`.slice(0, LONGEST),
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
    // Those of an operation go before those of its path.
    if (parameter !== undefined) byPlace.set(`${scalar(parameter['in'])} ${scalar(parameter['name'])}`, parameter);
  }
  const taken = new Set(hasBody ? ['body'] : []);
  const found: Parameter[] = [];
  for (const parameter of byPlace.values()) {
    const { name, in: at, explode, style } = parameter;
    if (typeof name !== 'string' || (at !== 'path' && at !== 'query' && at !== 'header' && at !== 'cookie')) continue;
    // Those go by other ways.
    if (at === 'header' && /^(accept|content-type|authorization)$/i.test(name)) continue;
    const argument = taken.has(name) ? `${name}_${at}` : name;
    taken.add(argument);
    const [media] = members(parameter['content']);
    const schema = parameter['schema'] ?? media?.[1]['schema'];
    found.push({
      argument,
      name,
      at,
      required: at === 'path' || parameter['required'] === true,
      schema: withText(schema, parameter['description']),
      joined: at !== 'query' || explode === false || style === 'spaceDelimited' || style === 'pipeDelimited',
    });
  }
  // One that the path has and nobody describes.
  for (const [, name = ''] of path.matchAll(/\{([^}]+)\}/g)) {
    if (!found.some((one) => one.at === 'path' && one.name === name))
      found.push({
        argument: taken.has(name) ? `${name}_path` : name,
        name,
        at: 'path',
        required: true,
        schema: { type: 'string' },
        joined: true,
      });
  }
  return found;
}

function withText(schema: Json | undefined, description: Json | undefined): Json | undefined {
  if (typeof description !== 'string') return schema;
  return isJsonObject(schema) ? { ...schema, description } : { description };
}

/** A text: why it cannot be sent. */
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
      : `it takes ${content.map(([media]) => media).join(', ')}; a tool sends JSON or a plain form`;
  return {
    required: body['required'] === true,
    schema: withText(chosen['schema'], body['description']),
    form: json === undefined,
  };
}
