import type { ToolOutcome } from '../../rollout/ports.ts';
import { textResponse } from '../outcome.ts';
import type { ProcessResult } from '../processes/runProcess.ts';

/** What a process's end tells the model: its exit code and what it wrote. */
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
