/**
 * The published files of Agent-World: for each environment a folder of JSON collections, a checkpoint with its tools as
 * Python functions, and, for some, a file with questions.
 */
import { z } from 'zod';

/** The folder of environments, and that of questions, next to each other. */
export const AGENT_WORLD_FOLDERS = { environments: 'environment_mix', questions: 'questions' } as const;
/** What follows the ID of an environment in the name of its checkpoint. */
export const CHECKPOINT_END = '_step4_checkpoint.json';

export const agentWorldCheckpoint = z.object({
  data: z.object({
    ToolDesignAgent: z.object({
      tool_schemas: z.array(
        z.object({
          name: z.string(),
          description: z.string().default(''),
          /** A JSON Schema. */
          parameters: z.record(z.string(), z.unknown()).optional(),
          implementation: z.string(),
        }),
      ),
    }),
  }),
  metadata: z.object({ name: z.string().optional(), description: z.string().default('') }).default({ description: '' }),
});
export type AgentWorldCheckpoint = z.infer<typeof agentWorldCheckpoint>;

export const agentWorldQuestions = z.object({
  env_id: z.string().optional(),
  name: z.string().optional(),
  tasks: z.array(
    z.object({
      task: z.string(),
      reference_answer: z.unknown(),
      grading_rubric: z
        .object({
          success_criteria: z.array(z.string()).default([]),
          /** The calls of a solution. */
          verified_tool_chain: z.array(z.looseObject({ tool: z.string().optional() })).default([]),
        })
        .optional(),
    }),
  ),
});
export type AgentWorldQuestions = z.infer<typeof agentWorldQuestions>;
