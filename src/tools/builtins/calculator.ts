import { z } from 'zod';
import { ClassedError } from '../../trace/classedError.ts';
import type { BuiltinTool } from './builtinHost.ts';
import { builtin } from './builtinHost.ts';
import { ExpressionError, evaluate, NAMES } from './expression.ts';

/** Creates `calculate`, which evaluates an arithmetic expression. */
export function calculatorTools(): BuiltinTool[] {
  return [
    builtin('calculator', {
      name: 'calculate',
      description:
        'Calculates an arithmetic expression, e.g. "2 * (3 + sqrt(16)) ^ 2". Operators: + - * / % (remainder) ^ or ' +
        `** (power) ! (factorial). Names: ${NAMES.join(', ')}. Angles are in radians.`,
      input: z.object({ expression: z.string().min(1).max(10_000) }),
      effect: 'pure',
      sessionBound: false,
      run: ({ expression }) => {
        try {
          return { response: evaluate(expression) };
        } catch (error) {
          if (error instanceof ExpressionError) throw new ClassedError('tool_error', error.message, { cause: error });
          throw error;
        }
      },
    }),
  ];
}
