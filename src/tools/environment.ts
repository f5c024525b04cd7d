import type { ProcessLimits } from '../config/schema/processLimits.ts';
import type { McpConnections } from './mcp/connections.ts';
import type { ModulePools } from './modules/pools.ts';
import type { ProcessGroups } from './processes/processGroups.ts';

/** What the tools of one rollout live in. */
export interface ToolEnvironment {
  /** The rollout's working directory: absolute, exists, is the rollout's alone. */
  readonly cwd: string;
  /** Bytes of a blob of the submission (bundles and their maps). */
  readBlob(sha: string, signal?: AbortSignal): Promise<Uint8Array>;
  /** What the worker's rollouts share. */
  readonly pools: ToolPools;
  /** Bounds of each process that the tools of an entry start. */
  readonly limits?: ProcessLimits | undefined;
  /**
   * What is printed outside of any call: while a module loads, a world opens or is judged. Absent: told at the next
   * call.
   */
  onLog?(stream: 'out' | 'err', text: string): void;
}

/** What all rollouts of a worker share; closed at the worker's end. */
export interface ToolPools {
  /** The environment variables that tools, their threads and their processes see; nothing is inherited beside. */
  readonly env: Readonly<Record<string, string>>;
  readonly processGroups: ProcessGroups;
  readonly modules: ModulePools;
  /** Their code is loaded at the first call. */
  connections(): Promise<McpConnections>;
  /** Ends every thread, connection and process. */
  close(): Promise<void>;
}

/** Names that programs need to run at all, and that tell nothing secret. */
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
  // Where certificates are: a network may have its own, without which `npx` and `uvx` reach no registry.
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
 * The part of an environment that tools may see: the names above, `LC_*`, and those in `more`.
 * Windows compares names without case, so this does.
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
