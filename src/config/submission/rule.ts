/** The rules of a submission by which faults are injected into tool calls. */
import { z } from 'zod';
import { INJECTED_CLASSES, TEXT_PLACES } from '../schema/perturbSection.ts';
import { jsonObject, submittedModule } from './parts.ts';

const common = {
  name: z.string(),
  /** A CEL expression; absent: every call. */
  when: z.string().optional(),
  p: z.number().min(0).max(1),
  /** A sentence of the instruction to the world model. */
  say: z.string().optional(),
  /** A CEL expression: whether the world model obeyed. */
  check: z.string().optional(),
};
const seconds = z.number().min(0);
const count = z.number().int().min(0);

export const submittedRule = z.discriminatedUnion('effect', [
  z.object({
    ...common,
    effect: z.literal('error'),
    args: z.object({ class: z.enum(INJECTED_CLASSES), message: z.string(), wait_seconds: seconds }),
  }),
  z.object({
    ...common,
    effect: z.literal('timeout'),
    /** `limit`: as long as the tool may take. */
    args: z.object({ wait_seconds: z.union([seconds, z.literal('limit')]) }),
  }),
  z.object({ ...common, effect: z.literal('delay'), args: z.object({ wait_seconds: seconds }) }),
  z.object({ ...common, effect: z.literal('empty') }),
  z.object({
    ...common,
    effect: z.literal('drop'),
    args: z.object({ fields: z.array(z.string()), items: count }),
  }),
  z.object({
    ...common,
    effect: z.literal('truncate'),
    args: z.object({ items: count.optional(), chars: count.optional(), more: z.string().optional() }),
  }),
  z.object({ ...common, effect: z.literal('stale') }),
  z.object({
    ...common,
    effect: z.literal('text'),
    args: z.object({ text: z.string(), place: z.enum(TEXT_PLACES) }),
  }),
  /** An exported function that changes the result. */
  z.object({
    ...common,
    effect: z.literal('function'),
    module: submittedModule,
    export: z.string(),
    args: jsonObject.optional(),
  }),
  /** It only says something, and changes no call. */
  z.object({ ...common, effect: z.literal('say') }),
]);
export type SubmittedRule = z.infer<typeof submittedRule>;
/** A rule that changes calls. */
export type FaultRule = Exclude<SubmittedRule, { effect: 'say' }>;

/** Whether a rule changes calls. */
export function isFaultRule(rule: SubmittedRule): rule is FaultRule {
  return rule.effect !== 'say';
}

/** Returns the rules that apply to the tool calls of a submission's rollouts. */
export function rulesOf(value: {
  readonly world?: { readonly perturb: readonly SubmittedRule[] } | undefined;
  readonly no_perturb?: true | undefined;
}): readonly SubmittedRule[] {
  return value.no_perturb === true ? [] : (value.world?.perturb ?? []);
}
