/** Observables as Preact state. */
import { useLayoutEffect, useReducer } from 'preact/hooks';
import type { Listen, Observable } from '../../src/common/emitter.ts';

/** Draws again after each change of something that tells of its changes. */
export function useChanges(changed: Listen<unknown>): void {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  // Before anything else can happen: a change that came between drawing and listening would be lost.
  useLayoutEffect(() => {
    const subscription = changed(() => draw(undefined));
    return () => subscription.dispose();
  }, [changed]);
}

export function useValue<T>(observable: Observable<T>): T {
  useChanges(observable.changed);
  return observable.value;
}
