/**
 * Generates a TypeScript module of tools from an OpenAPI description (3.0 or 3.1): one tool per operation, with a zod
 * schema of its parameters and body. The module depends only on `rollout-studio`, `zod`, and `fetch`. Users may edit
 * it.
 */
import { StudioError } from '../../common/errors.ts';
import { isJsonObject } from '../../common/json.ts';
import { comment, key, member, Names, quoted } from './code.ts';
import { type OpenApiDocument as Description, OpenApiDocument, objects, scalar } from './document.ts';
import { type Operation, type Operations, operationsOf, type Parameter } from './operations.ts';
import { Schemas } from './schemas.ts';
import { type Scheme, schemesOf, schemesText, upper } from './security.ts';

interface OpenApiTools {
  /** The source text of the module. */
  readonly code: string;
  readonly tools: readonly {
    readonly name: string;
    readonly operation: string;
    readonly effect: 'pure' | 'irreversible';
  }[];
  /** Names of the secrets that the agent file must set under `secrets`. */
  readonly secrets: readonly string[];
  readonly skipped: Operations['skipped'];
  /** URL of the service; undefined if the description has none. */
  readonly baseUrl: string | undefined;
}

/**
 * Generates the module. `name`: file name or URL of the description. Throws StudioError `config` or `unsupported` if it
 * cannot be read or has no supported operation.
 */
export function openApiTools(name: string, text: string): OpenApiTools {
  const document = new OpenApiDocument(name, text);
  const info = document.resolve(document.root['info']) ?? {};
  const title = typeof info['title'] === 'string' && info['title'].trim() !== '' ? info['title'].trim() : 'Service';
  const prefix = upper(title).slice(0, 32).replace(/_$/, '');
  const { operations, skipped } = operationsOf(document);
  if (operations.length === 0)
    throw new StudioError('config', `${name} has no supported operations.`, {
      hint: skipped[0] === undefined ? 'It has no `paths`.' : `${skipped[0].operation}: ${skipped[0].why}.`,
    });
  const schemes = schemesOf(document, prefix);
  const names = new Names(['tool', 'z', 'call', 'RequestParts', 'BASE_URL', 'SECURITY', 'ToolContext', 'Values']);
  const named = operations.map((operation) => ({ operation, name: names.take(operation.id) }));
  const schemas = new Schemas(document, names);
  const used = new Map<string, Scheme>();
  const tools = named.map(({ operation, name: tool }) =>
    toolText(tool, operation, schemas, securityOf(operation, schemes, used)),
  );
  const baseUrl = baseUrlOf(document, name);
  const secrets = [...used.values()].map(({ secret }) => secret);
  const heading = headingOf({ name, title, version: info['version'], secrets, prefix });
  const code = [
    heading,
    `import { tool, type ToolContext } from 'rollout-studio';\nimport { z } from 'zod';\n`,
    `/** URL of the service. The secret ${prefix}_URL overrides it. */\nconst BASE_URL = ` +
      `${quoted(baseUrl ?? 'http://localhost')};\n`,
    ...(used.size === 0 ? [] : [schemesText([...used.values()])]),
    ...(schemas.definitions.length === 0 ? [] : [`${schemas.definitions.join('\n\n')}\n`]),
    ...tools,
    callText(prefix, used.size > 0),
  ].join('\n');
  return {
    code,
    secrets,
    skipped,
    baseUrl,
    tools: named.map(({ operation, name: tool }) => ({
      name: tool,
      operation: `${operation.method.toUpperCase()} ${operation.path}`,
      effect: isRead(operation) ? 'pure' : 'irreversible',
    })),
  };
}

