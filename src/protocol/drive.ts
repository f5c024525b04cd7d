/** What a driven world and its driver say to each other, one JSON document per line (`rollout world drive`). */
import { z } from 'zod';
import type { Json } from '../common/json.ts';
import { check } from '../trace/schema.ts';
import { listedTool, triedCall } from './tryPage.ts';

const json = z.unknown() as unknown as z.ZodType<Json>; // lines contain only JSON
const number = z.int().min(0);

/** How a driven session is kept. */
export const KEPT_AS = ['demonstration', 'solution', 'test'] as const;
export type KeptAs = (typeof KEPT_AS)[number];

/** A state of the session: what a call led to. State 0 is the start. */
export const driveState = z.object({
  state: number,
  /** The state in which the call was made. Absent: the start. */
  parent: number.optional(),
  tool: z.string().optional(),
  arguments: json.optional(),
  /** Rows that the call changed. */
  rows: number,
});
export type DriveState = z.infer<typeof driveState>;

export const driveVerdict = z.object({
  /** The state that was judged. */
  state: number,
  value: z.number().nullable(),
  passed: z.boolean().nullable(),
  parts: z.record(z.string(), z.number()).optional(),
  checks: z.array(check).optional(),
  explanation: z.string().optional(),
});
export type DriveVerdict = z.infer<typeof driveVerdict>;

export const driveRequest = z.discriminatedUnion('op', [
  z.object({ id: number, op: z.literal('call'), tool: z.string(), arguments: json.default({}) }),
  /** Goes back, or to another branch. The next call there starts a branch. */
  z.object({ id: number, op: z.literal('go'), state: number }),
  /** Begins a branch in the current state: a state without a call. */
  z.object({ id: number, op: z.literal('branch') }),
  z.object({ id: number, op: z.literal('verify'), answer: json.optional() }),
  /** Writes the path from the start to the current state. `file`: default: next to the world file. */
  z.object({
    id: number,
    op: z.literal('keep'),
    as: z.enum(KEPT_AS),
    file: z.string().optional(),
    answer: json.optional(),
  }),
  z.object({ id: number, op: z.literal('states') }),
]);
export type DriveRequest = z.infer<typeof driveRequest>;

export const driveMessage = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('opened'),
    world: z.string(),
    /** The batch file. Absent: the tasks are those of a published scenario. */
    batch: z.string().optional(),
    task: z.string(),
    question: z.string(),
    seed: number,
    canVerify: z.boolean(),
    canSnapshot: z.boolean(),
    tools: z.array(listedTool),
  }),
  /** A call was made. `state`: where the session is now. */
  z.object({ type: z.literal('called'), id: number, state: number, states: z.array(driveState), call: triedCall }),
  z.object({ type: z.literal('at'), id: number, state: number, states: z.array(driveState) }),
  z.object({ type: z.literal('verdict'), id: number, verdict: driveVerdict }),
  z.object({ type: z.literal('kept'), id: number, as: z.enum(KEPT_AS), file: z.string() }),
  z.object({ type: z.literal('failed'), id: number.optional(), message: z.string(), hint: z.string().optional() }),
  /** What the world printed. */
  z.object({ type: z.literal('log'), text: z.string() }),
]);
export type DriveMessage = z.infer<typeof driveMessage>;
