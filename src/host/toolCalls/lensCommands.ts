/** Command IDs for tool calls that lenses, hovers, and marks use. */
import type { CommandId } from '../contributions/commands.ts';

/** Commands used only here, so not in the manifest. */
export const INNER_COMMANDS = [
  'rollout.toolCalls.chooseBatch',
  'rollout.toolCalls.openStep',
  'rollout.toolCalls.compare',
  'rollout.toolCalls.openSource',
  'rollout.toolCalls.try',
] as const;
export type ToolCallCommand =
  | (typeof INNER_COMMANDS)[number]
  | Extract<
      CommandId,
      'rollout.showCalls' | 'rollout.chooseToolBatch' | 'rollout.rerunCall' | 'rollout.runCall' | 'rollout.saveTestCase'
    >;

export const COMMANDS_OF_LENSES = {
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
