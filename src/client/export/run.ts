/** One export from its settings to its bytes: the same for a file, for stdout, and for a preview. */

import { StudioError } from '../../common/errors.ts';
import type { JsonObject } from '../../common/json.ts';
import type { ExportRedaction } from '../../common/redaction/exported.ts';
import type { NullRule, TrainingFormat } from '../../formats/training/format.ts';
import { GROUP_COLUMNS } from '../../formats/training/groups.ts';
import { type PlannedAttempt, planAttempts } from '../../formats/training/nullRewards.ts';
import { parquetOf } from '../../formats/training/parquet.ts';
import { TRAINING_FORMATS, trainingFormat } from '../../formats/training/registry.ts';
import type { Api } from '../../protocol/api.ts';
import type { BatchRow } from '../../protocol/client.ts';
import { OUTCOMES } from '../../trace/outcome.ts';
import {
  groupOf,
  LEFT_OUT,
  LEFT_OUT_TEXT,
  needsTasks,
  type Selection,
  selectAttempts,
} from '../../trace/selection/selection.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { attemptsCsv } from './attemptsCsv.ts';
import { readBatches } from './batches.ts';
import { ExportedAttempts } from './exportedAttempts.ts';
import { membersOf } from './members.ts';
import { addTo, type ExportCounts, noCounts, pickedAttempts, trainingLines } from './training.ts';

export interface ExportSettings {
  /** IDs. */
  readonly batches: readonly string[];
  /** `csv`, or the ID of a format for trainers. */
  readonly format: string;
  readonly selection: Selection;
  /** undefined: the format's own. */
  readonly nullReward: NullRule | undefined;
  readonly redaction: ExportRedaction;
}

/** Lists of formats for people: the ID of each, and what it is. */
export const EXPORT_FORMATS: readonly { readonly id: string; readonly title: string; readonly text: string }[] = [
  { id: 'csv', title: 'Table of attempts, CSV', text: 'a line for each attempt, for spreadsheets' },
  ...TRAINING_FORMATS.map(({ id, title, text }) => ({ id, title, text })),
];

const NO_RECORD: ReadonlySet<string> = new Set(['not_found', 'unsupported', 'forbidden', 'usage']);

/** Characters that are written at once. */
const PART = 256 * 1024;

/** An export whose attempts are known and not yet read. */
export class Export {
  readonly batches: readonly BatchRow[];
  /** With what the format selects by itself. */
  readonly selection: Selection;
  readonly nullReward: NullRule | undefined;
  /** Number of attempts that will be read. */
  readonly attempts: number;
  readonly groups: number;
  readonly counts: ExportCounts = noCounts();
  readonly redaction: ExportRedaction;
  readonly #api: Api;
  readonly #plan:
    | { readonly format: TrainingFormat; readonly attempts: readonly PlannedAttempt[] }
    | readonly RolloutRow[];
  readonly #signal: AbortSignal;

  private constructor(
    api: Api,
    facts: Pick<Export, 'batches' | 'selection' | 'nullReward' | 'groups' | 'redaction'>,
    plan: { readonly format: TrainingFormat; readonly attempts: readonly PlannedAttempt[] } | readonly RolloutRow[],
    leftOut: Readonly<Record<string, number>>,
    signal: AbortSignal,
  ) {
    this.#api = api;
    this.#plan = plan;
    this.#signal = signal;
    this.batches = facts.batches;
    this.selection = facts.selection;
    this.nullReward = facts.nullReward;
    this.groups = facts.groups;
    this.redaction = facts.redaction;
    this.attempts = 'format' in plan ? plan.attempts.length : plan.length;
    for (const [why, count] of Object.entries(leftOut)) addTo(this.counts.attempts_left_out, why, count);
  }

  /**
   * Reads the rows of the batches, and selects. Throws StudioError `usage` for an unknown format, a rule that it does
   * not have, or an invalid condition.
   */
  static async prepare(api: Api, settings: ExportSettings, signal: AbortSignal): Promise<Export> {
    const format = settings.format === 'csv' ? undefined : requireFormat(settings.format);
    const nullReward = ruleOf(format, settings.nullReward);
    const selection = { ...selectsOf(format), ...settings.selection };
    const { batches, attempts } = await readBatches(api, settings.batches, needsTasks(selection), signal);
    const selected = selectAttempts(attempts, selection);
    const leftOut: Record<string, number> = {};
    for (const why of LEFT_OUT) addTo(leftOut, LEFT_OUT_TEXT[why], selected.left_out[why] ?? 0);
    const rows = selected.taken.map(({ row }) => counted(row));
    const facts = { batches, selection, nullReward, redaction: settings.redaction };
    if (format === undefined || nullReward === undefined)
      return new Export(api, { ...facts, groups: new Set(rows.map(groupOf)).size }, rows, leftOut, signal);
    const ended = rows.filter(({ state }) => state === 'ended');
    addTo(leftOut, LEFT_OUT_TEXT.running, rows.length - ended.length);
    const whole = ended.filter(({ trimmed }) => trimmed !== true);
    addTo(leftOut, 'their trajectories were trimmed', ended.length - whole.length);
    const plan = planAttempts(whole, nullReward);
    for (const [why, count] of Object.entries(plan.left_out)) addTo(leftOut, why, count);
    const picked = pickedAttempts(format, plan.attempts, (why, count = 1) => addTo(leftOut, why, count));
    return new Export(api, { ...facts, groups: plan.groups }, { format, attempts: picked }, leftOut, signal);
  }

