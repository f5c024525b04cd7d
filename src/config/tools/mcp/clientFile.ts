/**
 * Files in which other programs keep their MCP servers, as entries of an agent's `tools`: VS Code's `.vscode/mcp.json`
 * (`servers`, `inputs`), and those of Claude, Cursor and many others (`mcpServers`).
 */
import { z } from 'zod';
import { errorText, StudioError } from '../../../common/errors.ts';
import { looksSecret } from '../../source/secrets.ts';

/** What stands under `mcp:` of an entry, with secrets as `${env:NAME}`. */
export type McpServer =
  | {
      readonly command: string;
      readonly args?: readonly string[];
      readonly env?: Readonly<Record<string, string>>;
      readonly cwd?: string;
    }
  | { readonly url: string; readonly headers?: Readonly<Record<string, string>> };

export interface FoundServer {
  readonly name: string;
  readonly server: McpServer;
  /** What the user should know: what to set, what was left out. */
  readonly notes: readonly string[];
}

const texts = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]));
const entry = z
  .object({
    type: z.string().optional(),
    command: z.string().optional(),
    args: z.array(z.union([z.string(), z.number()])).optional(),
    env: texts.optional(),
    envFile: z.string().optional(),
    cwd: z.string().optional(),
    url: z.string().optional(),
    serverUrl: z.string().optional(),
    httpUrl: z.string().optional(),
    headers: texts.optional(),
    disabled: z.boolean().optional(),
  })
  .loose();
const servers = z.record(z.string(), entry);
const file = z
  .object({
    servers: servers.optional(),
    mcpServers: servers.optional(),
    mcp: z.object({ servers: servers.optional() }).loose().optional(),
  })
  .loose();

/** Names under which a value is a secret whatever it looks like. */
const SECRET_NAME = /key|token|secret|passw|credential|auth/i;
const AUTH_SCHEME = /^(Bearer|Basic|Token)\s+/i;

/**
 * The servers of such a file. `folder`: what `${workspaceFolder}` means. Throws StudioError `config` when it is none of
 * these files. A server that cannot be used here comes with why, in `unusable`.
 */
export function clientServers(
  name: string,
  text: string,
  folder: string,
): {
  readonly found: readonly FoundServer[];
  readonly unusable: readonly { readonly name: string; readonly why: string }[];
} {
  let value: unknown;
  try {
    value = JSON.parse(plainJson(text));
  } catch (error) {
    throw new StudioError('config', `${name}: ${errorText(error)}`, {
      hint: 'It should be JSON, with or without comments.',
      cause: error,
    });
  }
  const parsed = file.safeParse(value);
  const listed = parsed.success
    ? (parsed.data.servers ?? parsed.data.mcpServers ?? parsed.data.mcp?.servers)
    : undefined;
  if (listed === undefined)
    throw new StudioError('config', `${name} names no MCP servers.`, {
      hint: 'It should have `servers` (VS Code) or `mcpServers` (Claude, Cursor and others).',
    });
  const found: FoundServer[] = [];
  const unusable: { name: string; why: string }[] = [];
  for (const [server, one] of Object.entries(listed)) {
    const url = one.url ?? one.httpUrl ?? one.serverUrl;
    if (one.command === undefined && url === undefined)
      unusable.push({ name: server, why: 'it has neither `command` nor `url`' });
    else found.push(new ClientFileReader(server, folder).read(one, url));
  }
  return { found, unusable };
}

/** One server: its texts with variables as we write them, and what there is to say about it. */
class ClientFileReader {
  readonly #name: string;
  readonly #folder: string;
  readonly #notes: string[] = [];

  constructor(name: string, folder: string) {
    this.#name = name;
    this.#folder = folder;
  }

