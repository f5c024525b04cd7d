import { z } from 'zod';
import type { Json } from '../common/json.ts';
import type { SubmittedModel, SubmittedModule } from '../config/submission.ts';
import type { JudgingContext, Scorer } from '../rollout/ports.ts';
import { compactVerdict, verdict } from '../rollout/verdict.ts';
import { ClassedError } from '../trace/classedError.ts';

type SubmittedModels = Readonly<Record<string, SubmittedModel>> | undefined;

/**
 * Runs an exported function of a user's module, outside of the worker's main thread. The input and the result are JSON.
 * Rejects with a ClassedError: `tool_error` for an error of the function, `timeout`, `cancelled`.
 */
export interface ExportRunner {
  runExport(
    module: SubmittedModule,
    exportName: string,
    input: Json,
    options: JudgingContext & { readonly seed: number; readonly models?: SubmittedModels },
  ): Promise<unknown>;
}

/** `passed` defaults to a value of 1 or more. */
const moduleVerdict = verdict.partial({ passed: true });

/**
 * A function of the user: `({task, answer, messages}) => {value, passed, parts?, checks?, explanation?}`. It is also
 * called without an answer (`answer: null`). Throws ClassedError.
 */
export function moduleScorer(
  options: { readonly module: SubmittedModule; readonly export: string; readonly models?: SubmittedModels },
  runner: ExportRunner,
): Scorer {
  const called = `${options.export} of ${options.module.file}`;
  return {
    name: `module ${called}`,
    async score({ task, answer, messages, seed, signal, ask }) {
      // `task` and `messages` are JSON by their types, but the runner's signature requires a cast
      const input = { task, answer, messages } as unknown as Json;
      const result = moduleVerdict.safeParse(
        await runner.runExport(options.module, options.export, input, {
          seed,
          signal,
          ask,
          ...(options.models === undefined ? {} : { models: options.models }),
        }),
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
