/** Lays out a team as boxes and lines in pixels. Does not render. */

import type { LoadedAgent } from '../../config/load/agent.ts';
import { endpointsOf } from '../../config/load/model.ts';
import { afterOf, type LoadedMember, worksItself } from '../../config/load/team.ts';

/** Source location of a box. */
export interface GraphPlace {
  readonly path: string;
  readonly line: number;
}

export interface GraphBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly name: string;
  /** The model of an agent or the kind of a team. */
  readonly detail: string;
  readonly loop: string | undefined;
  readonly team: boolean;
  readonly place: GraphPlace;
}

export interface GraphLine {
  readonly from: { readonly x: number; readonly y: number };
  readonly to: { readonly x: number; readonly y: number };
  /** Whether both ends are in the same column, so that the line curves around on the right. */
  readonly sameColumn: boolean;
}

export interface TeamGraph {
  readonly width: number;
  readonly height: number;
  /** Boxes, with teams before their members. */
  readonly boxes: readonly GraphBox[];
  readonly lines: readonly GraphLine[];
}

const NODE = { width: 168, height: 48 } as const;
const GAP = { x: 56, y: 24 } as const;
const PADDING = 20;
/** Vertical offset of lines that lead back. */
const BACK_OFFSET = 14;
/** Width of a line that curves around on the right. */
export const CURVE_WIDTH = 32;
const HEADER_HEIGHT = 40;

/** A member with its column and its successors. */
interface Node {
  readonly name: string;
  readonly graph: TeamGraph;
  readonly column: number;
  readonly next: readonly string[];
}

export function teamGraph(agent: LoadedAgent): TeamGraph {
  return graphOf(agent, { name: agent.file.name, loop: undefined, place: { path: agent.path, line: 1 } });
}

function graphOf(agent: LoadedAgent, frame: Pick<GraphBox, 'name' | 'loop' | 'place'>): TeamGraph {
  const { team, file } = agent;
  if (team === undefined) return agentGraph(agent, frame);
  const own = worksItself(file)
    ? [
        {
          name: file.name,
          graph: agentGraph(agent, { name: file.name, loop: undefined, place: { path: agent.path, line: 1 } }),
        },
      ]
    : [];
  const members = team.members.map((member) => ({
    name: member.name,
    graph: graphOf(member.agent, {
      name: member.name,
      loop: loopText(member),
      place: { path: agent.path, line: agent.parsed.valueRange(member.at).line },
    }),
  }));
  const next = nextOf(agent, team.members);
  const columns = columnsOf(
    [...own, ...members].map(({ name }) => name),
    next,
    team.kind === 'workflow',
  );
  return frameGraph(
    [...own, ...members].map(({ name, graph }) => ({
      name,
      graph,
      column: columns.get(name) ?? 0,
      next: next.get(name) ?? [],
    })),
    frame,
    team.kind,
  );
}

function agentGraph({ file }: LoadedAgent, frame: Pick<GraphBox, 'name' | 'loop' | 'place'>): TeamGraph {
  const [endpoint = ''] = file.model === undefined ? [] : endpointsOf(file.model);
  const detail = file.model === undefined ? '' : endpoint.startsWith('demo:') ? 'the demo model' : file.model.name;
  return { ...NODE, boxes: [{ x: 0, y: 0, ...NODE, ...frame, detail, team: false }], lines: [] };
}

function loopText({ loop }: LoadedMember): string | undefined {
  return loop === undefined ? undefined : `up to ${loop.most}×, until /${loop.until}/`;
}

/** Returns the successors of each member. */
function nextOf({ file, team }: LoadedAgent, members: readonly LoadedMember[]): Map<string, readonly string[]> {
  const names = members.map(({ name }) => name);
  switch (team?.kind) {
    case 'workflow':
      return new Map(
        names.map((name) => [
          name,
          members.filter((_, index) => afterOf(members, index).includes(name)).map((member) => member.name),
        ]),
      );
    case 'handoff': {
      const all = [...(worksItself(file) ? [file.name] : []), ...names];
      return new Map(
        all.map((name) => {
          const member = members.find((one) => one.name === name);
          // A team without a leader does not hand off work.
          if (member?.agent.team !== undefined && member.agent.team.kind !== 'leader') return [name, []];
          return [name, (member?.to ?? all).filter((other) => other !== name)];
        }),
      );
    }
    default:
      return new Map([[file.name, names]]);
  }
}

