/** The result of a user's verifier or scorer, as it arrives from their code. */
import { z } from 'zod';
import { check } from '../trace/schema.ts';
import type { Verdict } from './ports.ts';

export const verdict = z.object({
  value: z.number().nullable(),
  passed: z.boolean().nullable(),
  parts: z.record(z.string(), z.number()).optional(),
  checks: z.array(check).optional(),
  explanation: z.string().optional(),
  calls: z
    .array(
      z.object({
        call: z.string(),
        value: z.number().nullable(),
        passed: z.boolean().nullable().optional(),
        explanation: z.string().optional(),
      }),
    )
    .optional(),
});

/** Returns a validated verdict without its absent members. */
export function compactVerdict({ value, passed, parts, checks, explanation, calls }: z.infer<typeof verdict>): Verdict {
  return {
    value,
    passed,
    ...(parts === undefined ? {} : { parts }),
    ...(checks === undefined ? {} : { checks }),
    ...(explanation === undefined ? {} : { explanation }),
    ...(calls === undefined
      ? {}
      : {
          calls: calls.map(({ call, value: worth, passed: ok = null, explanation: why }) => ({
            call,
            value: worth,
            passed: ok,
            ...(why === undefined ? {} : { explanation: why }),
          })),
        }),
  };
}
