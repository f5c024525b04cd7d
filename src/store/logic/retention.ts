/** Which ended batches the rules of a server remove. */

import { duration } from '../../common/units.ts';
import type { RetentionFile, RetentionRule } from '../../config/schema/retentionFile.ts';
import type { CollectableBlobs } from '../blobs/content.ts';
import { int } from '../sql/row.ts';
import type { Reader, Sql } from '../sql/sql.ts';
import type { RetentionPlan } from '../store.ts';
import { batchSizes } from './batchSizes.ts';
import { type Batch, readBatch, SELECT_BATCH } from './batchState.ts';

interface Candidate {
  readonly batch: Batch;
  /** Why it goes. undefined: no rule fits. */
  why: string | undefined;
  readonly bytes: number;
}

/** See `Store.retention`. */
export async function planRetention(sql: Sql, blobs: CollectableBlobs, rules: RetentionFile): Promise<RetentionPlan> {
  const now = await sql.now();
  const batches = (await sql.read((db) => db.all(`${SELECT_BATCH} WHERE gone = 0 ORDER BY id`))).map(readBatch);
  const sizes = await batchSizes(sql, blobs);
  const needed = await neededBatches(sql, batches);
  const candidates: Candidate[] = [];
  for (const batch of batches) {
    if (batch.endedAt === null || needed.has(batch.id)) continue;
    const rule = await firstRule(sql, batch, rules.rules, now);
    if (rule?.keep === undefined)
      candidates.push({
        batch,
        bytes: sizes.get(batch.id) ?? 0,
        why: rule === undefined ? undefined : ruleText(rule, rules.rules.indexOf(rule)),
      });
  }
  const total = [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
  if (rules.max_bytes !== undefined) await fill(sql, candidates, total, rules.max_bytes);
  const going = new Map(candidates.filter(({ why }) => why !== undefined).map((one) => [one.batch.id, one]));
  await keepParents(sql, going);
  return {
    batches: [...going.values()].map(({ batch, why = '', bytes }) => ({ batch: batch.name, why, bytes })),
    total,
  };
}

/** Batches that others need which are not removed with them: curricula, and batches being scored again. */
async function neededBatches(sql: Sql, batches: readonly Batch[]): Promise<Set<number>> {
  const running = batches.filter(({ endedAt }) => endedAt === null);
  const names = new Set(
    running.flatMap(({ spec }) => [spec.curriculum?.by, spec.rescores?.batch].filter((name) => name !== undefined)),
  );
  const needed = new Set(batches.filter(({ name }) => names.has(name)).map(({ id }) => id));
  const parents = await sql.read((db) =>
    db.all(
      `SELECT parent FROM lineage WHERE ${db.dialect.anyInt('batch')}`,
      running.map(({ id }) => id),
    ),
  );
  for (const row of parents) needed.add(int(row, 'parent'));
  return needed;
}

async function firstRule(
  sql: Sql,
  batch: Batch,
  rules: readonly RetentionRule[],
  now: number,
): Promise<RetentionRule | undefined> {
  for (const rule of rules) if (await fits(sql, batch, rule, now)) return rule;
  return undefined;
}

async function fits(sql: Sql, batch: Batch, rule: RetentionRule, now: number): Promise<boolean> {
  if (rule.age !== undefined && (batch.endedAt === null || now - batch.endedAt < rule.age * 1000)) return false;
  if (rule.name !== undefined && !matchesName(batch.spec.name, rule.name)) return false;
  if (rule.user !== undefined && batch.spec.by !== rule.user) return false;
  if (rule.imported !== undefined && batch.spec.imported !== rule.imported) return false;
  if (rule.stopped !== undefined && (batch.reason !== null && batch.reason !== 'done') !== rule.stopped) return false;
  if (rule.shared !== undefined && isShared(batch) !== rule.shared) return false;
  return rule.labeled === undefined || (await sql.read((db) => isLabeled(db, batch))) === rule.labeled;
}

/** `*` stands for any text. */
export function matchesName(name: string, pattern: string): boolean {
  const parts = pattern.split('*');
  const [first = '', ...rest] = parts;
  if (rest.length === 0) return name === pattern;
  if (!name.startsWith(first)) return false;
  const last = rest.pop() ?? '';
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}

function isShared({ shared }: Batch): boolean {
  return shared === 'everyone' || shared.length > 0;
}

/** Whether a person judged one of its attempts. */
async function isLabeled(db: Reader, { id }: Batch): Promise<boolean> {
  const row = await db.get('SELECT id FROM rollout WHERE batch = ? AND progress LIKE ? LIMIT 1', id, '%"person:%');
  return row !== undefined;
}

/** Adds the oldest batches until the rest is small enough. */
async function fill(sql: Sql, candidates: readonly Candidate[], total: number, most: number): Promise<void> {
  let left = total - candidates.reduce((sum, { why, bytes }) => sum + (why === undefined ? 0 : bytes), 0);
  const oldest = candidates
    .filter(({ why }) => why === undefined)
    .sort((a, b) => (a.batch.endedAt ?? 0) - (b.batch.endedAt ?? 0));
  for (const candidate of oldest) {
    if (left <= most) return;
    if (isShared(candidate.batch) || (await sql.read((db) => isLabeled(db, candidate.batch)))) continue;
    candidate.why = `the store has more than max_bytes (${most} bytes), and this is one of the oldest batches`;
    left -= candidate.bytes;
  }
}

/** A batch stays while one that reads its events stays. */
async function keepParents(sql: Sql, going: Map<number, Candidate>): Promise<void> {
  const forks = await sql.read((db) =>
    db.all(
      `SELECT l.parent AS parent, l.batch AS batch FROM lineage l JOIN batch b ON b.id = l.batch
        WHERE b.gone = 0 AND ${db.dialect.anyInt('l.parent')}`,
      [...going.keys()],
    ),
  );
  for (let hasChanged = true; hasChanged; ) {
    hasChanged = false;
    for (const fork of forks)
      if (!going.has(int(fork, 'batch')) && going.delete(int(fork, 'parent'))) hasChanged = true;
  }
}

/** Keys of a rule that its reason does not list as conditions. */
const APART: ReadonlySet<string> = new Set(['keep', 'delete', 'age']);

/** Returns a rule as a reason: `rule 2: age 30 d, name nightly-*`. */
function ruleText(rule: RetentionRule, index: number): string {
  const { age } = rule;
  const conditions = Object.entries(rule)
    .filter(([name, value]) => value !== undefined && !APART.has(name))
    .map(([name, value]) => `${name} ${String(value)}`);
  const old = age === undefined ? [] : [`ended more than ${duration(age * 1000)} ago`];
  return `rule ${index + 1}: ${[...old, ...conditions].join(', ')}`;
}
