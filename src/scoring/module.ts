import { z } from 'zod';
import type { Json } from '../common/json.ts';
import type { SubmittedModule } from '../config/submission.ts';
import type { Scorer, Verdict } from '../rollout/ports.ts';
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

const moduleVerdict = z.object({
  value: z.number().nullable(),
  /** Default: passed if the value is 1 or more. */
  passed: z.boolean().nullable().optional(),
  parts: z.record(z.string(), z.number()).optional(),
  explanation: z.string().optional(),
});

/**
 * A function of the user's own: `({task, answer, messages}) => {value, passed, parts?, explanation?}`.
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
      const { value, passed, parts, explanation } = result.data;
      return {
        value,
        passed: passed === undefined ? (value === null ? null : value >= 1) : passed,
        ...(parts === undefined ? {} : { parts }),
        ...(explanation === undefined ? {} : { explanation }),
      } satisfies Verdict;
    },
  };
}
