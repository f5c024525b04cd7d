/** Builds the items of the Worlds view: world files, their scenarios, and their tasks. */
import type { ScenarioSummary } from '../../../client/published/worlds.ts';
import { oneLine, plural } from '../../../common/text.ts';
import type { BatchRow } from '../../../protocol/client.ts';
import type { ToolCount, WorldRef } from '../../worlds/worldRef.ts';
import { passRateText } from '../batches/batchNodes.ts';
import type { ItemContent } from '../itemContent.ts';

/** Longer texts of tasks are cut; the tooltip has the whole text. */
const MAX_LABEL = 80;
/** Recordings that a tooltip lists. */
const MAX_LISTED = 10;
/** Names of the kinds of worlds for people. */
export const KIND_NAMES: Readonly<Record<string, string>> = {
  module: 'TypeScript',
  code: 'code',
};

/** Why not all tools of a world are counted. */
export const READ_AT_LAUNCH = 'Tools of MCP servers and recordings are read when a batch is submitted.';

/** Returns e.g. `9 tools`, `3+ tools` if more are read when a batch is submitted, or nothing. */
export function toolCountText({ known, complete }: ToolCount): string {
  return complete ? plural(known, 'tool') : known === 0 ? '' : `${known}+ tools`;
}

/** A task of a world: of its published scenario, or of the batches that use the world. */
export interface WorldTask {
  readonly id: string;
  readonly text: string;
}

/** `scenarios`: their number, for a folder that was read. `last`: the newest batch that used the world. */
export function worldItem(ref: WorldRef, scenarios: number | undefined, last: BatchRow | undefined): ItemContent {
  const description = [
    KIND_NAMES[ref.kind] ?? ref.kind,
    ref.simulation?.domain ?? '',
    ref.tools === undefined ? '' : toolCountText(ref.tools),
    ref.scenario ?? (scenarios === undefined ? '' : plural(scenarios, 'scenario')),
    ref.recordings === undefined ? '' : plural(ref.recordings.length, 'recording'),
    last === undefined ? '' : passRateText(last),
  ]
    .filter((part) => part !== '')
    .join(' · ');
  return {
    label: ref.name,
    description,
    tooltip: [
      ref.path,
      ref.from,
      ...(ref.recordings ?? []).slice(0, MAX_LISTED),
      last === undefined ? undefined : `Last batch: ${last.name}`,
      ref.tools?.complete === false ? READ_AT_LAUNCH : undefined,
      ref.problem,
    ]
      .filter((line) => line !== undefined)
      .join('\n'),
    icon: ref.problem === undefined ? { id: 'globe' } : { id: 'warning', color: 'list.warningForeground' },
    context: ref.simulation !== undefined ? 'world.simulated' : ref.from === undefined ? 'world' : 'world.scenarios',
    ariaLabel: `World ${ref.name}${description === '' ? '' : `, ${description}`}`,
  };
}

export function scenarioItem({ key, name, description, tasks }: ScenarioSummary): ItemContent {
  const count = tasks.length === 0 ? 'no tasks' : plural(tasks.length, 'task');
  return {
    label: name,
    description: [key === name ? '' : key, count].filter((part) => part !== '').join(' · '),
    tooltip: description === '' ? name : `${name}\n${description}`,
    icon: { id: 'database' },
    context: 'scenario',
    ariaLabel: `Scenario ${name}, ${count}`,
  };
}

export function worldTaskItem({ id, text }: WorldTask): ItemContent {
  const label = oneLine(text === '' ? id : text, MAX_LABEL);
  return {
    label,
    description: text === '' ? '' : id,
    tooltip: text === '' ? id : text,
    icon: { id: 'checklist' },
    context: 'worldTask',
    ariaLabel: `Task ${text === '' ? label : `${id}, ${label}`}`,
  };
}

/** `hint`: what to do. */
export function noteItem(text: string, hint: string, isProblem: boolean): ItemContent {
  return {
    label: text,
    tooltip: hint === '' ? text : `${text}\n${hint}`,
    icon: isProblem ? { id: 'warning', color: 'list.warningForeground' } : { id: 'info' },
    ariaLabel: `${text} ${hint}`.trim(),
  };
}
