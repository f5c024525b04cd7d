/** Limits of each process that a tool starts, if the operating system supports them. */
import type { ProcessLimits } from '../../config/schema/processLimits.ts';
import type { ToolCallContext } from '../../rollout/ports.ts';

/**
 * Supported limits: Linux supports all of them, macOS no reliable memory limit, Windows none.
 */
const SUPPORTED: Partial<Record<NodeJS.Platform, readonly (keyof ProcessLimits)[]>> = {
  linux: ['memory_mb', 'cpu_seconds', 'file_mb'],
  darwin: ['cpu_seconds', 'file_mb'],
};

/** Returns a note about limits that this system does not support, if any. */
export function ignoredLimitsText(
  limits: ProcessLimits | undefined,
  platform: NodeJS.Platform = process.platform,
): string | undefined {
  const names = Object.keys(limits ?? {}).filter(
    (name) => !(SUPPORTED[platform] ?? []).some((supported) => supported === name),
  );
  if (names.length === 0) return undefined;
  return (
    `${names.map((name) => `limits.${name}`).join(', ')} ${names.length === 1 ? 'is' : 'are'} not supported on ` +
    `${platform === 'darwin' ? 'macOS' : platform === 'win32' ? 'Windows' : platform} and ignored. Pods have their ` +
    'own limits.\n'
  );
}

/** Returns a function that adds the note to the log of the first call. */
export function ignoredLimitsOnce(
  limits: ProcessLimits | undefined,
): (context: Pick<ToolCallContext, 'onLog'>) => void {
  let text = ignoredLimitsText(limits);
  return (context) => {
    if (text !== undefined) context.onLog('err', text);
    text = undefined;
  };
}

/**
 * Returns shell commands that set the limits before the shell executes the program. Contains only integers. Lower
 * limits of the system stay in effect.
 */
export function limitsScript(limits: ProcessLimits | undefined): string {
  const { memory_mb: memory, cpu_seconds: cpu, file_mb: file } = limits ?? {};
  const set = (flag: string, value: number | undefined): string =>
    value === undefined
      ? ''
      : `(ulimit ${flag} ${Math.round(value)}) 2>/dev/null && ulimit ${flag} ${Math.round(value)}; `;
  // Limits data instead of address space, because many programs reserve far more than they use. In KiB; files in
  // units of 512 bytes.
  return [
    set('-d', process.platform === 'linux' && memory !== undefined ? memory * 1024 : undefined),
    set('-t', cpu),
    set('-f', file === undefined ? undefined : file * 2048),
  ].join('');
}
