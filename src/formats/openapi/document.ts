/** An OpenAPI description as it is read: JSON or YAML, with its references followed. */
import { parse } from 'yaml';
import { errorText, StudioError } from '../../common/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';

/** More references one behind the other than this are a circle. */
const MAX_CHAIN = 50;

export class OpenApiDocument {
  readonly root: JsonObject;
  /** 3.0 has `nullable` and flags where 3.1 has JSON Schema. */
  readonly version: '3.0' | '3.1';

  /** Throws StudioError `config` for what is no OpenAPI 3. */
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
    const root = value as Json; // YAML's core schema has the types of JSON
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
   * What a value is, once its references are followed. Throws StudioError `config` for one that leads nowhere or in a
   * circle.
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

  /** What a reference names. */
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

/** A text or a number as a text; nothing for all else. */
export function scalar(value: Json | undefined): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** The texts of a list; none where it is no list. */
export function texts(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** The objects of a list. */
export function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** The members of a group that are groups themselves, or references to one. */
export function members(value: Json | undefined): [string, JsonObject][] {
  return isJsonObject(value)
    ? Object.entries(value).flatMap(([key, member]): [string, JsonObject][] =>
        isJsonObject(member) ? [[key, member]] : [],
      )
    : [];
}
