/**
 * Reads MCP servers from files of other programs: VS Code's `.vscode/mcp.json` (`servers`, `inputs`), and files of
 * Claude, Cursor, and many others (`mcpServers`).
 */
import { z } from 'zod';
import { errorText, StudioError } from '../../../common/errors.ts';
import { looksSecret } from '../../source/secrets.ts';

/** Value of `mcp:` in an entry, with secrets as `${env:NAME}`. */
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
  /** Shown to the user: what to set, what was left out. */
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

/** Names whose values are always secret. */
const SECRET_NAME = /key|token|secret|passw|credential|auth/i;
const AUTH_SCHEME = /^(Bearer|Basic|Token)\s+/i;

/**
 * Returns the servers in a file. `folder` replaces `${workspaceFolder}`. Servers that cannot be used are in `unusable`
 * with the reason. Throws StudioError `config` for any other file.
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
      hint: 'Use a JSON file, with or without comments.',
      cause: error,
    });
  }
  const parsed = file.safeParse(value);
  const listed = parsed.success
    ? (parsed.data.servers ?? parsed.data.mcpServers ?? parsed.data.mcp?.servers)
    : undefined;
  if (listed === undefined)
    throw new StudioError('config', `${name} contains no MCP servers.`, {
      hint: 'Use a file with `servers` (VS Code) or `mcpServers` (Claude, Cursor, and others).',
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

/** Converts one server: rewrites its variables and collects notes. */
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
        'The file configures the legacy SSE transport. Rollout uses streamable HTTP, which many servers also support.',
      );
    if (one.envFile !== undefined)
      this.#notes.push(`${one.envFile} was not imported: add each variable under \`env\` as \${env:NAME}.`);
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
      value === null ? [] : [[name, this.#secretSafe(name, String(value), key)]],
    );
    return entries.length === 0
      ? {}
      : ({ [key]: Object.fromEntries(entries) } as Partial<Record<Key, Record<string, string>>>);
  }

  /** Replaces a value that may be a literal secret, which must never be written to an agent file. */
  #secretSafe(name: string, value: string, key: 'env' | 'headers'): string {
    const converted = this.#text(value);
    if (value.includes('${') || value === '' || !(SECRET_NAME.test(name) || looksSecret(value, true))) return converted;
    const scheme = key === 'headers' ? (AUTH_SCHEME.exec(value)?.[0] ?? '') : '';
    const variable =
      key === 'env' ? variableOf(name) : variableOf(`${this.#name}_${/^authorization$/i.test(name) ? 'token' : name}`);
    this.#notes.push(`The value of ${name} was not copied to the agent file: set ${variable} where you submit.`);
    return `${scheme}\${env:${variable}}`;
  }

  #argument(text: string): string {
    const converted = this.#text(text);
    if (!text.includes('${') && looksSecret(text, false)) {
      const variable = variableOf(`${this.#name}_argument`);
      this.#notes.push(
        `An argument looks like a secret and was not copied to the agent file: set ${variable} where you submit.`,
      );
      return `\${env:${variable}}`;
    }
    return converted;
  }

  #text(text: string): string {
    return text.replaceAll(/\$\{([^}]*)\}/g, (whole, inside: string) => this.#variable(inside) ?? whole);
  }

  /** Returns the replacement for `${inside}`; undefined if it is unknown. */
  #variable(inside: string): string | undefined {
    const [kind = '', rest] = inside.split(/:(.*)/s);
    if (kind === 'env' && rest !== undefined && NAME.test(rest)) return `\${env:${rest}}`;
    if (kind === 'input' && rest !== undefined) {
      const variable = variableOf(rest);
      this.#notes.push(`VS Code prompts for “${rest}”; set the environment variable ${variable} instead.`);
      return `\${env:${variable}}`;
    }
    if (inside === 'workspaceFolder' || inside === 'workspaceRoot') {
      this.#notes.push('It contains the path of the workspace folder on this machine.');
      return this.#folder;
    }
    if (inside === 'userHome') return '${env:HOME}';
    if (inside === 'workspaceFolderBasename') return this.#folder.split(/[\\/]/).at(-1) ?? '';
    if (inside === 'pathSeparator' || inside === '/') return '/';
    // Claude's ${NAME} and ${NAME:-default}.
    if (NAME.test(kind) && (rest === undefined || rest.startsWith('-'))) {
      if (rest !== undefined)
        this.#notes.push(`Set ${kind} where you submit: defaults (${rest.slice(1)}) are not supported in agent files.`);
      return `\${env:${kind}}`;
    }
    this.#notes.push(`\${${inside}} is not supported: replace it.`);
    return undefined;
  }
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Returns the variable name for a name: GITHUB_TOKEN for `github-token`. */
function variableOf(name: string): string {
  const plain = name
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .toUpperCase();
  return /^\d/.test(plain) || plain === '' ? `MCP_${plain}` : plain;
}

/** Removes comments and trailing commas, which editors allow, from JSON. */
function plainJson(text: string): string {
  const bare = text
    .replace(/^\uFEFF/, '')
    .replaceAll(/"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (piece) => (piece.startsWith('"') ? piece : ' '));
  return bare.replaceAll(/"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])/g, (piece) => (piece === ',' ? '' : piece));
}
