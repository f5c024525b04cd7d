import { z } from 'zod';
import type { Json } from '../common/json.ts';
import type { SubmittedModule } from '../config/submission.ts';
import type { Scorer } from '../rollout/ports.ts';
import { compactVerdict, verdict } from '../rollout/verdict.ts';
import { ClassedError } from '../trace/classedError.ts';

/**
 * Runs one exported function of a user's module, away from the worker's own thread. The input and the result are
 * JSON. Rejects with a ClassedError: `tool_error` for what the function threw, `timeout`, `cancelled`.
 */
export interface ExportRunner {
  runExport(
    module: SubmittedModule,
    exportName: string,
    input: Json,
    options: { readonly seed: number; readonly signal: AbortSignal },
  ): Promise<unknown>;
}

/** `passed` defaults to a value of 1 or more. */
const moduleVerdict = verdict.partial({ passed: true });

/**
 * A function of the user's own: `({task, answer, messages}) => {value, passed, parts?, checks?, explanation?}`.
 * It is also asked when there is no answer (`answer: null`), and decides itself. Throws ClassedError.
 */
export function moduleScorer(
  options: { readonly module: SubmittedModule; readonly export: string },
  runner: ExportRunner,
): Scorer {
  const called = `${options.export} of ${options.module.file}`;
  return {
    name: `module ${called}`,
    async score({ task, answer, messages, seed, signal }) {
      // `task` and `messages` are plain JSON by their own types; the runner's boundary wants it said
      const input = { task, answer, messages } as unknown as Json;
      const result = moduleVerdict.safeParse(
        await runner.runExport(options.module, options.export, input, { seed, signal }),
      );
      if (!result.success) {
        throw new ClassedError(
          'malformed_output',
          `The scorer ${called} must return {value, passed, explanation?}: ` +
            z.prettifyError(result.error).replace(/\s+/g, ' '),
        );
      }
      const { value, passed = value === null ? null : value >= 1 } = result.data;
      return compactVerdict({ ...result.data, passed });
    },
  };
}
