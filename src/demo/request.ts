import { z } from 'zod';

const textPart = z.object({ type: z.string(), text: z.string().optional() });

const chatMessage = z.object({
  role: z.string(),
  content: z.union([z.string(), z.array(textPart)]).nullish(),
  reasoning: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  tool_calls: z
    .array(z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }))
    .nullish(),
  tool_call_id: z.string().nullish(),
});
export type ChatMessage = z.infer<typeof chatMessage>;

const chatTool = z.object({ type: z.literal('function'), function: z.looseObject({ name: z.string() }) });

/** The fields of `POST /v1/chat/completions` that the demo model uses. Others are accepted and ignored. */
export const chatRequest = z.object({
  model: z.string().nullish(),
  messages: z.array(chatMessage).min(1),
  tools: z.array(chatTool).nullish(),
  tool_choice: z.unknown().optional(),
  temperature: z.number().nullish(),
  seed: z.number().int().nullish(),
  max_tokens: z.number().int().nullish(),
  max_completion_tokens: z.number().int().nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  n: z.number().int().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.number().int().nullish(),
  return_token_ids: z.boolean().nullish(),
  request_id: z.string().nullish(),
});
export type ChatRequest = z.infer<typeof chatRequest>;

export const tokenizeRequest = z.object({
  prompt: z.string().optional(),
  messages: z.array(chatMessage).optional(),
  tools: z.array(chatTool).nullish(),
  add_generation_prompt: z.boolean().optional(),
});

export const detokenizeRequest = z.object({ tokens: z.array(z.int().min(0)).max(1_000_000) });

/** Returns the text of a message, whatever form its content has. */
export function contentText(message: ChatMessage): string {
  if (typeof message.content === 'string') return message.content;
  return (message.content ?? []).map((part) => part.text ?? '').join('');
}