function headingOf({
  name,
  title,
  version,
  secrets,
  prefix,
}: {
  readonly name: string;
  readonly title: string;
  readonly version: unknown;
  readonly secrets: readonly string[];
  readonly prefix: string;
}): string {
  const entries = (secrets.length === 0 ? [`${prefix}_URL`] : secrets)
    .map((secret) => `${secret}: "\${env:${secret}}"`)
    .join(', ');
  const file =
    name
      .split(/[\\/]/)
      .at(-1)
      ?.replace(/[?#].*$/s, '') ?? '';
  return `/**
 * Tools of “${comment(title)}”${typeof version === 'string' ? ` ${comment(version)}` : ''}, generated from \
${comment(file)}
 * by \`rollout tool openapi\`. You can edit this file.
 *
 * To use the tools, add this to an agent file:
 *   - module: THIS FILE
 *     secrets: { ${entries} }
 */`;
}

function isRead({ method }: Operation): boolean {
  return method === 'get' || method === 'head' || method === 'options';
}

function toolText(name: string, operation: Operation, schemas: Schemas, security: readonly string[]): string {
  const { method, path, description, parameters, body } = operation;
  const input = [
    ...parameters.map(
      (parameter) => `    ${key(parameter.argument)}: ${schemas.member(parameter.schema, parameter.required)},`,
    ),
    ...(body === undefined ? [] : [`    body: ${schemas.member(body.schema, body.required)},`]),
  ];
  const effect = isRead(operation)
    ? ["  effect: 'pure',"]
    : ["  effect: 'irreversible',", ...(method === 'put' || method === 'delete' ? ['  idempotent: true,'] : [])];
  const parts = (['path', 'query', 'header', 'cookie'] as const).flatMap((at) => {
    const own = parameters.filter((parameter) => parameter.at === at);
    if (own.length === 0) return [];
    return [`${at}: { ${own.map((parameter) => `${key(parameter.name)}: ${valueText(parameter)}`).join(', ')} }`];
  });
  const request = [
    ...parts,
    ...(body === undefined ? [] : [`${body.form ? 'form' : 'body'}: args.body`]),
    ...(security.length === 0 ? [] : [`security: [${security.map(quoted).join(', ')}]`]),
  ];
  return `export const ${name} = tool({
  description: ${quoted(description)},
  input: z.object({${input.length === 0 ? '' : `\n${input.join('\n')}\n  `}}),
${effect.join('\n')}
  run: (${input.length === 0 ? '_args' : 'args'}, context) => \
call(context, ${quoted(method.toUpperCase())}, ${quoted(path)}, \
{${request.length === 0 ? '' : ` ${request.join(', ')} `}}),
});
`;
}

function valueText({ argument, joined, required }: Parameter): string {
  const value = member('args', argument);
  if (!joined) return value;
  // Absent arguments are not sent.
  return `${required ? '' : `${value} === undefined ? undefined : `}[${value}].flat().join()`;
}

/** Returns the first alternative whose schemes all work with secrets; an empty list if none is required or works. */
function securityOf(
  { security }: Operation,
  schemes: ReadonlyMap<string, Scheme>,
  used: Map<string, Scheme>,
): string[] {
  if (security.some((names) => names.length === 0)) return [];
  const chosen = security.find((names) => names.every((name) => schemes.has(name))) ?? [];
  for (const name of chosen) {
    const scheme = schemes.get(name);
    if (scheme !== undefined) used.set(name, scheme);
  }
  return [...chosen];
}

function baseUrlOf(document: Description, name: string): string | undefined {
  const [server] = objects(document.root['servers']);
  const url = server?.['url'];
  if (typeof url !== 'string') return /^https?:/.test(name) ? new URL('/', name).origin : undefined;
  const variables = isJsonObject(server?.['variables']) ? server['variables'] : {};
  const filled = url.replaceAll(/\{([^}]+)\}/g, (whole, variable: string) => {
    const value = variables[variable];
    return isJsonObject(value) && scalar(value['default']) !== '' ? scalar(value['default']) : whole;
  });
  if (/^https?:/.test(filled)) return filled.replace(/\/+$/, '');
  return /^https?:/.test(name) ? new URL(filled, name).href.replace(/\/+$/, '') : undefined;
}

/** Returns the code that all tools of the module share. */
function callText(prefix: string, secured: boolean): string {
  return `type Values = Readonly<Record<string, unknown>>;

interface RequestParts {
  readonly path?: Values;
  readonly query?: Values;
  readonly header?: Values;
  readonly cookie?: Values;
  readonly body?: unknown;
  readonly form?: unknown;${secured ? '\n  readonly security?: readonly string[];' : ''}
}

async function call({ signal, secrets }: ToolContext, method: string, path: string, parts: RequestParts): \
Promise<unknown> {
  const base = (secrets['${prefix}_URL'] ?? BASE_URL).replace(/\\/+$/, '');
  const url = new URL(base + path.replaceAll(/\\{([^}]+)\\}/g, (_, name: string) => \
encodeURIComponent(String(parts.path?.[name]))));
  for (const [name, value] of Object.entries(parts.query ?? {})) {
    for (const one of [value].flat()) if (one !== undefined && one !== null) url.searchParams.append(name, typeof one \
=== 'object' ? JSON.stringify(one) : String(one));
  }
  const headers = new Headers({ accept: 'application/json' });
  for (const [name, value] of Object.entries(parts.header ?? {})) if (value !== undefined) headers.set(name, \
String(value));
  const cookies = Object.entries(parts.cookie ?? {}).flatMap(([name, value]) => (value === undefined ? [] : \
[\`\${name}=\${encodeURIComponent(String(value))}\`]));
  if (cookies.length > 0) headers.set('cookie', cookies.join('; '));
${
  secured
    ? `  for (const name of parts.security ?? []) {
    const scheme = SECURITY[name];
    if (scheme === undefined) continue;
    const secret = secrets[scheme.secret];
    if (secret === undefined) throw new Error(\`\${method} \${path} needs the secret \${scheme.secret}. Set it under \
\\\`secrets\\\` of this module in the agent file.\`);
    scheme.apply({ url, headers }, secret);
  }
`
    : ''
}  let body: string | undefined;
  if (parts.form !== undefined) {
    body = new URLSearchParams(Object.entries(parts.form as Values).flatMap(([name, value]) => \
[value].flat().map((one): [string, string] => [name, String(one)]))).toString();
    headers.set('content-type', 'application/x-www-form-urlencoded');
  } else if (parts.body !== undefined) {
    body = JSON.stringify(parts.body);
    headers.set('content-type', 'application/json');
  }
  const response = await fetch(url, { method, headers, signal, ...(body === undefined ? {} : { body }) });
  const text = await response.text();
  if (!response.ok) throw new Error(\`\${method} \${path} failed with status \${response.status}\${text === '' ? '' : \
\`: \${text.slice(0, 2000)}\`}\`);
  if (text === '') return null;
  return /\\bjson\\b/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) as unknown : text;
}
`;
}
