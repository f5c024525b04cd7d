/** Schema of `perturb`: the rules by which faults are injected into tool calls. */
import { z } from 'zod';
import { choice, duration, expects, fault, flag, group, listOf, name, number, path, text, whole } from './values.ts';

/** Classes of the errors that a rule may inject; no other one can come from a tool. */
export const INJECTED_CLASSES = ['tool_error', 'world_error', 'invalid_arguments', 'timeout'] as const;
/** Where the text of a rule goes. */
export const TEXT_PLACES = ['replace', 'before', 'after'] as const;

const noArgs = z.strictObject({});

/** The arguments of each effect. */
const ARGS = {
  error: z.strictObject({
    class: choice(INJECTED_CLASSES).optional().describe('Class of the error. Default: `tool_error`.'),
    message: text('503 Service Unavailable').optional().describe('What the agent reads.'),
    wait: duration('2s').optional().describe('How long the call takes. Default: it fails immediately.'),
  }),
  timeout: z.strictObject({
    wait: z
      .union([flag, duration('30s')], expects('true, false, or a duration', '30s'))
      .optional()
      .describe("How long the call takes; `true`: the tool's own time limit. Default: it fails immediately."),
  }),
  delay: z.strictObject({ wait: duration('5s').describe('How long the call waits before it is made.') }),
  empty: noArgs,
  drop: z
    .strictObject({
      fields: listOf(text('due'), 'a list of field names', '[due]')
        .min(1, expects('a list of field names', '[due]'))
        .optional()
        .describe('Fields to leave out, wherever they are in the result.'),
      items: whole(1, 1).optional().describe("How many items of the result's longest list to leave out, at random."),
    })
    .superRefine(({ fields, items }, context) => {
      if (fields === undefined && items === undefined)
        fault(context, '`drop` needs `fields` or `items`', 'Add what to leave out: `args: { fields: [due] }`.', {
          code: 'missing',
        });
    }),
  truncate: z
    .strictObject({
      items: whole(0, 5).optional().describe("How many items of the result's longest list to keep."),
      chars: whole(0, 500).optional().describe('How many characters of a text to keep.'),
      more: text('next_cursor')
        .optional()
        .describe('Field of the result that gets the position of the first item left out.'),
    })
    .superRefine(({ items, chars, more }, context) => {
      if (items === undefined && chars === undefined)
        fault(context, '`truncate` needs `items` or `chars`', 'Add how much to keep: `args: { items: 5 }`.', {
          code: 'missing',
        });
      else if (more !== undefined && items === undefined)
        fault(context, '`more` has no effect without `items`', 'Add `items`, or remove it.', {
          path: ['more'],
          code: 'conflict',
        });
    }),
  stale: noArgs,
  text: z.strictObject({
    text: text('The service is under maintenance.').describe('The text.'),
    place: choice(TEXT_PLACES)
      .optional()
      .describe('Whether it replaces the result, or comes before or after it. Default: `replace`.'),
  }),
} as const;

export type Effect = keyof typeof ARGS;
export const EFFECTS = Object.keys(ARGS) as [Effect, ...Effect[]];

const EFFECT_TEXTS: Readonly<Record<Effect, string>> = {
  error: 'the call fails without being made',
  timeout: 'the call times out without being made',
  delay: 'the call is made late',
  empty: 'the result is empty',
  drop: 'fields or items of the result are missing',
  truncate: 'the result ends early',
  stale: 'the result is that of the previous call with the same arguments',
  text: 'the result is another text, or has one added',
};

/** Describes the arguments of each effect for editors. The schema below checks them. */
const anyOf = [
  ...EFFECTS.map((effect) => ({
    properties: {
      effect: { const: effect, description: `${EFFECT_TEXTS[effect]}.` },
      args: { ...argsSchema(effect), description: `Arguments of \`${effect}\`.` },
    },
    required: ['effect'],
  })),
  { properties: { module: { type: 'string', description: 'A module with the function.' } }, required: ['module'] },
  { properties: { say: { type: 'string', description: 'What the world model is told.' } }, required: ['say'] },
];

function argsSchema(effect: Effect): object {
  const { $schema: _draft, ...schema } = z.toJSONSchema(ARGS[effect], { io: 'input', target: 'draft-7' });
  return schema;
}

