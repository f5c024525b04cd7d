/** The exception filters of the debugger: failures in a rollout, as conditions at its gates. */
import type { DebugProtocol } from '@vscode/debugprotocol';
import { ERROR_CLASSES } from '../../trace/schema.ts';

interface Filter {
  readonly label: string;
  readonly description: string;
  readonly condition: string;
  /** Set if the filter needs a condition from the user. */
  readonly needs?: string;
}

const ERROR = 'has(event.data.error)';

const FILTERS: Readonly<Record<string, Filter>> = {
  any: {
    label: 'Any error',
    description: 'Stops at any failed tool or model call.',
    condition: ERROR,
  },
  malformed: {
    label: 'Malformed calls',
    description: 'Stops at invalid arguments, calls of unknown tools, and output that cannot be parsed.',
    condition: `${ERROR} && event.data.error.class in ["invalid_arguments", "unknown_tool", "malformed_output"]`,
  },
  repeated: {
    label: 'Repeated action',
    description:
      'Stops when a tool is called with the same arguments as in an earlier call. Condition: the number of such ' +
      'earlier calls (default 1).',
    condition: 'has(tool.repeats)',
    needs: '1',
  },
  reward: {
    label: 'Reward below',
    description: 'Stops at a score below the number in the condition (default 1).',
    condition: 'event.kind == "score"',
    needs: '1',
  },
  ...Object.fromEntries(
    ERROR_CLASSES.map((name): [string, Filter] => [
      `class:${name}`,
      {
        label: `Error: ${name}`,
        description: `Stops at calls that fail with the error class ${name}.`,
        condition: `${ERROR} && event.data.error.class == "${name}"`,
      },
    ]),
  ),
};

/** The filters in the protocol's form. */
export const EXCEPTION_FILTERS: DebugProtocol.ExceptionBreakpointsFilter[] = Object.entries(FILTERS).map(
  ([filter, { label, description, needs }]) => ({
    filter,
    label,
    description,
    supportsCondition: true,
    conditionDescription: needs === undefined ? 'CEL expression, for example tool.name == "renew_loan"' : 'Number',
  }),
);

/** Returns the CEL condition of a filter and its side; undefined for an unknown filter. */
export function exceptionCondition(
  filter: string,
  condition: string | undefined,
): { readonly when: string; readonly side: 'before' | 'after' } | undefined {
  const definition = FILTERS[filter];
  if (definition === undefined) return undefined;
  const own = condition?.trim() ?? '';
  if (filter === 'repeated')
    return { when: `has(tool.repeats) && tool.repeats >= ${own === '' ? '1' : own}`, side: 'before' };
  if (filter === 'reward')
    return {
      when:
        `${definition.condition} && event.data.value != null && double(event.data.value) < ` +
        `double(${own === '' ? '1' : own})`,
      side: 'after',
    };
  return { when: own === '' ? definition.condition : `${definition.condition} && (${own})`, side: 'after' };
}
