/** Stores the reply to a command, so that a repeated request gets the same reply. */
import { z } from 'zod';
import { errorCodeOf, StudioError } from '../../common/errors.ts';
import type { Json } from '../../common/json.ts';
import { type CommandReply, commandReply } from '../../protocol/commands.ts';

const stored = z.union([
  z.object({ reply: commandReply }),
  z.object({ error: z.object({ code: z.string(), message: z.string() }) }),
]);

/** Formats a reply for the store. Undefined members are left out: JSON cannot represent them. */
export function commandDone(reply: { [name in keyof CommandReply]?: CommandReply[name] | undefined }): Json {
  return {
    reply: {
      ...(reply.seq === undefined ? {} : { seq: reply.seq }),
      ...(reply.text === undefined ? {} : { text: reply.text }),
      ...(reply.changed === undefined ? {} : { changed: reply.changed }),
      ...(reply.inspector === undefined ? {} : { inspector: reply.inspector }),
    },
  };
}

export function commandFailed(error: { code: string; message: string }): Json {
  return { error: { code: error.code, message: error.message } };
}

/** Returns the stored reply, or throws the stored failure. */
export function replyOf(result: Json): CommandReply {
  const parsed = stored.parse(result);
  if ('reply' in parsed) return parsed.reply;
  const { code, message } = parsed.error;
  throw new StudioError(errorCodeOf(code, 'conflict'), message);
}