export const perturbRule = group(
  {
    name: name.describe('Name of the rule, as shown in trajectories and reports.'),
    when: text('\'tool.name == "renew_loan"\'', 'a CEL expression')
      .optional()
      .describe(
        'A CEL expression over `tool` (name, arguments, repeats), `step`, `agent`, `task`, and `attempt`: the calls ' +
          'that the rule is for. Default: every call.',
      ),
    p: number({ min: 0, max: 1, what: 'a probability from 0 to 1', example: 0.1 })
      .default(1)
      .describe('Probability that such a call is changed, by its seed.'),
    effect: choice(EFFECTS)
      .optional()
      .describe(`What happens: ${EFFECTS.map((effect) => `\`${effect}\`: ${EFFECT_TEXTS[effect]}`).join('; ')}.`),
    args: z.record(z.string(), z.unknown()).optional().describe('Arguments of the effect, or of the function.'),
    module: path('faults.ts')
      .optional()
      .describe('Instead of `effect`: a module whose function changes the result of the call.'),
    export: text('stale_rows').optional().describe('With `module`: the function.'),
    say: text('The second renewal of a day fails with "limit reached".')
      .optional()
      .describe(
        'For a world that a model plays: a sentence added to its `instruction`. A rule may have it instead of an ' +
          'effect.',
      ),
    check: text('\'observation.text.contains("limit reached")\'', 'a CEL expression')
      .optional()
      .describe(
        'With `say`: a CEL expression over `observation` (text, json, failed), `tool`, `step`, `agent`, `task`, and ' +
          '`attempt`: whether the world model obeyed in a call that `when` selects. It is recorded as a score of ' +
          'the call.',
      ),
  },
  'a group of keys with `name` and `effect`',
  '{ name: flaky, effect: error }',
)
  .superRefine((rule, context) => {
    const { effect, module, export: exported, say, check } = rule;
    if (check !== undefined && say === undefined)
      fault(context, '`check` has no effect without `say`', 'Add the sentence that the world model must obey.', {
        path: ['check'],
        code: 'conflict',
      });
    if (effect === undefined && module === undefined && say !== undefined) {
      for (const key of ['args', 'export'] as const)
        if (rule[key] !== undefined)
          fault(context, `\`${key}\` has no effect in a rule that only says something`, 'Remove it.', {
            path: [key],
            code: 'conflict',
          });
      if (rule.p < 1)
        fault(context, '`p` has no effect in a rule that only says something', 'Say how often it applies in `say`.', {
          path: ['p'],
          code: 'conflict',
        });
      return;
    }
    if (effect === undefined && module === undefined)
      fault(context, `the rule \`${rule.name}\` needs \`effect\` or \`module\``, 'Add `effect: error`.', {
        code: 'missing',
      });
    else if (effect !== undefined && module !== undefined)
      fault(context, 'a rule has either `effect` or `module`, not both', 'Remove one of them.', { code: 'conflict' });
    else if (module !== undefined && exported === undefined)
      fault(context, '`module` needs `export`', 'Add `export:` with the name of its function.', { code: 'missing' });
    else if (module === undefined && exported !== undefined)
      fault(context, '`export` has no effect without `module`', 'Remove it.', { path: ['export'], code: 'conflict' });
    if (effect === undefined || module !== undefined) return;
    const args = ARGS[effect].safeParse(rule.args ?? {}, { error: argsError });
    if (args.success) return;
    for (const issue of args.error.issues) addArgsIssue(context, effect, rule.args, issue);
  })
  .meta({ anyOf });
export type PerturbRule = z.output<typeof perturbRule>;

type Refinement = Parameters<typeof fault>[0];

function argsError(issue: z.core.$ZodRawIssue): string {
  return issue.code === 'unrecognized_keys' && issue.inst instanceof z.ZodObject
    ? Object.keys(issue.inst.shape).join(', ')
    : 'another value';
}

function addArgsIssue(
  context: Refinement,
  effect: Effect,
  args: Readonly<Record<string, unknown>> | undefined,
  issue: z.core.$ZodIssue,
): void {
  const written = args !== undefined;
  const path = ['args', ...issue.path.map((step) => (typeof step === 'number' ? step : String(step)))];
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys)
      fault(
        context,
        `\`${effect}\` has no argument \`${key}\``,
        issue.message === '' ? 'It has none: remove it.' : `Available: ${issue.message}.`,
        { path: [...path, key], code: 'unknown_key' },
      );
    return;
  }
  const hint: unknown = issue.code === 'custom' ? issue.params?.['hint'] : undefined;
  if (typeof hint === 'string') {
    fault(context, issue.message, hint, { path: written ? path : [], code: 'missing' });
    return;
  }
  const [what = '', example = ''] = issue.message.split('\n');
  const key = String(issue.path[0] ?? '');
  const missing = issue.path.length === 1 && args?.[key] === undefined;
  fault(
    context,
    missing ? `\`${effect}\` needs the argument \`${key}\`` : `\`${path.join('.')}\` must be ${what}`,
    `For example, write \`args: { ${key}: ${example} }\`.`,
    { path: missing && !written ? [] : missing ? ['args'] : path, code: missing ? 'missing' : 'value' },
  );
}

/** Returns the arguments of an effect with their defaults and units applied. They must be valid. */
export function effectArgs<E extends Effect>(effect: E, args: unknown): z.output<(typeof ARGS)[E]> {
  return ARGS[effect].parse(args ?? {}) as z.output<(typeof ARGS)[E]>; // the schema of this effect
}
