/** The tables of a schema as boxes, with lines for foreign keys. Zooms and scrolls; arrows move between tables. */
import type { RefObject } from 'preact';
import { useEffect, useId, useImperativeHandle, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { count } from '../../../../src/common/units.ts';
import { type PlacedRelation, type PlacedTable, type SchemaLayout, tableTowards } from './layout.ts';

const MIN_SCALE = 0.3;
const MAX_SCALE = 2;
const ZOOM_STEP = 1.2;
/** Smaller text is hard to read, so a diagram that does not fit scrolls instead. */
const MIN_READABLE_SCALE = 0.75;
const SHORT_TYPES: Readonly<Record<string, string>> = {
  integer: 'int',
  boolean: 'bool',
  datetime: 'time',
  timestamp: 'time',
};

export interface DiagramControl {
  zoom(direction: 1 | -1): void;
  fit(): void;
}

interface DiagramProps {
  readonly layout: SchemaLayout;
  readonly selected: string | undefined;
  /** Names of the tables that the search finds; the others are dimmed. */
  readonly found: ReadonlySet<string>;
  readonly onSelect: (table: string) => void;
  readonly onOpen: (table: string) => void;
  readonly control: RefObject<DiagramControl | null>;
}

export function Diagram({ layout, selected, found, onSelect, onOpen, control }: DiagramProps) {
  const [scale, setScale] = useState(1);
  const [hovered, setHovered] = useState<string>();
  const scroller = useRef<HTMLDivElement>(null);
  const id = useId();
  const fit = (): void => {
    const element = scroller.current;
    if (element === null) return;
    const whole = Math.min(element.clientWidth / layout.width, element.clientHeight / layout.height);
    setScale(Math.max(MIN_READABLE_SCALE, Math.min(1, whole)));
  };
  const zoom = (direction: 1 | -1): void =>
    setScale((before) => Math.max(MIN_SCALE, Math.min(MAX_SCALE, before * ZOOM_STEP ** direction)));
  useImperativeHandle(control, () => ({ zoom, fit }));
  useLayoutEffect(fit, [layout]);
  const at = layout.tables.findIndex(({ table }) => table.name === selected);
  useEffect(() => {
    document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [at]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const direction = DIRECTIONS[event.key];
    const next = direction === undefined ? undefined : tableTowards(layout, selected ?? '', direction);
    if (next !== undefined) onSelect(next);
    else if (event.key === 'Enter' && selected !== undefined) onOpen(selected);
    else if (event.key === '+' || event.key === '=') zoom(1);
    else if (event.key === '-') zoom(-1);
    else if (event.key === '0') fit();
    else if (direction === undefined) return;
    event.preventDefault();
    event.stopPropagation();
  };
  const onWheel = (event: WheelEvent): void => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1 : -1);
  };
  const active = hovered ?? selected;
  return (
    <div
      class="world-diagram"
      ref={scroller}
      tabIndex={0}
      role="listbox"
      aria-label="Tables"
      aria-activedescendant={at === -1 ? undefined : `${id}-${at}`}
      onKeyDown={onKeyDown}
      onWheel={onWheel}
    >
      <div
        class="world-diagram-size"
        role="presentation"
        style={{ width: `${layout.width * scale}px`, height: `${layout.height * scale}px` }}
      >
        <div
          class="world-diagram-all"
          role="presentation"
          style={{ width: `${layout.width}px`, height: `${layout.height}px`, transform: `scale(${scale})` }}
        >
          <svg width={layout.width} height={layout.height} aria-hidden="true">
            {layout.relations.map((relation, index) => (
              <Relation
                key={index}
                relation={relation}
                isActive={relation.from === active || relation.to === active}
                isDim={!found.has(relation.from) || !found.has(relation.to)}
              />
            ))}
          </svg>
          {layout.tables.map((placed, index) => (
            <Table
              key={placed.table.name}
              id={`${id}-${index}`}
              placed={placed}
              isSelected={placed.table.name === selected}
              isDim={!found.has(placed.table.name)}
              onHover={(on) => setHovered(on ? placed.table.name : undefined)}
              onSelect={() => onSelect(placed.table.name)}
              onOpen={() => onOpen(placed.table.name)}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

const DIRECTIONS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** A fork marks the “many” end, a bar the “one” end. */
function Relation({
  relation: { path, many, one },
  isActive,
  isDim,
}: {
  readonly relation: PlacedRelation;
  readonly isActive: boolean;
  readonly isDim: boolean;
}) {
  const tip = many.x + many.side * 9;
  const bar = one.x + one.side * 8;
  return (
    <g class={`world-relation${isActive ? ' is-active' : ''}${isDim ? ' is-dim' : ''}`}>
      <path d={path} />
      <path d={`M ${many.x} ${many.y - 5} L ${tip} ${many.y} L ${many.x} ${many.y + 5}`} />
      <path d={`M ${bar} ${one.y - 5} V ${one.y + 5}`} />
    </g>
  );
}

interface TableProps {
  readonly id: string;
  readonly placed: PlacedTable;
  readonly isSelected: boolean;
  readonly isDim: boolean;
  readonly onHover: (on: boolean) => void;
  readonly onSelect: () => void;
  readonly onOpen: () => void;
}

function Table({ id, placed, isSelected, isDim, onHover, onSelect, onOpen }: TableProps) {
  const { table, columns, more, x, y, width, height } = placed;
  const foreign = new Set(table.foreignKeys.flatMap((key) => key.columns));
  const style = { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` };
  return (
    <div
      id={id}
      class={`world-entity${isSelected ? ' is-selected' : ''}${isDim ? ' is-dim' : ''}`}
      role="option"
      aria-selected={isSelected}
      style={style}
      onPointerEnter={() => onHover(true)}
      onPointerLeave={() => onHover(false)}
      onClick={onSelect}
      onDblClick={onOpen}
    >
      <div class="world-entity-head">
        <strong title={table.name}>{table.name}</strong>
        <span class="dim">
          {count(table.rows)} {table.rows === 1 ? 'row' : 'rows'}
        </span>
      </div>
      {columns.map((column) => (
        <div class="world-entity-column" key={column.name}>
          <span class="dim world-entity-key">{column.isKey ? 'PK' : foreign.has(column.name) ? 'FK' : ''}</span>
          <span class={`world-entity-name${column.isKey ? ' is-key' : ''}`} title={column.name}>
            {column.name}
          </span>
          <span class="dim world-entity-type" title={column.type}>
            {shortType(column.type)}
          </span>
        </div>
      ))}
      {more > 0 && (
        <div class="world-entity-column">
          <span class="world-entity-key" />
          <span class="dim">{more} more</span>
        </div>
      )}
    </div>
  );
}

function shortType(type: string): string {
  const lower = type.toLowerCase();
  return SHORT_TYPES[lower] ?? lower;
}