/** Computes the column of each member: after its last (`longest`) or first predecessor. */
function columnsOf(
  names: readonly string[],
  next: ReadonlyMap<string, readonly string[]>,
  longest: boolean,
): Map<string, number> {
  const columns = new Map<string, number>();
  const targets = new Set([...next.values()].flat());
  const queue = longest ? names.filter((name) => !targets.has(name)) : names.slice(0, 1);
  for (const name of queue) columns.set(name, 0);
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    const column = (columns.get(name) ?? 0) + 1;
    for (const other of next.get(name) ?? []) {
      const existing = columns.get(other);
      // Cycles are reported as problems elsewhere; here, only stop.
      if (existing !== undefined && (!longest || existing >= column || column > names.length)) continue;
      columns.set(other, column);
      queue.push(other);
    }
  }
  return columns;
}

/** Places the members in columns inside the frame of their team. */
function frameGraph(nodes: readonly Node[], frame: Pick<GraphBox, 'name' | 'loop' | 'place'>, kind: string): TeamGraph {
  const columns = [...new Set(nodes.map(({ column }) => column))]
    .sort((a, b) => a - b)
    .map((column) => nodes.filter((node) => node.column === column));
  const heights = columns.map((column) =>
    column.reduce((sum, { graph }) => sum + graph.height, GAP.y * (column.length - 1)),
  );
  const maxHeight = Math.max(...heights);
  const boxes: GraphBox[] = [];
  const lines: GraphLine[] = [];
  const at = new Map<string, { x: number; y: number; width: number; height: number }>();
  let x = PADDING;
  columns.forEach((column, index) => {
    let y = HEADER_HEIGHT + (maxHeight - (heights[index] ?? 0)) / 2;
    const width = Math.max(...column.map(({ graph }) => graph.width));
    for (const { name, graph } of column) {
      at.set(name, { x, y, width: graph.width, height: graph.height });
      boxes.push(...graph.boxes.map((box) => ({ ...box, x: box.x + x, y: box.y + y })));
      lines.push(
        ...graph.lines.map(({ from, to, sameColumn }) => ({
          from: { x: from.x + x, y: from.y + y },
          to: { x: to.x + x, y: to.y + y },
          sameColumn,
        })),
      );
      y += graph.height + GAP.y;
    }
    x += width + GAP.x;
  });
  for (const { name, column, next } of nodes) {
    const from = at.get(name);
    for (const other of next) {
      const to = at.get(other);
      if (from === undefined || to === undefined) continue;
      lines.push(lineBetween(from, to, column, nodes.find((node) => node.name === other)?.column ?? 0));
    }
  }
  const right = x - GAP.x;
  const width =
    right +
    Math.max(
      PADDING,
      ...lines.flatMap(({ sameColumn, from, to }) =>
        sameColumn ? [Math.max(from.x, to.x) + CURVE_WIDTH - right] : [],
      ),
    );
  const height = HEADER_HEIGHT + maxHeight + PADDING;
  return { width, height, boxes: [{ x: 0, y: 0, width, height, ...frame, detail: kind, team: true }, ...boxes], lines };
}

type Rect = Pick<GraphBox, 'x' | 'y' | 'width' | 'height'>;

function lineBetween(from: Rect, to: Rect, column: number, other: number): GraphLine {
  const [left, right, middle] = [
    ({ x }: Rect): number => x,
    ({ x, width }: Rect): number => x + width,
    ({ y, height }: Rect): number => y + height / 2,
  ];
  if (other === column)
    return { from: { x: right(from), y: middle(from) }, to: { x: right(to), y: middle(to) }, sameColumn: true };
  if (other > column)
    return { from: { x: right(from), y: middle(from) }, to: { x: left(to), y: middle(to) }, sameColumn: false };
  return {
    from: { x: left(from), y: middle(from) + BACK_OFFSET },
    to: { x: right(to), y: middle(to) + BACK_OFFSET },
    sameColumn: false,
  };
}
