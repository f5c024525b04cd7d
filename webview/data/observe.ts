/** Hooks that render again when an observable changes. */
import { useLayoutEffect, useReducer } from 'preact/hooks';
import type { Listen, Observable } from '../../src/common/emitter.ts';

/** Renders the component again after each change. */
export function useChanges(changed: Listen<unknown>): void {
  const [, render] = useReducer((count: number) => count + 1, 0);
  // A layout effect, so that no change is missed between rendering and listening.
  useLayoutEffect(() => {
    const subscription = changed(() => render(undefined));
    return () => subscription.dispose();
  }, [changed]);
}

export function useValue<T>(observable: Observable<T>): T {
  useChanges(observable.changed);
  return observable.value;
}
