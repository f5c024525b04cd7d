/** IDs of the tool call features: URI schemes and commands. */
import type { CommandId } from '../contributions/commands.ts';

/** URI schemes of call documents: lists, forms, their schemas, and results. */
export const CALLS_SCHEME = 'rollout-calls';
export const FORM_SCHEME = 'rollout-call';
export const SCHEMA_SCHEME = 'rollout-schema';
export const OUTCOME_SCHEME = 'rollout-call-outcome';

/** Commands that are not in the manifest, because only lenses, hovers, and marks use them. */
export const INTERNAL_COMMANDS = [
  'rollout.toolCalls.chooseBatch',
  'rollout.toolCalls.openStep',
  'rollout.toolCalls.compare',
  'rollout.toolCalls.openSource',
  'rollout.toolCalls.try',
] as const;
export type ToolCallCommand =
  | (typeof INTERNAL_COMMANDS)[number]
  | Extract<
      CommandId,
      | 'rollout.showCalls'
      | 'rollout.chooseToolBatch'
      | 'rollout.rerunCall'
      | 'rollout.predictCall'
      | 'rollout.runCall'
      | 'rollout.saveTestCase'
    >;

/** Commands of lenses, hovers, and marks. */
export const LENS_COMMANDS = {
  choose: 'rollout.toolCalls.chooseBatch',
  show: 'rollout.showCalls',
  open: 'rollout.toolCalls.openStep',
  rerun: 'rollout.rerunCall',
  save: 'rollout.saveTestCase',
  run: 'rollout.runCall',
  compare: 'rollout.toolCalls.compare',
  source: 'rollout.toolCalls.openSource',
  try: 'rollout.toolCalls.try',
} as const satisfies Record<string, ToolCallCommand>;
