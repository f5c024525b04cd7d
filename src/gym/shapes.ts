/** What `rollout gym` takes and answers, besides rows of NeMo Gym. */
import { z } from 'zod';
import type { Json, JsonObject } from '../common/json.ts';

const json = z.unknown() as unknown as z.ZodType<Json>;
const jsonObject = z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>;

/** An index that NeMo Gym gives its rows. */
const index = z.number().int().min(0).optional();

/**
 * `POST /seed_session`: opens the tools, and the world, of a task. In a batch with a mix, `part` is the name of a part,
 * or it follows from the row's number among those of its task. Without both, it is the next part of the task. Other
 * fields are ignored.
 */
export const seedSession = z.object({
  task_id: z.string().min(1),
  part: z.string().min(1).optional(),
  _ng_rollout_index: index,
});
export type SeedSession = z.infer<typeof seedSession>;

/** Its answer. */
export const seededSession = z.object({
  session_id: z.string(),
  /** What the agent sees first: system message, the conversation before the question, and the question. */
  messages: z.array(jsonObject),
  /** Tools in the format of OpenAI's chat completions. */
  tools: z.array(jsonObject),
  /** Of a batch with a mix: the part, and how its attempts sample. */
  part: z.string().optional(),
  sampling: jsonObject.optional(),
});
export type SeededSession = z.infer<typeof seededSession>;

/** `POST /sessions/{id}/tools/{name}`: the body has the arguments. */
export const toolArguments = jsonObject;

/** Its answer: what the agent sees. `error`: the call failed; a failed call does not end the session. */
export const toolText = z.object({
  text: z.string(),
  error: z.literal(true).optional(),
  /** Images, in the format of OpenAI's chat completions: agents get them in a user message after the result. */
  images: z.array(jsonObject).optional(),
});
export type ToolText = z.infer<typeof toolText>;

/**
 * `POST /sessions/{id}/verify`: `answer` is the answer itself. `message` is the last message of the policy, in which
 * the rule `answer` of the agent file finds it. Without both, the answer is what the answer tool was called with, if
 * the agent file has one.
 */
export const verifySession = z
  .object({ answer: json.optional(), message: z.string().optional() })
  .refine(({ answer, message }) => answer === undefined || message === undefined, {
    error: 'a request has `answer` or `message`, not both',
  });
export type VerifySession = z.infer<typeof verifySession>;

/** Its answer. `reward`: null if nobody can say; it is never 0 instead. */
export const verifiedSession = z.object({
  reward: z.number().nullable(),
  reward_components: z.record(z.string(), z.number()),
  explanation: z.string().optional(),
});
export type VerifiedSession = z.infer<typeof verifiedSession>;

/** `POST /run`: a row of NeMo Gym. It comes back with the rollout. */
export const gymRow = z.looseObject({
  responses_create_params: z.looseObject({
    input: z.union([z.string(), z.array(jsonObject)], { error: 'a text, or a list of items' }),
    temperature: z.number().nullish(),
    top_p: z.number().nullish(),
    max_output_tokens: z.number().int().min(1).nullish(),
  }),
  agent_ref: z.looseObject({ name: z.string() }).optional(),
  _ng_task_index: index,
  _ng_rollout_index: index,
});
export type GymRow = z.infer<typeof gymRow>;

/** `POST /aggregate_metrics`. */
export const aggregateMetricsRequest = z.object({ verify_responses: z.array(jsonObject) });
