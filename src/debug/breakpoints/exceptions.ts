/** The exception filters of the debugger: what may go wrong in a rollout, as conditions at its gates. */
import type { DebugProtocol } from '@vscode/debugprotocol';
import { ERROR_CLASSES } from '../../trace/schema.ts';

interface Filter {
  readonly label: string;
  readonly description: string;
  readonly condition: string;
  /** Whether it may be narrowed by a condition of the user's; `needs`: it means nothing without one. */
  readonly needs?: string;
}

const ERROR = 'has(event.data.error)';

const FILTERS: Readonly<Record<string, Filter>> = {
  any: {
    label: 'Any error',
    description: 'A tool or model call that failed, whatever the class of its error.',
    condition: ERROR,
  },
  malformed: {
    label: 'Malformed calls',
    description: 'Arguments that do not fit the tool, calls of tools that are not there, output that cannot be read.',
    condition: `${ERROR} && event.data.error.class in ["invalid_arguments", "unknown_tool", "malformed_output"]`,
  },
  repeated: {
    label: 'Repeated action',
    description:
      'A tool is called with the very arguments of an earlier call. Condition: a number, how often it was called ' +
      'so before (1).',
    condition: 'has(tool.repeats)',
    needs: '1',
  },
  reward: {
    label: 'Reward below',
    description: 'A score below the number given as condition (1).',
    condition: 'event.kind == "score"',
    needs: '1',
  },
  ...Object.fromEntries(
    ERROR_CLASSES.map((name): [string, Filter] => [
      `class:${name}`,
      {
        label: `Error: ${name}`,
        description: `A call that failed with class ${name}.`,
        condition: `${ERROR} && event.data.error.class == "${name}"`,
      },
    ]),
  ),
};

/** As the client offers them. */
export const EXCEPTION_FILTERS: DebugProtocol.ExceptionBreakpointsFilter[] = Object.entries(FILTERS).map(
  ([filter, { label, description, needs }]) => ({
    filter,
    label,
    description,
    supportsCondition: true,
    conditionDescription: needs === undefined ? 'CEL, e.g. tool.name == "renew_loan"' : 'a number',
  }),
);

/** CEL of a filter, and the side it looks at; undefined when there is no such filter. */
export function exceptionCondition(
  filter: string,
  condition: string | undefined,
): { readonly when: string; readonly side: 'before' | 'after' } | undefined {
  const known = FILTERS[filter];
  if (known === undefined) return undefined;
  const own = condition?.trim() ?? '';
  if (filter === 'repeated')
    return { when: `has(tool.repeats) && tool.repeats >= ${own === '' ? '1' : own}`, side: 'before' };
  if (filter === 'reward')
    return {
      when:
        `${known.condition} && event.data.value != null && double(event.data.value) < ` +
        `double(${own === '' ? '1' : own})`,
      side: 'after',
    };
  return { when: own === '' ? known.condition : `${known.condition} && (${own})`, side: 'after' };
}
