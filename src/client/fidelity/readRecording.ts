/** Reads recorded rollouts in the form in which a batch replays them. */
import { z } from 'zod';
import { sha256Hex } from '../../common/hash.ts';
import { canonicalJson } from '../../common/json.ts';
import { agentsOf, handoffToolName, type Submission } from '../../config/submission.ts';
import type { Api } from '../../protocol/api.ts';
import { TrajectoryModel } from '../../trace/model.ts';
import { type RecordedTool, type Recording, recordedTool, recordingOf } from '../../trace/replay.ts';
import { unspill } from '../../trace/spill.ts';
import { readEvent } from '../../trace/upgrades.ts';

export interface ReadRecording {
  readonly recording: Recording;
  readonly sha: string;
  readonly bytes: Uint8Array;
}

const tools = z.array(recordedTool);

/**
 * Reads a rollout with all its values. `original`: its submission; without one (an imported recording), one agent with
 * the name `alone` makes the calls of all.
 */
export async function readRecording(
  api: Api,
  rollout: string,
  original: Submission | undefined,
  alone: string,
  signal: AbortSignal,
): Promise<ReadRecording> {
  const model = new TrajectoryModel();
  const read = ({ $blob }: { readonly $blob: string }): Promise<Uint8Array> => api.getBlob($blob, signal);
  for await (const page of api.allEvents(rollout, signal))
    model.push(await Promise.all(page.map((event) => unspill(readEvent(event), read))));
  const recording = recordingOf(model, {
    tools: await seenTools(api, model, signal),
    without: original === undefined ? new Set() : teamTools(original),
    ...(original === undefined ? { only: alone } : {}),
  });
  const bytes = new TextEncoder().encode(canonicalJson(recording));
  return { recording, sha: sha256Hex(bytes), bytes };
}

/** Returns the tools that models saw, each once. */
export async function seenTools(api: Api, model: TrajectoryModel, signal: AbortSignal): Promise<RecordedTool[]> {
  const lists = new Set(
    model.events.flatMap((event) =>
      event.kind === 'model.start' && !('unknown' in event) && event.data.tools !== undefined ? [event.data.tools] : [],
    ),
  );
  const byName = new Map<string, RecordedTool>();
  for (const sha of lists) {
    const list = tools.safeParse(JSON.parse(new TextDecoder().decode(await api.getBlob(sha, signal))));
    for (const tool of list.data ?? []) byName.set(tool.name, tool);
  }
  return [...byName.values()];
}

/** Returns the names of tools that the agent loop answers: those with which agents call each other, and the answer. */
function teamTools(submission: Submission): Set<string> {
  const agents = agentsOf(submission);
  const own = new Set<string>();
  for (const { team, answer, name } of agents) {
    for (const member of team?.members ?? []) {
      own.add(team?.kind === 'handoff' ? handoffToolName(member.name) : member.name);
    }
    if (team?.kind === 'handoff') own.add(handoffToolName(name));
    if (answer.kind === 'tool') own.add(answer.tool);
  }
  return own;
}
