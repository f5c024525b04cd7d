/** Returns the text of a rollout's document. */
import type * as vscode from 'vscode';
import { z } from 'zod';
import { TrajectoryDocument } from '../../debug/sources/trajectoryDocument.ts';
import { TrajectoryModel } from '../../trace/model.ts';
import { readEvent } from '../../trace/upgrades.ts';
import type { ServerLink } from '../services.ts';

const textReply = z.object({ text: z.string() });

/** Reads the text from the session that debugs the rollout, or else from the store. */
export async function documentText(
  rollout: string,
  sessions: Iterable<vscode.DebugSession>,
  server: ServerLink,
  signal: AbortSignal,
): Promise<string> {
  // While a session debugs the rollout, line numbers must match the session's text.
  for (const session of sessions) {
    const reply = textReply.safeParse(
      await session.customRequest('text', { rollout }).then(
        (text: unknown) => text,
        () => undefined,
      ),
    ); // the session debugs another rollout
    if (reply.success) return reply.data.text;
  }
  const { api } = await server.connection({ signal });
  const model = new TrajectoryModel();
  for await (const page of api.allEvents(rollout, signal)) model.push(page.map((event) => readEvent(event)));
  return new TrajectoryDocument(
    model,
    `${model.start?.data.task ?? ''} · attempt ${model.start?.data.attempt ?? 1} · ${rollout}`,
  ).text;
}
