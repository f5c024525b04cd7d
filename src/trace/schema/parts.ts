/** The parts of messages, and references to stored blobs. Import them from `schema.ts`. */
import { z } from 'zod';
import type { Json } from '../../common/json.ts';

export const int = z.number().int();
export const sha = z.string().regex(/^[0-9a-f]{64}$/, 'a sha256 in lower-case hex');
export const json: z.ZodType<Json> = z.unknown() as unknown as z.ZodType<Json>; // from JSON.parse

/** A reference to a value that is stored as a blob. A user's own key that starts with `$` is stored as `$$…`. */
export const blobRef = z.object({
  $blob: sha,
  /** Size of the blob. */
  bytes: int.min(0),
  /** Media type; `application/json` for a value of an event. */
  media: z.string(),
  /** Its first characters, for people; at most 1,024. */
  head: z.string(),
});
export type BlobRef = z.infer<typeof blobRef>;

/** Message parts as in OpenTelemetry's GenAI conventions. */
export const part = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), content: z.union([z.string(), blobRef]) }),
  z.object({ type: z.literal('reasoning'), content: z.union([z.string(), blobRef]) }),
  /** `arguments`: a value, or the model's text if it could not be parsed. */
  z.object({ type: z.literal('tool_call'), id: z.string(), name: z.string(), arguments: json }),
  z.object({ type: z.literal('tool_call_response'), id: z.string(), response: json }),
  /** `content`: base64, or a reference. `modality`: image, audio, video. */
  z.object({
    type: z.literal('blob'),
    mime_type: z.string(),
    modality: z.string().optional(),
    content: z.union([z.string(), blobRef]),
  }),
  z.object({
    type: z.literal('uri'),
    uri: z.string(),
    mime_type: z.string().optional(),
    modality: z.string().optional(),
  }),
]);
export type Part = z.infer<typeof part>;
