/** The Worlds view: world files, the scenarios of published worlds in pages, and tasks. Runs nothing. */
import * as vscode from 'vscode';
import type { ScenarioSummary } from '../../../client/published/worlds.ts';
import { errorText, StudioError } from '../../../common/errors.ts';
import { plural } from '../../../common/text.ts';
import type { BatchRow } from '../../../protocol/client.ts';
import { pathOf } from '../../files/workspaceFiles.ts';
import type { PromptPartRef, SimulationRef } from '../../worlds/simulationRef.ts';
import type { WorkspaceWorld, WorkspaceWorlds } from '../../worlds/workspaceWorlds.ts';
import { openPlace, previewPrompt, treeItem } from '../treeItem.ts';
import { noteItem, scenarioItem, type WorldTask, worldItem, worldTaskItem } from './worldNodes.ts';

/** Scenarios that are added at once. */
const PAGE = 100;
export const MORE_SCENARIOS = 'rollout.view.moreScenarios';

export interface WorldNode {
  readonly kind: 'world';
  readonly world: WorkspaceWorld;
}
export interface ScenarioNode {
  readonly kind: 'scenario';
  readonly world: WorkspaceWorld;
  readonly scenario: ScenarioSummary;
}
interface PromptNode {
  readonly kind: 'prompt';
  readonly world: WorkspaceWorld;
  readonly simulation: SimulationRef;
}
interface PartNode {
  readonly kind: 'part';
  readonly world: WorkspaceWorld;
  readonly part: PromptPartRef;
}
interface TaskNode {
  readonly kind: 'task';
  readonly world: WorkspaceWorld;
  readonly scenario?: ScenarioSummary;
  readonly task: WorldTask;
}
export interface MoreNode {
  readonly kind: 'more';
  readonly of: WorldNode;
  readonly left: number;
}
interface NoteNode {
  readonly kind: 'note';
  readonly text: string;
  readonly hint: string;
  readonly isProblem: boolean;
}
type Node = WorldNode | PromptNode | PartNode | ScenarioNode | TaskNode | MoreNode | NoteNode;

export class WorldTree implements vscode.TreeDataProvider<Node> {
  readonly #worlds: WorkspaceWorlds;
  readonly #changed = new vscode.EventEmitter<Node | undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  /** By path of the world file: how many scenarios are listed. */
  readonly #listed = new Map<string, number>();
  /** By path of the world file, once its folder was read. */
  readonly #counts = new Map<string, number>();
  /** Worlds that are listed. */
  #shown: readonly WorkspaceWorld[] = [];
  readonly #last = new Map<string, BatchRow | undefined>();

  constructor(worlds: WorkspaceWorlds) {
    this.#worlds = worlds;
  }

  /** Reads the files again. */
  refresh(): void {
    this.#counts.clear();
    this.#changed.fire(undefined);
  }