  read(one: z.infer<typeof entry>, url: string | undefined): FoundServer {
    if (one.type === 'sse')
      this.#notes.push(
        'It is said to speak the old protocol over SSE; Rollout speaks streamable HTTP. Many servers speak both.',
      );
    if (one.envFile !== undefined)
      this.#notes.push(
        `What ${one.envFile} holds is not taken over: name each variable it needs under \`env\`, as \${env:NAME}.`,
      );
    const server: McpServer =
      one.command === undefined
        ? { url: this.#text(url ?? ''), ...this.#group('headers', one.headers) }
        : {
            command: this.#text(one.command),
            ...(one.args === undefined || one.args.length === 0
              ? {}
              : { args: one.args.map((arg) => this.#argument(String(arg))) }),
            ...this.#group('env', one.env),
            ...(one.cwd === undefined ? {} : { cwd: this.#text(one.cwd) }),
          };
    return { name: this.#name, server, notes: [...new Set(this.#notes)] };
  }

  #group<Key extends 'env' | 'headers'>(
    key: Key,
    values: z.infer<typeof texts> | undefined,
  ): Partial<Record<Key, Record<string, string>>> {
    const entries = Object.entries(values ?? {}).flatMap(([name, value]): [string, string][] =>
      value === null ? [] : [[name, this.#hidden(name, String(value), key)]],
    );
    return entries.length === 0
      ? {}
      : ({ [key]: Object.fromEntries(entries) } as Partial<Record<Key, Record<string, string>>>);
  }

  /** A value that may be a secret in clear: such a one never goes into an agent file. */
  #hidden(name: string, value: string, key: 'env' | 'headers'): string {
    const written = this.#text(value);
    if (value.includes('${') || value === '' || !(SECRET_NAME.test(name) || looksSecret(value, true))) return written;
    const scheme = key === 'headers' ? (AUTH_SCHEME.exec(value)?.[0] ?? '') : '';
    const variable =
      key === 'env' ? variableOf(name) : variableOf(`${this.#name}_${/^authorization$/i.test(name) ? 'token' : name}`);
    this.#notes.push(`The value of ${name} stays out of the agent file: set ${variable} where you submit.`);
    return `${scheme}\${env:${variable}}`;
  }

  #argument(text: string): string {
    const written = this.#text(text);
    if (!text.includes('${') && looksSecret(text, false)) {
      const variable = variableOf(`${this.#name}_argument`);
      this.#notes.push(
        `An argument looks like a secret and stays out of the agent file: set ${variable} where you submit.`,
      );
      return `\${env:${variable}}`;
    }
    return written;
  }

  #text(text: string): string {
    return text.replaceAll(/\$\{([^}]*)\}/g, (whole, inside: string) => this.#variable(inside) ?? whole);
  }

  /** What stands for `${inside}`; undefined where nothing does. */
  #variable(inside: string): string | undefined {
    const [kind = '', rest] = inside.split(/:(.*)/s);
    if (kind === 'env' && rest !== undefined && NAME.test(rest)) return `\${env:${rest}}`;
    if (kind === 'input' && rest !== undefined) {
      const variable = variableOf(rest);
      this.#notes.push(`VS Code asks for “${rest}”; here it is the environment variable ${variable}.`);
      return `\${env:${variable}}`;
    }
    if (inside === 'workspaceFolder' || inside === 'workspaceRoot') {
      this.#notes.push('It names the workspace’s folder by its path on this machine.');
      return this.#folder;
    }
    if (inside === 'userHome') return '${env:HOME}';
    if (inside === 'workspaceFolderBasename') return this.#folder.split(/[\\/]/).at(-1) ?? '';
    if (inside === 'pathSeparator' || inside === '/') return '/';
    // Claude's: ${NAME} and ${NAME:-default}.
    if (NAME.test(kind) && (rest === undefined || rest.startsWith('-'))) {
      if (rest !== undefined)
        this.#notes.push(
          `${kind} must be set where you submit: a default for it (${rest.slice(1)}) cannot be written here.`,
        );
      return `\${env:${kind}}`;
    }
    this.#notes.push(`\${${inside}} means nothing here: replace it.`);
    return undefined;
  }
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** `github-token` as GITHUB_TOKEN. */
function variableOf(name: string): string {
  const plain = name
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .toUpperCase();
  return /^\d/.test(plain) || plain === '' ? `MCP_${plain}` : plain;
}

/** JSON without the comments and the commas before a bracket that editors allow. */
function plainJson(text: string): string {
  const bare = text
    .replace(/^\uFEFF/, '')
    .replaceAll(/"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (piece) => (piece.startsWith('"') ? piece : ' '));
  return bare.replaceAll(/"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])/g, (piece) => (piece === ',' ? '' : piece));
}
