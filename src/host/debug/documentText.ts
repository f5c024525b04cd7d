/** The text of a rollout's document. */
import type * as vscode from 'vscode';
import { z } from 'zod';
import { TrajectoryDocument } from '../../debug/sources/trajectoryDocument.ts';
import { TrajectoryModel } from '../../trace/model.ts';
import { readEvent } from '../../trace/upgrades.ts';
import type { ServerLink } from '../services.ts';

const answer = z.object({ text: z.string() });

/** From the session that debugs the rollout, else as it is in the store. */
export async function documentText(
  rollout: string,
  sessions: Iterable<vscode.DebugSession>,
  server: ServerLink,
  signal: AbortSignal,
): Promise<string> {
  // Lines are the debugger's own while it looks at the rollout.
  for (const session of sessions) {
    const given = answer.safeParse(
      await session.customRequest('text', { rollout }).then(
        (text: unknown) => text,
        () => undefined,
      ),
    ); // another one debugs it
    if (given.success) return given.data.text;
  }
  const { api } = await server.connection({ signal });
  const model = new TrajectoryModel();
  for await (const page of api.allEvents(rollout, signal)) model.push(page.map((event) => readEvent(event)));
  return new TrajectoryDocument(
    model,
    `${model.start?.data.task ?? ''} · attempt ${model.start?.data.attempt ?? 1} · ${rollout}`,
  ).text;
}
