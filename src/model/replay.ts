/** A model that returns recorded replies, in order for each agent, and contacts no endpoint. */
import type { ModelClient, ModelReply } from '../rollout/ports.ts';
import { ClassedError } from '../trace/classedError.ts';
import type { Recording } from '../trace/replay.ts';

const SAID = { ms: 0, retries: [], source: 'recorded', whyNot: 'the reply is recorded' } as const;

/** Returns the model of all agents of a rollout that replays a recording. */
export function replayModel(read: () => Promise<Recording>): ModelClient {
  let reading: Promise<Recording> | undefined;
  return {
    complete: async (_request, { caller }): Promise<ModelReply> => {
      const recording = await (reading ??= read());
      if (caller === undefined) throw new Error('only rollouts replay recordings');
      const { path, call } = caller;
      const replies = recording.replies[path] ?? [];
      const reply = replies[call - 1];
      if (recording.done === true && call === replies.length + 1) return { ...SAID, parts: [], finishReason: 'stop' };
      if (reply === undefined) throw endOf(recording);
      if ('error' in reply) throw new ClassedError(reply.error.class, reply.error.message);
      const { parts, finish_reason: finishReason = 'stop' } = reply;
      return { ...SAID, parts, finishReason };
    },
  };
}

/** Where a recording ends before its agents did, its replay ends the same way. */
function endOf({ error }: Recording): ClassedError {
  return error === undefined || error.class === 'infrastructure' || error.class === 'cancelled'
    ? new ClassedError('limit', `The recording ends here${error === undefined ? '.' : `: ${error.message}`}`, {
        fatal: true,
      })
    : new ClassedError(error.class, error.message, { fatal: true });
}
