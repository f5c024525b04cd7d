/** Arguments of a server's command that depend on the machine. */
import { CHROMIUM_PATH, CHROMIUM_SANDBOX } from '../../config/tools/mcp/catalogue.ts';

export interface Machine {
  /** Returns the path of Chromium; throws if it is not installed. */
  chromium(): string;
  mayHaveSandbox(): boolean;
}

/** Fills in machine-specific arguments. They need no quoting, because no shell interprets them. */
export function machineArgs(args: readonly string[], machine: Machine): string[] {
  return args.map((arg) => {
    if (arg === CHROMIUM_PATH) return machine.chromium();
    return arg === CHROMIUM_SANDBOX ? `--${machine.mayHaveSandbox() ? '' : 'no-'}sandbox` : arg;
  });
}
