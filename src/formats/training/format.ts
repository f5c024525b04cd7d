/**
 * Formats in which attempts are exported. A format turns attempts into lines; it reads nothing itself. To add one,
 * write its file and list it in registry.ts.
 */
import type { JsonObject } from '../../common/json.ts';
import type { ChatTool } from '../../trace/chat/messages.ts';
import type { TrainingRow } from '../../trace/segments/trainingRows.ts';
import type { Selection } from '../../trace/selection/selection.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import type { Conversation } from './conversations.ts';

/**
 * What happens to an attempt that must not change the statistics of its group: without a reward, lost to
 * infrastructure, canceled, or changed by a person. No rule writes 0 as its reward.
 *
 * - keep: it is written with a reward of null and the reason. Only for formats that have both.
 * - drop_row: it is left out.
 * - drop_group: all attempts of its task in its batch are left out.
 * - mask: nothing of it is trained: all of its mask is 0, and its reward is the mean of its group, so that the others'
 *   advantages stay close to what they are without it.
 * - mean_of_group: its reward is the mean of its group, and its mask stays.
 * - error: the export fails.
 */
export const NULL_RULES = ['keep', 'drop_row', 'drop_group', 'mask', 'mean_of_group', 'error'] as const;
export type NullRule = (typeof NULL_RULES)[number];

/** One segment with the messages of its newest call, and what formats need beside its row. */
export interface TokenRow {
  readonly row: TrainingRow;
  /** Messages from the beginning of the prompt to the last reply of the segment. Empty if the format needs none. */
  readonly conversation: Conversation | undefined;
  /** Number of messages in it, without a system message. */
  readonly turns: number;
}

/** An attempt as formats see it. */
export interface TrainingAttempt {
  readonly row: RolloutRow;
  /** ID of the model that its first call asked for. */
  readonly model: string | undefined;
  /** Tools that its first call offered. */
  readonly tools: readonly ChatTool[];
  /** After the rule for null rewards; null only with the rule `keep`. */
  readonly reward: number | null;
  /** With the rule `mask`: nothing of it is trained. */
  readonly masked: boolean;
  /** Whether `reward` is the mean of its group and not its own. */
  readonly imputed: boolean;
  readonly group: GroupFacts;
  /** Segments; empty for formats of conversations. */
  readonly tokens: readonly TokenRow[];
  /** Conversations for supervised training; empty for formats of tokens. */
  readonly conversations: readonly Conversation[];
}

/** The group of an attempt, as exported. */
export interface GroupFacts {
  readonly id: string;
  /** Position among the groups of the file, from 0. */
  readonly index: number;
  /** Position of the attempt among the attempts of the group in the file, from 0. */
  readonly member: number;
  /** Rewards of all members in the file; null for those that must not change the statistics. */
  readonly rewards: readonly (number | null)[];
}

interface FormatFacts {
  /** As in `--to`. */
  readonly id: string;
  /** For lists: who reads it. */
  readonly title: string;
  /** One sentence. */
  readonly text: string;
  readonly file: 'jsonl' | 'parquet';
  /** What it needs of an attempt. */
  readonly needs: 'conversations' | 'tokens' | 'tokens and messages';
  /** The rules for null rewards that it has, the default one first. */
  readonly nullRules: readonly [NullRule, ...NullRule[]];
  /** What is selected if the user does not select by this. */
  readonly selects?: Pick<Selection, 'outcomes'>;
  /** How the shape was checked, for the documentation. */
  readonly checked: string;
}

/** Adds to the counts of what is left out, by reason; `count`: 1 by default. */
export type LeaveOut = (why: string, count?: number) => void;

export interface AttemptFormat extends FormatFacts {
  readonly per: 'attempt';
  lines(attempt: TrainingAttempt, leaveOut: LeaveOut): readonly JsonObject[];
}

/** A format whose lines need all attempts of a task together. */
export interface GroupFormat extends FormatFacts {
  readonly per: 'group';
  lines(attempts: readonly TrainingAttempt[], leaveOut: LeaveOut): readonly JsonObject[];
  /** Returns which attempts it needs of a group, by the rewards of its members. Absent: all. */
  pick?(rewards: readonly (number | null)[]): readonly number[];
}

export type TrainingFormat = AttemptFormat | GroupFormat;
