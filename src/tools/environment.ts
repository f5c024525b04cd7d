import type { ProcessLimits } from '../config/schema/processLimits.ts';
import type { SubmittedSandbox } from '../config/submission.ts';
import type { McpConnections } from './mcp/connections.ts';
import type { ModulePools } from './modules/pools.ts';
import type { ProcessGroups } from './processes/processGroups.ts';

/** The environment of the tools of one rollout. */
export interface ToolEnvironment {
  /** Absolute path of the working directory, which exists and belongs only to this rollout. */
  readonly cwd: string;
  /** Reads a blob of the submission (a bundle or its source map). */
  readBlob(sha: string, signal?: AbortSignal): Promise<Uint8Array>;
  /** Shared by all rollouts of the worker. */
  readonly pools: ToolPools;
  /** Limits of each process that the tools of an entry start. */
  readonly limits?: ProcessLimits | undefined;
  /** Where programs run. */
  readonly sandbox: SubmittedSandbox;
  /**
   * Receives output outside of any call: while a module loads, or a world opens or is verified. Default: added to the
   * log of the next call.
   */
  onLog?(stream: 'out' | 'err', text: string): void;
}

/** Resources that all rollouts of a worker share; closed when the worker exits. */
export interface ToolPools {
  /** Environment variables of tools, their threads, and their processes; nothing else is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly processGroups: ProcessGroups;
  readonly modules: ModulePools;
  /** Loads the code of MCP connections on first use. */
  connections(): Promise<McpConnections>;
  /** Ends every thread, connection and process. */
  close(): Promise<void>;
}

/** Variables that programs need, and that contain no secrets. */
const ALLOWED = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'TERM',
  'LANG',
  'LANGUAGE',
  'TZ',
  'TMPDIR',
  'TEMP',
  'TMP',
  // Certificates: in networks with their own, `npx` and `uvx` cannot access registries without them.
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  // Windows
  'PATHEXT',
  'SYSTEMROOT',
  'SYSTEMDRIVE',
  'WINDIR',
  'COMSPEC',
  'USERPROFILE',
  'USERNAME',
  'HOMEDRIVE',
  'HOMEPATH',
  'APPDATA',
  'LOCALAPPDATA',
  'PROGRAMDATA',
  'PROGRAMFILES',
  'PROGRAMFILES(X86)',
  'PROGRAMW6432',
  'PROCESSOR_ARCHITECTURE',
  'NUMBER_OF_PROCESSORS',
];

/**
 * Returns the variables that tools may see: the names above, `LC_*`, and those in `more`. Ignores case, as Windows
 * does.
 */
export function allowedEnvironment(
  from: Readonly<Record<string, string | undefined>>,
  more: readonly string[] = [],
): Record<string, string> {
  const names = new Set([...ALLOWED, ...more.map((name) => name.toUpperCase())]);
  const allowed: Record<string, string> = {};
  for (const [name, value] of Object.entries(from)) {
    if (value !== undefined && (names.has(name.toUpperCase()) || name.startsWith('LC_'))) allowed[name] = value;
  }
  return allowed;
}
