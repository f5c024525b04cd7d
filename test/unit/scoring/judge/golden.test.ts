/** Replies, and what the published evaluation code reads in them: see test/fixtures/agent-world-bench/README.md. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import { z } from 'zod';
import { observationOf } from '../../../../src/common/observation.ts';
import { MARK_SCALE, marksOf } from '../../../../src/scoring/judge/marks.ts';
import { WORLD_MARKS } from '../../../../src/trace/schema/prediction.ts';

const judged = z.object({
  reply: z.string(),
  success: z.boolean(),
  marks: z.record(z.string(), z.number()),
  total: z.number(),
  strengths: z.array(z.string()),
  weaknesses: z.array(z.string()),
});
const observed = z.object({ reply: z.string(), observation: z.string() });

function golden<T>(name: string, schema: z.ZodType<T>): T[] {
  const file = path.join(import.meta.dirname, '../../../fixtures/agent-world-bench', name);
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => schema.parse(JSON.parse(line)));
}

it('reads marks as the published evaluation does', () => {
  const rows = golden('judged.jsonl', judged);
  assert.ok(rows.length >= 700 && rows.filter(({ success }) => success).length >= 300);
  for (const { reply, success, marks, total } of rows) {
    const found = marksOf(reply, WORLD_MARKS, MARK_SCALE);
    assert.deepEqual(
      { success: found !== undefined, marks: found?.marks ?? {}, total: found?.total ?? 0 },
      { success, marks, total },
      reply,
    );
  }
});

it('keeps all reasons that the published evaluation keeps', () => {
  let more = 0;
  for (const { reply, success, strengths, weaknesses } of golden('judged.jsonl', judged)) {
    const found = marksOf(reply, WORLD_MARKS, MARK_SCALE);
    if (!success || found === undefined) continue;
    if (strengths.length > 0) assert.deepEqual(found.strengths, strengths, reply);
    if (weaknesses.length > 0) assert.deepEqual(found.weaknesses, weaknesses, reply);
    if (found.strengths.length > strengths.length) more++;
  }
  // It loses them where its repair breaks a text such as "good, note: fine".
  assert.ok(more > 0);
});

it('reads observations as the published evaluation does', () => {
  const rows = golden('observed.jsonl', observed);
  assert.ok(rows.length >= 400);
  for (const { reply, observation } of rows)
    assert.equal(observationOf(reply) ?? '', observation === 'No output' ? '' : observation, reply);
});
