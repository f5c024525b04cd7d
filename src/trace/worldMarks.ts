/** Marks on calls of a world: what a person would look at first. */
import { isSameJson, type Json } from '../common/json.ts';
import { type ChangeLog, rowName } from './model/changes.ts';
import type { ToolSpan } from './model/spans.ts';
import type { TrajectoryModel } from './model.ts';
import type { Change, Check } from './schema.ts';

export interface WorldMark {
  /** `unchanged`: it succeeded but changed nothing. `unrelated`: it changed rows that the task does not touch. */
  readonly kind: 'unchanged' | 'unrelated';
  /** The rows in question, such as `loans L-3001`. */
  readonly rows: readonly string[];
}

/**
 * Returns what is notable about the changes of a call: it succeeded but changed nothing, although its effect is not
 * `pure` and the world reports changes; or, in an attempt that did not pass, it changed rows that no check names, or
 * that a check expects as they were at the start, and that still differ at the end.
 */
export function worldMark(model: TrajectoryModel, span: ToolSpan): WorldMark | undefined {
  const changes = model.diffsOf(span.seq).flatMap(({ data }) => data.changes);
  if (changes.length === 0)
    return span.start.data.effect !== 'pure' && span.end?.data.status === 'ok' && isReportedFor(model, span)
      ? { kind: 'unchanged', rows: [] }
      : undefined;
  const score = model.scores.at(-1)?.data;
  const checks = score?.checks?.filter(({ row }) => row !== undefined) ?? [];
  if (score?.passed !== false || checks.length === 0) return undefined;
  const final = finalRows(model);
  const rows = changes.flatMap((change) => {
    const net = final.get(rowName(change));
    if (net === undefined || isSameJson(net.before ?? null, net.after ?? null)) return [];
    const own = checks.filter((check) => isOf(check, change));
    return own.every(isLeftAlone) ? [`${change.table ?? change.file ?? 'row'} ${keyText(change.key)}`] : [];
  });
  return rows.length === 0 ? undefined : { kind: 'unrelated', rows };
}

/** By model: the rows that differ at its end, for lists that ask for many calls. */
const finals = new WeakMap<TrajectoryModel, { readonly last: number; readonly rows: ReturnType<ChangeLog['at']> }>();

function finalRows(model: TrajectoryModel): ReturnType<ChangeLog['at']> {
  const { last } = model;
  const known = finals.get(model);
  if (known?.last === last) return known.rows;
  const rows = model.worldChanges.at(last);
  finals.set(model, { last, rows });
  return rows;
}

/** Whether a call of the same effect changed something: the world reports changes, then, for such tools. */
function isReportedFor(model: TrajectoryModel, { start }: ToolSpan): boolean {
  return model.diffs.some(({ span }) => {
    const call = span === undefined ? undefined : model.span(span);
    return call?.kind === 'tool' && call.start.data.effect === start.data.effect;
  });
}

/** Whether a check expects its row as it was at the start. */
function isLeftAlone({ row, expected = null }: Check): boolean {
  return row !== undefined && isSameJson(expected, row.before ?? null);
}

function isOf({ row }: Check, { table, key }: Change): boolean {
  return row !== undefined && row.table === table && keyText(row.key) === keyText(key);
}

/** A verifier may write a number as text. */
function keyText(key: Json): string {
  return typeof key === 'string' ? key : JSON.stringify(key);
}
