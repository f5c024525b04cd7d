/** Reads an OpenAPI description in JSON or YAML, and resolves its references. */
import { parse } from 'yaml';
import { errorText, StudioError } from '../../common/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';

/** A longer chain of references counts as circular. */
const MAX_CHAIN = 50;

export class OpenApiDocument {
  readonly root: JsonObject;
  /** Version 3.0 has `nullable` and boolean `exclusive…` flags; 3.1 uses JSON Schema. */
  readonly version: '3.0' | '3.1';

  /** Throws StudioError `config` or `unsupported` if the text is not OpenAPI 3. */
  constructor(name: string, text: string) {
    let value: unknown;
    try {
      value = parse(text, { maxAliasCount: 1000 });
    } catch (error) {
      throw new StudioError('config', `${name}: ${errorText(error)}`, {
        hint: 'Use a JSON or YAML file.',
        cause: error,
      });
    }
    const root = value as Json; // YAML's core schema has only JSON types
    if (!isJsonObject(root))
      throw new StudioError('config', `${name} is not an OpenAPI description.`, {
        hint: 'Use the file or URL of openapi.json or openapi.yaml.',
      });
    if (root['swagger'] !== undefined)
      throw new StudioError('unsupported', `${name} is a Swagger 2.0 description.`, {
        hint: 'Convert it to OpenAPI 3 first, e.g. with npx swagger2openapi.',
      });
    const version = /^3\.(0|1)\b/.exec(scalar(root['openapi']))?.[1];
    if (version === undefined)
      throw new StudioError(
        'config',
        `${name} has an unsupported OpenAPI version: expected \`openapi: 3.0.x\` or \`3.1.x\`.`,
        {
          hint: 'Use the file or URL of openapi.json or openapi.yaml.',
        },
      );
    this.root = root;
    this.version = version === '0' ? '3.0' : '3.1';
  }

  /**
   * Returns the object that a value refers to, or the value itself if it is an object. Throws StudioError `config` for
   * a broken or circular reference.
   */
  resolve(value: Json | undefined): JsonObject | undefined {
    let current = value;
    for (let hops = 0; isJsonObject(current) && typeof current['$ref'] === 'string'; hops++) {
      if (hops === MAX_CHAIN)
        throw new StudioError('config', `The reference ${current['$ref']} is circular.`, {
          hint: 'Fix the description.',
        });
      current = this.at(current['$ref']);
    }
    return isJsonObject(current) ? current : undefined;
  }

  /** Returns the value at a reference. Throws StudioError `config` if there is none. */
  at(ref: string): Json {
    if (!ref.startsWith('#'))
      throw new StudioError('unsupported', `References to other files are not supported: ${ref}.`, {
        hint: 'Bundle the description into one file first, e.g. with npx @redocly/cli bundle.',
      });
    let current: Json | undefined = this.root;
    for (const part of ref.slice(1).split('/').slice(1)) {
      const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
      current = Array.isArray(current) ? current[Number(key)] : isJsonObject(current) ? current[key] : undefined;
    }
    if (current === undefined)
      throw new StudioError('config', `Cannot resolve the reference ${ref}.`, { hint: 'Fix the description.' });
    return current;
  }
}

/** Returns the text of a string or a number, and an empty string for any other value. */
export function scalar(value: Json | undefined): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** Returns the strings in a list; an empty list for any other value. */
export function texts(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** Returns the objects in a list; an empty list for any other value. */
export function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Returns the members of an object that are objects themselves. */
export function members(value: Json | undefined): [string, JsonObject][] {
  return isJsonObject(value)
    ? Object.entries(value).flatMap(([key, member]): [string, JsonObject][] =>
        isJsonObject(member) ? [[key, member]] : [],
      )
    : [];
}