  /** Called when the list of batches changed. */
  batchesChanged(): void {
    if (this.#shown.length > 0) void this.#findLast(this.#shown);
  }

  dispose(): void {
    this.#changed.dispose();
  }

  loadMore({ of }: MoreNode): void {
    const { path } = of.world.ref;
    this.#listed.set(path, (this.#listed.get(path) ?? PAGE) + PAGE);
    this.#changed.fire(of);
  }

  getTreeItem(node: Node): vscode.TreeItem | Promise<vscode.TreeItem> {
    switch (node.kind) {
      case 'world': {
        const { uri, ref } = node.world;
        const item = treeItem(worldItem(ref, this.#counts.get(ref.path), this.#last.get(ref.path)), 'closed', ref.path);
        item.resourceUri = uri;
        item.command = { command: 'rollout.openWorld', title: 'Open World', arguments: [node] };
        return item;
      }
      case 'prompt':
      case 'part':
        return promptTreeItem(node);
      case 'scenario': {
        const { world, scenario } = node;
        const state = scenario.tasks.length === 0 ? 'none' : 'closed';
        const item = treeItem(scenarioItem(scenario), state, `${world.ref.path}/${scenario.key}`);
        item.command = { command: 'rollout.openWorld', title: 'Open World', arguments: [node] };
        return item;
      }
      case 'task': {
        const item = treeItem(worldTaskItem(node.task), 'none');
        item.command = { command: 'rollout.openWorld', title: 'Open World', arguments: [node] };
        return item;
      }
      case 'more': {
        const label = `Load more (${node.left} left)…`;
        const item = treeItem({ label, icon: { id: 'ellipsis' }, ariaLabel: label }, 'none');
        item.command = { command: MORE_SCENARIOS, title: 'Load More', arguments: [node] };
        return item;
      }
      case 'note':
        return treeItem(noteItem(node.text, node.hint, node.isProblem), 'none');
    }
  }

  async getChildren(node?: Node): Promise<Node[]> {
    try {
      switch (node?.kind) {
        case undefined:
          return await this.#worldNodes();
        case 'world':
          return await this.#inWorld(node);
        case 'scenario':
          return scenarioTasks(node.world, node.scenario);
        case 'prompt':
          return node.simulation.parts.map((part) => ({ kind: 'part', world: node.world, part }));
        default:
          return [];
      }
    } catch (error) {
      this.#worlds.log(`Worlds view: ${errorText(error)}`);
      const isKnown = StudioError.is(error);
      return [note(isKnown ? error.message : errorText(error), isKnown ? (error.hint ?? '') : '')];
    }
  }

  async #worldNodes(): Promise<Node[]> {
    const worlds = await this.#worlds.all();
    // Rates arrive later: the list of batches may still be loading.
    this.#shown = worlds;
    void this.#findLast(worlds);
    return worlds.map((world) => ({ kind: 'world', world }));
  }

  async #findLast(worlds: readonly WorkspaceWorld[]): Promise<void> {
    let isChanged = false;
    for (const { ref } of worlds) {
      const last = await this.#worlds.lastBatch(ref);
      if (JSON.stringify(this.#last.get(ref.path)) === JSON.stringify(last)) continue;
      this.#last.set(ref.path, last);
      isChanged = true;
    }
    if (isChanged) this.#changed.fire(undefined);
  }

  async #inWorld(of: WorldNode): Promise<Node[]> {
    const { world } = of;
    const { ref } = world;
    if (ref.from === undefined) {
      const tasks = await this.#worlds.batchTasks(ref);
      return [
        ...promptOf(world),
        ...(tasks.length === 0
          ? [note('No batch of this workspace uses it', 'Create one with Rollout: New Batch….', false)]
          : tasks.map((task): Node => ({ kind: 'task', world, task }))),
      ];
    }
    const published = await this.#worlds.published(world);
    if (this.#counts.get(ref.path) !== published.scenarios.length) {
      this.#counts.set(ref.path, published.scenarios.length);
      this.#changed.fire(of);
    }
    if (ref.scenario !== undefined) {
      const { scenarioNamed } = await import('../../../client/published/worlds.ts');
      return scenarioTasks(world, scenarioNamed(published, ref.scenario));
    }
    const shown = published.scenarios.slice(0, this.#listed.get(ref.path) ?? PAGE);
    const left = published.scenarios.length - shown.length;
    const problems = published.problems.length;
    return [
      ...(problems === 0
        ? []
        : [note(plural(problems, 'problem'), `List them with rollout world list ${pathOf(world.uri)}.`)]),
      ...shown.map((scenario): Node => ({ kind: 'scenario', world, scenario })),
      ...(left === 0 ? [] : [{ kind: 'more' as const, of, left }]),
    ];
  }
}

/** Returns the item of a prompt, or of a part of it. */
async function promptTreeItem(node: PromptNode | PartNode): Promise<vscode.TreeItem> {
  const { uri, ref } = node.world;
  const { partItem, promptItem } = await import('./promptNodes.ts');
  if (node.kind === 'prompt') {
    const item = treeItem(promptItem(node.simulation), 'closed', `${ref.path}/prompt`);
    item.command = previewPrompt(uri, '');
    return item;
  }
  const { heading, place } = node.part;
  const item = treeItem(partItem(node.part), 'none');
  item.command = place === undefined ? previewPrompt(uri, heading) : openPlace(uri, place);
  return item;
}

function promptOf(world: WorkspaceWorld): Node[] {
  const { simulation } = world.ref;
  return simulation === undefined ? [] : [{ kind: 'prompt', world, simulation }];
}

function scenarioTasks(world: WorkspaceWorld, scenario: ScenarioSummary): Node[] {
  return scenario.tasks.map((text, index) => ({
    kind: 'task',
    world,
    scenario,
    task: { id: String(index), text },
  }));
}

function note(text: string, hint: string, isProblem = true): NoteNode {
  return { kind: 'note', text, hint, isProblem };
}
