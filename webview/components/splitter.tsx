/** Two parts with a separator that can be moved with the pointer and the keyboard. Remembers its position. */
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { z } from 'zod';
import { recall, remember } from '../host/memory.ts';

interface SplitterProps {
  /** `row`: side by side. */
  readonly direction: 'row' | 'column';
  /** Key for remembering the position. */
  readonly name: string;
  /** Initial size of the first part in pixels. */
  readonly initial: number;
  /** Minimum size of each part in pixels. */
  readonly min: number;
  /** Minimum size of the second part, if it is another one. */
  readonly minSecond?: number;
  /** Maximum share of the first part. */
  readonly maxShare?: number;
  readonly first: ComponentChildren;
  readonly second: ComponentChildren;
}

const STEP = 16;

export function Splitter({
  direction,
  name,
  initial,
  min,
  minSecond = min,
  maxShare = 1,
  first,
  second,
}: SplitterProps) {
  const [size, setSize] = useState(() => recall(`split.${name}`, z.number()) ?? initial);
  const element = useRef<HTMLDivElement>(null);
  const move = (to: number): void => {
    const whole = direction === 'row' ? element.current?.clientWidth : element.current?.clientHeight;
    const next = Math.round(
      Math.max(min, Math.min(to, (whole ?? Infinity) - minSecond, (whole ?? Infinity) * maxShare)),
    );
    setSize(next);
    remember(`split.${name}`, next);
  };
  const drag = (event: PointerEvent): void => {
    const bar = event.currentTarget as HTMLElement;
    bar.setPointerCapture(event.pointerId);
    const from = direction === 'row' ? event.clientX - size : event.clientY - size;
    const onMove = (pointer: PointerEvent): void =>
      move((direction === 'row' ? pointer.clientX : pointer.clientY) - from);
    bar.addEventListener('pointermove', onMove);
    bar.addEventListener('pointerup', () => bar.removeEventListener('pointermove', onMove), { once: true });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -STEP, ArrowUp: -STEP, ArrowRight: STEP, ArrowDown: STEP }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    move(size + by);
  };
  const side = direction === 'row' ? 'Width' : 'Height';
  const sizes = (least: number, share: number): Readonly<Record<string, string>> => ({
    [`min${side}`]: `min(${least}px, 50%)`,
    ...(share < 1 ? { [`max${side}`]: `${share * 100}%` } : {}),
  });
  return (
    <div class={`splitter is-${direction}`} ref={element}>
      <div class="splitter-part" style={{ flex: `0 1 ${size}px`, ...sizes(min, maxShare) }}>
        {first}
      </div>
      <div
        class="splitter-bar"
        role="separator"
        tabIndex={0}
        aria-label="Resize"
        aria-orientation={direction === 'row' ? 'vertical' : 'horizontal'}
        aria-valuenow={size}
        aria-valuemin={min}
        onPointerDown={drag}
        onKeyDown={onKeyDown}
        onDblClick={() => move(initial)}
      />
      <div class="splitter-part" style={{ flex: '1 1 0', ...sizes(minSecond, 1) }}>
        {second}
      </div>
    </div>
  );
}
