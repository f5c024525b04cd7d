/**
 * What a benchmark's page measures: when something was painted, how long its thread was busy, what its canvases show.
 */

/** A text on a canvas. */
export interface DrawnText {
  readonly text: string;
  readonly y: number;
  readonly font: string;
}

export interface Probe {
  /**
   * Resolves with the page's clock (ms) right after the first frame for which `holds` is true. Rejects when there is
   * none within `limit`.
   */
  painted(holds: () => boolean, limit: number): Promise<number>;
  /** Calls it after each frame until it returns true. */
  frames(look: () => boolean, limit: number): Promise<void>;
  /** Texts on the canvas since it was last cleared. */
  drawn(canvas: Element | null): readonly DrawnText[];
  /** Longest task of the thread since the last call; 0: none took 50 ms. */
  longest(): number;
}

declare global {
  interface Window {
    probe: Probe;
  }
}

/** Runs in the page before anything else; needs nothing from outside. */
export function installProbe(): void {
  const drawn = new WeakMap<Element, DrawnText[]>();
  const watch = (
    name: 'clearRect' | 'fillText',
    seen: (context: CanvasRenderingContext2D, args: readonly unknown[]) => void,
  ): void => {
    const own = Reflect.get(CanvasRenderingContext2D.prototype, name) as (
      this: CanvasRenderingContext2D,
      ...args: unknown[]
    ) => void;
    Reflect.set(
      CanvasRenderingContext2D.prototype,
      name,
      function watched(this: CanvasRenderingContext2D, ...args: unknown[]) {
        seen(this, args);
        own.apply(this, args);
      },
    );
  };
  watch('clearRect', ({ canvas }) => drawn.set(canvas, []));
  watch('fillText', ({ canvas, font }, [text, , y]) =>
    drawn.get(canvas)?.push({ text: String(text), y: Number(y), font }),
  );
  let longest = 0;
  const tasks = new PerformanceObserver((list) => take(list.getEntries()));
  const take = (entries: readonly PerformanceEntry[]): void => {
    for (const { duration } of entries) longest = Math.max(longest, duration);
  };
  tasks.observe({ type: 'longtask', buffered: true });
  // A message that is posted in a frame arrives once the frame is painted.
  const frames = (look: () => boolean, limit: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const { port1, port2 } = new MessageChannel();
      const late = performance.now() + limit;
      port1.onmessage = () => {
        const done = look();
        if (!done && performance.now() < late) {
          requestAnimationFrame(() => port2.postMessage(0));
          return;
        }
        port1.close();
        if (done) resolve();
        else reject(new Error(`not painted within ${limit} ms: ${document.body.textContent.slice(0, 500)}`));
      };
      requestAnimationFrame(() => port2.postMessage(0));
    });
  window.probe = {
    painted: async (holds, limit) => {
      let at = 0;
      await frames(() => {
        at = performance.now();
        return holds();
      }, limit);
      return at;
    },
    frames,
    drawn: (canvas) => (canvas === null ? [] : (drawn.get(canvas) ?? [])),
    longest: () => {
      take(tasks.takeRecords());
      const was = longest;
      longest = 0;
      return was;
    },
  };
}
