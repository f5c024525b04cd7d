/** Arguments of a server's command that only the machine it starts on knows. */
import { CHROMIUM_PATH, CHROMIUM_SANDBOX } from '../../config/tools/mcp/catalogue.ts';

export interface Machine {
  /** Where its Chromium is; throws when there is none. */
  chromium(): string;
  mayHaveSandbox(): boolean;
}

/** `args` with what the machine knows put in. An argument stays one, whatever is in it: no shell reads them. */
export function machineArgs(args: readonly string[], machine: Machine): string[] {
  return args.map((arg) => {
    if (arg === CHROMIUM_PATH) return machine.chromium();
    return arg === CHROMIUM_SANDBOX ? `--${machine.mayHaveSandbox() ? '' : 'no-'}sandbox` : arg;
  });
}