  /** Yields the file in parts, and counts in `counts`. Call it once. */
  async *bytes(): AsyncGenerator<Uint8Array> {
    await this.#record();
    if (!('format' in this.#plan)) {
      yield* this.#csv(this.#plan);
      return;
    }
    const lines = this.#lines(this.#plan.attempts);
    if (this.#plan.format.file === 'parquet') {
      yield* parquetOf(lines, GROUP_COLUMNS);
      return;
    }
    let text = '';
    for await (const line of lines) {
      text += `${JSON.stringify(line)}\n`;
      if (text.length < PART) continue;
      yield Buffer.from(text);
      text = '';
    }
    if (text !== '') yield Buffer.from(text);
  }

  /** Tells the server, whose record says who exported what. */
  async #record(): Promise<void> {
    const format = 'format' in this.#plan ? this.#plan.format.id : 'csv';
    for (const { batch } of this.batches) {
      try {
        await this.#api.exported(batch, { format, attempts: this.attempts }, this.#signal);
      } catch (error) {
        // A saved page, an earlier version, or a store that is only read keeps no record.
        if (!StudioError.is(error) || !NO_RECORD.has(error.code)) throw error;
      }
    }
  }

  /**
   * Returns the first lines, as they would be written, and the estimated size of the file in bytes. `attempts`: how
   * many to read.
   */
  async preview(attempts: number): Promise<{ readonly lines: readonly string[]; readonly bytes: number }> {
    const lines: string[] = [];
    if (!('format' in this.#plan)) {
      let csv = '';
      for await (const part of this.#csv(this.#plan.slice(0, attempts))) csv += Buffer.from(part).toString('utf8');
      lines.push(...csv.split('\r\n').filter((line) => line !== ''));
    } else {
      for await (const line of this.#lines(this.#plan.attempts.slice(0, attempts))) lines.push(JSON.stringify(line));
    }
    const read = lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
    return { lines, bytes: Math.round((read / Math.max(1, Math.min(attempts, this.attempts))) * this.attempts) };
  }

  #lines(attempts: readonly PlannedAttempt[]): AsyncGenerator<JsonObject> {
    if (!('format' in this.#plan)) throw new TypeError('a table has no lines');
    return trainingLines(this.#api, this.#plan.format, attempts, this.redaction, this.counts, this.#signal);
  }

  #csv(rows: readonly RolloutRow[]): AsyncIterable<Uint8Array> {
    const { counts, redaction } = this;
    const batches = new Map(
      this.batches.map(({ batch }) => [batch, new ExportedAttempts(this.#api, batch, this.#signal)]),
    );
    const counted = async function* (): AsyncGenerator<RolloutRow> {
      for (const row of rows) {
        counts.attempts++;
        counts.lines++;
        yield await Promise.resolve(row);
      }
    };
    const members = membersOf('format' in this.#plan ? [] : this.#plan);
    return attemptsCsv(counted(), async (row) => {
      const member = members.get(row);
      const attempt = (await batches.get(row.batch)?.complete(row)) ?? { row };
      return redaction.json(member === undefined ? attempt : { ...attempt, member });
    });
  }
}

function selectsOf(format: TrainingFormat | undefined): Selection {
  // A table also lists attempts that have not ended.
  return format === undefined ? { outcomes: [...OUTCOMES] } : (format.selects ?? {});
}

function ruleOf(format: TrainingFormat | undefined, rule: NullRule | undefined): NullRule | undefined {
  if (format === undefined) {
    if (rule !== undefined)
      throw new StudioError('usage', 'A table has no rule for null rewards: their cells are empty.');
    return undefined;
  }
  if (rule !== undefined && !format.nullRules.includes(rule))
    throw new StudioError('usage', `The format ${format.id} has no rule ${rule} for null rewards.`, {
      hint: `Available: ${format.nullRules.join(', ')}.`,
    });
  return rule ?? format.nullRules[0];
}

function requireFormat(id: string): TrainingFormat {
  const format = trainingFormat(id);
  if (format === undefined)
    throw new StudioError('usage', `There is no format ${id}.`, {
      hint: `Available: ${EXPORT_FORMATS.map((one) => one.id).join(', ')}.`,
    });
  return format;
}

/** A replaced member that was selected counts in its group. */
function counted(row: RolloutRow): RolloutRow {
  const { replaced = false, ...progress } = row.progress;
  return replaced ? { ...row, progress } : row;
}
