/** Environment variables that other programs may see. */

/** Names the kind of remote window of VS Code that a program runs for, such as `dev-container`. */
export const REMOTE_VARIABLE = 'ROLLOUT_REMOTE_NAME';

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
 * Returns the variables that other programs may see: the names above, `LC_*`, and those in `more`. Ignores case, as
 * Windows does.
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
