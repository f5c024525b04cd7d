/** Bounds of each process that a tool starts, where the system has them. */
import type { ProcessLimits } from '../../config/schema/processLimits.ts';
import type { ToolCallContext } from '../../rollout/ports.ts';

/**
 * What differs between systems: Linux keeps all of them, macOS knows no bound of memory that holds, Windows has none.
 */
const KEPT: Partial<Record<NodeJS.Platform, readonly (keyof ProcessLimits)[]>> = {
  linux: ['memory_mb', 'cpu_seconds', 'file_mb'],
  darwin: ['cpu_seconds', 'file_mb'],
};

/** A line about the bounds that this system does not keep; undefined where it keeps them all. */
export function unkeptText(
  limits: ProcessLimits | undefined,
  platform: NodeJS.Platform = process.platform,
): string | undefined {
  const names = Object.keys(limits ?? {}).filter((name) => !(KEPT[platform] ?? []).some((kept) => kept === name));
  if (names.length === 0) return undefined;
  return (
    `${names.map((name) => `limits.${name}`).join(', ')} ${names.length === 1 ? 'is' : 'are'} not kept on ` +
    `${platform === 'darwin' ? 'macOS' : platform === 'win32' ? 'Windows' : platform}; a pod keeps what its own ` +
    'limits say.\n'
  );
}

/** Tells it into the log of the first call. */
export function unkeptOnce(limits: ProcessLimits | undefined): (context: Pick<ToolCallContext, 'onLog'>) => void {
  let text = unkeptText(limits);
  return (context) => {
    if (text !== undefined) context.onLog('err', text);
    text = undefined;
  };
}

/**
 * What the shell that becomes the process does first. Only whole numbers get into it. A bound that the system has set
 * lower already stays.
 */
export function limitsScript(limits: ProcessLimits | undefined): string {
  const { memory_mb: memory, cpu_seconds: cpu, file_mb: file } = limits ?? {};
  const set = (flag: string, value: number | undefined): string =>
    value === undefined
      ? ''
      : `(ulimit ${flag} ${Math.round(value)}) 2>/dev/null && ulimit ${flag} ${Math.round(value)}; `;
  // Data, not address space: many programs reserve far more of the latter than they ever use. In KiB, and files in
  // units of 512 bytes.
  return `${set('-d', process.platform === 'linux' && memory !== undefined ? memory * 1024 : undefined)}${set('-t', cpu)}${set('-f', file === undefined ? undefined : file * 2048)}`;
}
