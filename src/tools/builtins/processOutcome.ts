import type { ToolOutcome } from '../../rollout/ports.ts';
import { textResponse } from '../outcome.ts';
import type { ProcessResult } from '../processes/runProcess.ts';

/** Returns the result of a process for the model: its exit code and output. */
export function processOutcome(result: ProcessResult): ToolOutcome {
  const { response, ...rest } = textResponse({ text: result.output.text, bytes: result.output.bytes });
  return {
    response: {
      exit_code: result.code,
      output: response,
      ...(result.timedOut ? { timed_out: true } : result.signal === null ? {} : { signal: result.signal }),
    },
    ...rest,
  };
}
